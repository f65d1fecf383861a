/* handle.h - making a filter from a configuration that is complete: for open
 * and load. */
#ifndef WEIR_HANDLE_H
#define WEIR_HANDLE_H

#include "filter.h"

#define CONFIG_SIZE 512 /* no completed configuration is longer */

/* An empty filter; NULL if memory is short. */
weir *handle_open(const struct config *config, const struct shape *shape);

/* The sentence for that. */
enum weir_status handle_refuse_memory(const struct config *config, struct weir_error *error);

#endif
