/* error.h - fill in a struct weir_error. */
#ifndef WEIR_SPEC_ERROR_H
#define WEIR_SPEC_ERROR_H

#include <weir.h>

#include "base/memory.h"

/* Fill in error, unless it is NULL, with a code and the concatenation of the strings up to NULL.
 * Returns the status of the code. */
enum weir_status error_say(struct weir_error *error, enum weir_error_code code, ...)
    __attribute__((sentinel));

/* error_say(), but returns false. */
bool error_refuse(struct weir_error *error, enum weir_error_code code, ...)
    __attribute__((sentinel));

/* The error for memory that is not available: memory= asked for `bytes`, and the handle takes
 * `handle` bytes from this source. */
enum weir_status error_no_memory(struct weir_error *error, uint64_t bytes, uint64_t handle,
                                 const struct memory *from);

#endif
