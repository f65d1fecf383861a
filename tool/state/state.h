/* state.h - what a state file says beside the filters or the screen: a note of
 * how keys are made, and how far the input was read. */
#ifndef WEIR_STATE_STATE_H
#define WEIR_STATE_STATE_H

#include <weir/saved.h>

#include "cli/option_groups.h"
#include "cli/filter_request.h"
#include "pipe/position.h"

#define NOTE_MAX 8192

#define HASH_TEXT 40 /* bytes that a hash takes as text */

/* By what the input is known again: see trace.h. */
struct input_mark {
    uint64_t device, inode;
    uint32_t head_size, tail_size; /* bytes that were hashed */
    char head[HASH_TEXT], tail[HASH_TEXT];
};

struct state {
    char config[WEIR_SPEC_MAX];          /* of the whole, as shards_open() made it */
    char records[1024];                  /* how keys are made, as records_describe() has it */
    char keys[WEIR_KEY_DESCRIPTION_MAX]; /* for those who only ask: as records_describe_keys() has
                                            it */
    struct position position;            /* of the first record not in the filters */
    struct input_mark mark;              /* of the file it is in */
    uint64_t clock; /* where records have a time: the newest; 0: there is none */
    bool cut;       /* the output is a file, and was so long: */
    uint64_t output;
    char written[HASH_TEXT]; /* its last bytes, hashed; empty: not known */
    char input[4096];        /* name of the file of position */
};

void state_write(const struct state *s, char note[NOTE_MAX]);
bool state_read(const char *note, struct state *s); /* false: it is another's note */

void state_hash(struct trace_hash hash, const char *bytes, size_t size, char text[HASH_TEXT]);

/* The last bytes of the file at this path up to a length, hashed; empty if there are fewer, they
 * are gone or not for us to read, or it is no file but a pipe. False if it failed; errno says why.
 */
bool state_hash_end(struct trace_hash hash, const char *path, uint64_t length,
                    char text[HASH_TEXT]);

/* Where reading stopped, and in what. */
void state_set_input(struct state *s, struct trace_hash hash, const char *name,
                     const struct position *p);

/* Is there nothing at this path, or something like a state? False after a
 * message. */
bool state_looks_right(const char *path);

/* Does this file begin with the output that the state was saved with? *same is the answer. False
 * after a message if the file cannot be read. */
bool state_same_output(const char *output, struct trace_hash hash, const struct state *s,
                       bool *same);

/* Are keys made as those of the state at this path? False after a message. */
bool state_same_records(const char *path, const char *records, const struct state *s);

#endif
