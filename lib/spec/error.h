/* error.h - fill in a struct weir_error. */
#ifndef WEIR_SPEC_ERROR_H
#define WEIR_SPEC_ERROR_H

#include <weir.h>

#include "base/memory.h"

/* Fill in error, if there is one, with a code and the strings up to NULL. Returns the code's
 * status. */
enum weir_status error_say(struct weir_error *error, enum weir_error_code code, ...)
    __attribute__((sentinel));

/* The same, but returns false. */
bool error_refuse(struct weir_error *error, enum weir_error_code code, ...)
    __attribute__((sentinel));

/* The spec for memory= of so many bytes that are not to be had: a handle of so
 * many was asked for, of this memory. */
enum weir_status error_no_memory(struct weir_error *error, uint64_t bytes, uint64_t handle,
                                 const struct memory *from);

#endif
