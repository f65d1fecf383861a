/* by_sketch.h - records into a sketch: what weir count and weir top share. */
#ifndef WEIR_VERDICT_BY_SKETCH_H
#define WEIR_VERDICT_BY_SKETCH_H

#include <weir/sketch.h>

#include "cli/records.h"
#include "cli/filter_request.h"
#include "pipe/batch.h"

#define HELD 4096 /* keys counted at once, where they are not the records */

/* The sketch that is wanted, or the one of a state file (NULL: there is none); one
 * that has this trait, the first if nothing is said. NULL after a message. */
weir_sketch *sketch_open(const char *command, const char *state, const struct filter_request *w,
                         enum weir_trait trait);

/* The half-life, where it is a time, for the clock of records that have one; false after a
 * message if there is none and they do. */
bool sketch_span(const weir_sketch *s, struct event_time *time);

/* What becomes of the keys of records, or of every so many words in a key. */
struct counting {
    weir_sketch *sketch; /* they are counted in this one, or only */
    void (*visit)(void *context, const struct weir_bytes *keys, size_t n); /* shown to this */
    void *context;
    uint32_t ngrams; /* words in a key; 0: keys are what --key says */

    struct weir_bytes key[HELD];
    uint64_t amount[HELD];
    uint64_t at[HELD]; /* where records have a time */
    bool timed;        /* these do */
    size_t held;
};

/* For a sink. */
bool counting_take(void *counting, struct batch *b);

#endif
