/* given.h - structs that a caller fills in, which may grow: they begin with their size as
 * the caller knows it. */
#ifndef WEIR_SENTENCE_GIVEN_H
#define WEIR_SENTENCE_GIVEN_H

#include <weir.h>

#include "base/memory.h"

/* The size of a struct whose last field was this one. */
#define GIVEN_UP_TO(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

/* A struct of the caller's: what it is called, its size here and in the first version. */
struct given {
    const char *name;
    size_t size, first;
};

/* Take over a struct: zeros stand for fields that an earlier version did not have.
 * WEIR_BAD_CONFIG if the caller's is smaller than the first, WEIR_UNSUPPORTED if it is of a
 * later version and says something there. */
enum weir_status given_struct(void *to, struct given what, const void *from,
                              struct weir_error *error);

/* The memory that options name; NULL are the defaults. */
enum weir_status given_memory(const struct weir_options *options, struct memory *memory,
                              struct weir_error *error);

#endif
