/* by_builder.h - keys gathered for a filter that is built whole, in shards. Its verdicts say
 * nothing: every key is new. */
#ifndef WEIR_VERDICT_BY_BUILDER_H
#define WEIR_VERDICT_BY_BUILDER_H

#include <weir/build.h>

#include "state/spill.h"
#include "state/shards.h"
#include "verdict/verdict.h"

#define DEFAULT_FOR_FIXED "fuse" /* the filter for a set that never changes, if none is named */

struct building {
    struct shards *shards; /* they become the filters */
    uint32_t count;
    weir_builder **builder;
    struct spill *spill;
    struct trace_hash hash;
    _Atomic int *status; /* enum weir_status of each; error is written before it */
    struct weir_error *error;
};

/* Begin so many filters of this spec, which has a seed. False after a message. */
bool building_open(struct building *b, const char *spec, uint32_t count, struct shards *shards);

/* All keys are there: make the filters. False after a message. */
bool building_finish(struct building *b);
void building_close(struct building *b);

/* Saving finishes it. */
struct verdict verdict_by_builder(struct building *b);

#endif
