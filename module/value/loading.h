/* loading.h - a value that arrives in chunks, before it is complete.
 *
 * It is a value of its own type, so that it is replicated, saved, counted and deleted as
 * any other; no command takes it for a filter. The last chunk puts the real one in its
 * place, or takes it away if the bytes are not a file of weir. */
#ifndef MODULE_LOADING_H
#define MODULE_LOADING_H

#include "value/image.h"

struct value_loading {
    struct value is;
    uint64_t have;    /* bytes */
    uint64_t version; /* of what is transferred, as its cursor tells */
    uint64_t total;   /* bytes that will come; 0 if that was not told */
    uint64_t chunks;
    struct loading_chunk *first, **last;
};

/* One that has no bytes yet; NULL if memory is short. */
struct value_loading *loading_begin(uint64_t version, uint64_t total);

/* Add a chunk; false if memory is short. */
bool loading_add(struct value_loading *l, const void *data, size_t size);

/* The value that they make: NULL with a message. Chunks are given back as they are read, so
 * that afterwards there is nothing but to free it. */
struct value *loading_finish(struct value_loading *l, uint64_t most, struct weir_error *error);

#endif
