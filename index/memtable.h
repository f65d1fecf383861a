/* memtable.h - a sorted hash table of keys in memory.
 *
 * Linear probing from the slot that the upper bits of hi select. Keys that collide are kept in
 * ascending order, so all used slots are: a table is written to disk by a walk over its slots. It
 * never wraps around: there are spare slots at its end. The key {0, 0} marks a free slot; the
 * caller must not use it. */
#ifndef WEIR_INDEX_MEMTABLE_H
#define WEIR_INDEX_MEMTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "index/page_file.h"

struct memtable {
    struct digest *slot;
    size_t slots; /* with the spare ones at the end */
    uint32_t shift;
    uint64_t keys, limit; /* of keys: 78 % of the slots */
    uint64_t bucket, expires;
};

/* A table of at most this many bytes and 64 KiB; false if out of memory. */
bool memtable_open(struct memtable *t, size_t bytes);
void memtable_close(struct memtable *t);

static inline bool key_is_free(struct digest key)
{
    return !(key.hi | key.lo);
}

static inline void memtable_prefetch(const struct memtable *t, struct digest key)
{
    __builtin_prefetch(&t->slot[key.hi >> t->shift]);
}

/* The slot of the key, or where it would be. The last slot is always free. */
static inline size_t memtable_find(const struct memtable *t, struct digest key)
{
    size_t i = key.hi >> t->shift;

    while (!key_is_free(t->slot[i]) && key_less(t->slot[i], key))
        i++;
    return i;
}

static inline bool memtable_has(const struct memtable *t, struct digest key)
{
    return key_equal(t->slot[memtable_find(t, key)], key);
}

/* Add a key that is not in the table. False if the table is full. */
bool memtable_add(struct memtable *t, struct digest key);

#endif
