/* by_sketch.h - records into a sketch: what weir count and weir top share. */
#ifndef WEIR_VERDICT_BY_SKETCH_H
#define WEIR_VERDICT_BY_SKETCH_H

#include <weir/sketch.h>

#include "pipe/intake.h"
#include "cli/wanted.h"

/* What is counted. */
struct counted {
    const char *command;
    struct inputs inputs;
    const struct records *records;
    uint32_t ngrams;   /* words in a key; 0: keys are what --key says */
    const char *state; /* file to go on from and to save to, or NULL */
    bool quiet;
};

/* The sketch that is wanted, or the one of the state; it must be one of these
 * kinds, the first if nothing is said. NULL after a sentence. */
weir_sketch *counting_open(const struct counted *d, const struct wanted *w,
                           const char *const kinds[]);

/* Count the records of all files. look: as in intake.h. The state file, if
 * there is one, is saved after it. The exit status. */
int counting_run(const struct counted *d, weir_sketch *s, void (*look)(void *), void *context);

/* Go through the same keys again, without counting. */
int counting_visit(const struct counted *d,
                   void (*visit)(void *context, const struct weir_bytes *keys, size_t n),
                   void *context);

#endif
