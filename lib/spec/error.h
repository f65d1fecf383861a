/* error.h - putting one message together. */
#ifndef WEIR_SPEC_ERROR_H
#define WEIR_SPEC_ERROR_H

#include <weir.h>

#include "base/memory.h"

/* Fill in error, if there is one, with the strings up to NULL, and return the
 * status. */
enum weir_status error_say(struct weir_error *error, enum weir_status status, ...)
    __attribute__((sentinel));

/* The same with WEIR_BAD_CONFIG; always false. */
bool error_refuse(struct weir_error *error, ...) __attribute__((sentinel));

/* The spec for memory= of so many bytes that are not to be had: a handle of so
 * many was asked for, of this memory. */
enum weir_status error_no_memory(struct weir_error *error, uint64_t bytes, uint64_t handle,
                                 const struct memory *from);

#endif
