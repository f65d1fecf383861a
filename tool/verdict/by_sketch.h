/* by_sketch.h - insert records into a sketch, for weir count and weir top. */
#ifndef WEIR_VERDICT_BY_SKETCH_H
#define WEIR_VERDICT_BY_SKETCH_H

#include <weir/sketch.h>

#include "cli/inputs.h"
#include "cli/filter_request.h"
#include "pipe/batch.h"

#define HELD 4096 /* keys counted at once, if they are not the records */

/* Open the requested sketch, or the one of a state file (NULL: there is none). It must have this
 * trait; the default is the first that has it. NULL after a message. */
weir_sketch *sketch_open(const char *command, const char *state, const struct filter_request *w,
                         enum weir_trait trait);

/* Set the half-life, if it is a time, for the clock of records with times. */
void sketch_span(const weir_sketch *s, struct event_time *time);

/* The same; false after a message if records have times and nothing uses them. */
bool sketch_uses_time(const weir_sketch *s, struct event_time *time);

/* Counts the keys of records, or the n-grams in them. */
struct counting {
    weir_sketch *sketch; /* they are counted in this one, or only */
    void (*visit)(void *context, const struct weir_bytes *keys, size_t n); /* passed to this */
    void *context;
    uint32_t ngrams; /* words in a key; 0: the keys of --key */

    struct weir_bytes key[HELD];
    uint64_t amount[HELD];
    uint64_t at[HELD]; /* where records have a time */
    bool timed;        /* these do */
    bool untimed;      /* but the sketch has no half-life in time */
    size_t held;
};

/* For a sink. */
bool counting_take(void *counting, struct batch *b);

#endif
