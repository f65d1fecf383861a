/* given.h - structs that a caller fills in, which may grow: they begin with their size as
 * the caller knows it. */
#ifndef WEIR_SENTENCE_GIVEN_H
#define WEIR_SENTENCE_GIVEN_H

#include <weir.h>

#include "base/memory.h"

/* Take over a struct of this name and size, which is that of the first version.
 * WEIR_BAD_CONFIG if the caller's is smaller, WEIR_UNSUPPORTED if it is of a later
 * version and says something there. */
enum weir_status given_struct(void *to, size_t size, const void *from, const char *name,
                              struct weir_error *error);

/* The memory that options name; NULL are the defaults. */
enum weir_status given_memory(const struct weir_options *options, struct memory *memory,
                              struct weir_error *error);

#endif
