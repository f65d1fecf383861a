/* request.h - what an evaluation is asked for: pieces of the command line. */
#ifndef WEIR_EVAL_REQUEST_H
#define WEIR_EVAL_REQUEST_H

#include "cli/option_groups.h"
#include "cli/progress.h"
#include "cli/print.h"
#include "cli/inputs.h"
#include "cli/records.h"
#include "cli/filter_request.h"

struct eval_request {
    struct inputs inputs;
    struct records records;
    struct filter_request filter;
    struct measures measures;
    struct verbosity verbosity;
    const char *store, *screens; /* screens before a store are measured, not filters */
    struct store_patience patience;
    enum print_format format;
    uint32_t threads;
};

#endif
