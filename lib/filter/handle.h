/* handle.h - making a filter from a configuration that is complete: for open
 * and load. */
#ifndef WEIR_FILTER_HANDLE_H
#define WEIR_FILTER_HANDLE_H

#include "filter/filter.h"

/* An empty filter; NULL if memory is short. */
weir *handle_open(const struct config *config, const struct shape *shape);

#endif
