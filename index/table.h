/* table.h - a hash table of keys in memory, which also lists them in ascending order.
 *
 * Linear probing from the slot that the upper bits of hi select: the slots are almost in
 * ascending order, only each cluster has to be sorted when the table is listed. The table never
 * wraps around: it has spare slots at its end. The key {0, 0} marks a free slot; the caller must
 * not use it. */
#ifndef WEIR_INDEX_TABLE_H
#define WEIR_INDEX_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "index/page.h"

struct index_table {
    struct digest *slot;
    size_t slots; /* with the spare ones at the end */
    uint32_t shift;
    uint64_t keys, limit; /* of keys: 78 % of the slots */
    uint64_t bucket, expires;
};

/* A table of at most this many bytes and 64 KiB; false if out of memory. */
bool index_table_open(struct index_table *t, size_t bytes);
void index_table_close(struct index_table *t);
void index_table_clear(struct index_table *t);

static inline void index_table_prefetch(const struct index_table *t, struct digest key)
{
    __builtin_prefetch(&t->slot[key.hi >> t->shift]);
}

static inline bool index_table_has(const struct index_table *t, struct digest key)
{
    for (size_t i = key.hi >> t->shift; t->slot[i].hi | t->slot[i].lo; i++)
        if (key_equal(t->slot[i], key))
            return true;
    return false;
}

/* Add a key that is not in the table. False if the table is full. */
bool index_table_add(struct index_table *t, struct digest key);

/* Call take() for each key in ascending order until it returns false. Only reads the table.
 * Returns false if take() did, or if out of memory. */
bool index_table_list(const struct index_table *t, bool (*take)(void *context, struct digest key),
                      void *context);

#endif
