/* top_value.h - the value of a key of TOPK.*: a HeavyKeeper sketch, and a heap of the k items with
 * the highest counts.
 *
 * The heap is the module's own, because clients see which item is expelled, also among equal
 * counts. An item enters if its count is at least the lowest one in the heap. When it sifts down,
 * it changes places with an equal count at the first step, afterwards only with lower counts.
 *
 * A value from RedisBloom keeps its layout: `depth` rows of `width` buckets, each with a
 * fingerprint and a count of 32 bits. The fingerprint of an item is MurmurHash2(item, seed 1919),
 * its bucket in row i is MurmurHash2(item, seed i) modulo the width. */
#ifndef MODULE_TOP_VALUE_H
#define MODULE_TOP_VALUE_H

#include <weir/sketch.h>

#include "value/value.h"

struct kept {
    char *item;    /* NULL: the place is free */
    uint64_t hash; /* of the item; the fingerprint if imported */
    uint32_t size, count;
    uint32_t slot; /* of the index, which refers to this place */
};

struct top {
    struct value is;
    weir_sketch *s;   /* NULL in a value from RedisBloom, which has: */
    uint8_t *buckets; /* 8 bytes each, little-endian */
    uint64_t random;  /* state of the generator */

    uint64_t k, width, depth;
    double decay;
    struct kept *heap; /* k places; the lowest count first */

    /* Hash table of the items in the heap: place + 1, or 0. Linear probing; at most half full. */
    uint32_t *index;
    uint64_t slots;
};

struct top_request {
    uint64_t k, width, depth;
    double decay;
    bool seeded; /* otherwise the seed is random */
    uint64_t seed;
};

#define TOP_DEPTH_MAX 16

/* NULL with a message. */
struct top *top_open(const struct top_request *request, uint64_t most, struct weir_error *error);

/* Bytes that the allocator takes for an item: four sizes per power of two. */
uint64_t top_item_bytes(uint64_t size);

/* Fill the index after the heap was read. Computes hashes unless imported. */
void top_index(struct top *t);

/* Add to the count of an item. The caller owns the item that is expelled, if any. False if there is
 * no memory for a large item; then nothing changed. */
bool top_add(struct top *t, struct weir_bytes item, uint64_t amount, struct kept *expelled);

bool top_has(const struct top *t, struct weir_bytes item);
uint64_t top_count(const struct top *t, struct weir_bytes item);

/* The heap in server memory, highest counts first, equal ones in heap order. NULL if memory is
 * short. */
struct kept *top_sorted(const struct top *t, size_t *n);

uint64_t top_seed(const struct top *t);

/* ---- buckets of RedisBloom ---- */

/* Add to an item's count; returns its highest count afterwards, or 0. */
uint32_t buckets_add(struct top *t, struct weir_bytes item, uint32_t print, uint64_t amount);

/* The highest count of an item that is at least `least`, or 0. */
uint32_t buckets_count(const struct top *t, struct weir_bytes item, uint32_t least);

#endif
