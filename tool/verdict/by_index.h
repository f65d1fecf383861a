/* by_index.h - verdicts of an exact index on disk. */
#ifndef WEIR_VERDICT_BY_INDEX_H
#define WEIR_VERDICT_BY_INDEX_H

#include "index/index.h"
#include "verdict/verdict.h"

struct indexing {
    struct index *index;
    const char *dir;
    struct trace_hash hash; /* set by verdict_by_index() */
    char config[80];        /* the same: for the state */
};

struct verdict verdict_by_index(struct indexing *x);

#endif
