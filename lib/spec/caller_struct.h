/* caller_struct.h - structs that a caller fills in, which may grow: they begin with their size as
 * the caller knows it. */
#ifndef WEIR_SPEC_CALLER_STRUCT_H
#define WEIR_SPEC_CALLER_STRUCT_H

#include <weir.h>

#include "base/memory.h"

/* The size of a struct whose last field was this one. */
#define UP_TO_MEMBER(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

/* A struct of the caller's: what it is called, its size here and in the first version. */
struct caller_struct {
    const char *name;
    size_t size, first;
};

/* Take over a struct: zeros stand for fields that an earlier version did not have.
 * WEIR_BAD_CONFIG if the caller's is smaller than the first, WEIR_UNSUPPORTED if it is of a
 * later version and says something there. */
enum weir_status caller_struct_copy(void *to, struct caller_struct what, const void *from,
                                    struct weir_error *error);

/* The memory that options name; NULL are the defaults. */
enum weir_status caller_memory(const struct weir_options *options, struct memory *memory,
                               struct weir_error *error);

#endif
