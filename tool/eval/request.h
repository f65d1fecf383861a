/* request.h - the options of an evaluation. */
#ifndef WEIR_EVAL_REQUEST_H
#define WEIR_EVAL_REQUEST_H

#include "cli/option_groups.h"
#include "cli/progress.h"
#include "cli/print.h"
#include "cli/inputs.h"
#include "cli/filter_request.h"

struct eval_request {
    struct inputs inputs;
    struct records records;
    struct filter_request filter;
    struct measures measures;
    struct verbosity verbosity;
    double fnr;                  /* limit of a report; 0: the default */
    const char *store, *screens; /* measure screens in front of a store, not filters */
    struct store_patience patience;
    enum print_format format;
    uint32_t threads;
};

#endif
