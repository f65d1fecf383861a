/* state.h - what a state file says beside the filters or the screen: a note of
 * how keys are made, and how far the input was read. */
#ifndef WEIR_STATE_STATE_H
#define WEIR_STATE_STATE_H

#include <weir.h>

#include "cli/pieces.h"
#include "pipe/read.h"
#include "verdict/shards.h"

#define NOTE_MAX 8192

struct state {
    char config[CONFIG_MAX];  /* of the whole, as shards_open() made it */
    char records[1024];       /* how keys are made, as records_describe() has it */
    struct position position; /* of the first record not in the filters */
    char tail[40];            /* hash of the bytes before it */
    bool cut;                 /* the output is a file, and was so long: */
    uint64_t output;
    char input[4096]; /* name of the file of position */
};

void state_write(const struct state *s, char note[NOTE_MAX]);
bool state_read(const char *note, struct state *s); /* false: it is another's note */

/* A hash of the bytes before a position, as text; empty if unreadable. */
void state_tail(const weir *hasher, const char *file, uint64_t offset, char tail[40]);

/* Is there nothing at this path, or something like a state? False after a
 * sentence. */
bool state_looks_right(const char *path);

/* Are keys made as those of the state at this path? False after a sentence. */
bool state_same_records(const char *path, const char *records, const struct state *s);

#endif
