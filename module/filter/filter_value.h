/* filter_value.h - what a key of WEIR.* holds: a filter, and the answers given to producers. */
#ifndef MODULE_FILTER_VALUE_H
#define MODULE_FILTER_VALUE_H

#include "filter/once.h"
#include "value/value.h"

struct filter_value {
    struct value is;
    weir_filter *w;
    bool timed;        /* it has a span=, and wants to know the time */
    bool fixed;        /* it was made whole (weir build --fixed), and takes no more keys */
    struct once *once; /* NULL: no producer so far */
};

/* From a filter, which is closed if memory is short: then NULL. */
struct filter_value *filter_value_of(weir_filter *w);

#endif
