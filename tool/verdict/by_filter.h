/* by_filter.h - verdicts of a filter, in shards. */
#ifndef WEIR_VERDICT_BY_FILTER_H
#define WEIR_VERDICT_BY_FILTER_H

#include "pipe/network.h"
#include "verdict/batch_keys.h"
#include "verdict/verdict.h"
#include "verdict/watch.h"

struct filtering {
    struct shards *shards;
    enum weir_shared_operation operation;
    struct trace_hash hash; /* set by verdict_by_filter() */
    struct watch *watch;    /* of what it observes; NULL: none */
    bool must_fit;          /* a key that does not fit is an error, and nothing is saved; */
    uint64_t overflow;      /* except this many, from before */
    struct prefix_lengths *prefixes; /* keys are networks, of these lengths; NULL: they are not */
    uint32_t threads;                /* that look them up */
};

struct verdict verdict_by_filter(struct filtering *f);

#endif
