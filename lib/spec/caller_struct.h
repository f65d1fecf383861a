/* caller_struct.h - structs of the public API that later versions may extend at their end. The
 * caller passes its own size of each: in the first field of input structs, as a parameter of output
 * structs. */
#ifndef WEIR_SPEC_CALLER_STRUCT_H
#define WEIR_SPEC_CALLER_STRUCT_H

#include <string.h>
#include <weir.h>

#include "base/memory.h"

/* The size of a struct up to and including a field. */
#define UP_TO_MEMBER(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

/* An input struct: its name, its size here, and its size in the first version. */
struct caller_struct {
    const char *name;
    size_t size, first;
};

/* Copy an input struct. Fields that the caller's version does not have become zero.
 * WEIR_BAD_CONFIG if it is smaller than the first version. WEIR_UNSUPPORTED if it is larger than
 * this version and a field that is unknown here is not zero. */
enum weir_status caller_struct_copy(void *to, struct caller_struct what, const void *from,
                                    struct weir_error *error);

/* Fill the caller's output struct of `out_size` bytes. Fields that are unknown here become zero. */
static inline void caller_struct_return(void *to, size_t out_size, const void *from, size_t size)
{
    memcpy(to, from, size < out_size ? size : out_size);
    if (out_size > size)
        memset((char *)to + size, 0, out_size - size);
}

/* The memory source that options select; NULL selects the defaults. */
enum weir_status caller_memory(const struct weir_options *options, struct memory *memory,
                               struct weir_error *error);

#endif
