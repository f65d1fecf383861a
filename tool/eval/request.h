/* request.h - what an evaluation is asked for: pieces of the command line. */
#ifndef WEIR_EVAL_REQUEST_H
#define WEIR_EVAL_REQUEST_H

#include "cli/progress.h"
#include "cli/table.h"
#include "pipe/inputs.h"
#include "pipe/records.h"
#include "verdict/wanted.h"

#define LIST_MAX 64

/* Values of an option that may be given several times, in their order. */
struct list {
    const char *at[LIST_MAX];
    int n;
};

/* How to measure. */
struct measures {
    struct list algorithms, memories; /* all that were given */
    const char *synthetic;            /* a stream instead of files */
    uint64_t truth_memory;
    bool by_importance;
    uint32_t curve, permutations; /* 0 if not given */
    const char *report;           /* page to write */
};

struct request {
    struct inputs inputs;
    struct records records;
    struct wanted wanted;
    struct measures measures;
    struct verbosity verbosity;
    enum table_style table;
    uint32_t threads;
};

#endif
