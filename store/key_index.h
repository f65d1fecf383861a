/* key_index.h - a table that finds keys where they lie: 16 bytes for each, whatever
 * its length. Exact: hashes only say which keys to compare. */
#ifndef WEIR_STORE_KEY_INDEX_H
#define WEIR_STORE_KEY_INDEX_H

#include <weir.h>

/* The key that a number stands for. */
typedef struct weir_bytes (*index_key)(const void *context, uint64_t number);

struct key_index {
    struct index_slot *slot;
    size_t mask;
    weir_filter *hasher; /* a filter of no use but for its hash, with a seed nobody knows */
    index_key key;
    const void *context;
};

/* Room for so many keys. False if memory is short. */
bool index_open(struct key_index *x, size_t keys, index_key key, const void *context);
void index_close(struct key_index *x);

/* Make it empty, with room for so many. */
bool index_reset(struct key_index *x, size_t keys);

/* Of equal keys the first that was added is found. */
void index_add(struct key_index *x, uint64_t number);
bool index_find(const struct key_index *x, struct weir_bytes key, uint64_t *number);

/* Bytewise: below 0, 0 or above, as memcmp() does. */
int index_compare(struct weir_bytes a, struct weir_bytes b);

#endif
