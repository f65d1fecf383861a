/* key_index.h - an exact hash table of keys that are not copied: 16 bytes per key. Keys with equal
 * hashes are compared. */
#ifndef WEIR_STORE_KEY_INDEX_H
#define WEIR_STORE_KEY_INDEX_H

#include <weir.h>

/* The key of a number. */
typedef struct weir_bytes (*index_key)(const void *context, uint64_t number);

struct key_index {
    struct index_slot *slot;
    size_t mask;
    weir_filter *hasher; /* only for its keyed hash, with a random seed */
    index_key key;
    const void *context;
};

/* Allocate for this number of keys. False if out of memory. */
bool index_open(struct key_index *x, size_t keys, index_key key, const void *context);
void index_close(struct key_index *x);

/* Clear it, and allocate for this number of keys. */
bool index_reset(struct key_index *x, size_t keys);

/* Of equal keys, the first one added is found. */
void index_add(struct key_index *x, uint64_t number);
bool index_find(const struct key_index *x, struct weir_bytes key, uint64_t *number);

/* Compare bytes, as memcmp() does. */
int index_compare(struct weir_bytes a, struct weir_bytes b);

#endif
