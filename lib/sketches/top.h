/* top.h - the parts of a summary: which keys are kept, where, in what order.
 *
 *   entries   one per key kept: its count, by how much that may be too high
 *   slots     a hash table of entries: linear probing, in the order of hashes, so
 *             that it looks the same however it came about. Half of the homes are
 *             used at most, and behind the last there is room for all: no wrapping
 *   bounds    for each block of slots a lower bound of the counts in it. Counting
 *             a key does not touch them: counts only grow
 *   arena     the keys, one behind the other, each behind a head of 8 bytes. What
 *             was dropped is squeezed out when the end is reached; a quarter is
 *             kept free, so that this moves three bytes per byte stored, at most.
 *             A key as long as the one dropped for it takes its place
 *
 * Dropped is the key of the least count, of several the one of the lowest hash:
 * which one depends on what is kept alone. It is found by a sweep over the slots.
 * While counts are raised one by one, a sweep finds all keys of the least count
 * in turn, and costs little for each; with large amounts it looks at all bounds
 * and one block. */
#ifndef WEIR_SKETCHES_TOP_H
#define WEIR_SKETCHES_TOP_H

#include "sketch.h"

#define NONE UINT32_MAX

struct entry {
    uint64_t count, error, hash;
    uint32_t at, size; /* of the key in the arena: unit of its head, bytes */
};

struct slot {
    uint32_t tag;   /* upper half of the hash */
    uint32_t entry; /* number + 1; 0: free */
};

/* The head of a key in the arena. */
struct head {
    uint32_t entry; /* NONE: dropped */
    uint32_t size;
};

#define UNIT 8

static inline uint64_t arena_units(size_t size)
{
    return 1 + (size + UNIT - 1) / UNIT;
}

/* What may be kept at once; the longest key takes a third of it. */
static inline uint64_t arena_room(const weir_sketch *s)
{
    return s->arena_size - s->arena_size / 4;
}

static inline bool arena_takes(const weir_sketch *s, size_t size)
{
    return arena_units(size) <= arena_room(s) / 3;
}

static inline struct weir_bytes key_of(const weir_sketch *s, const struct entry *e)
{
    return (struct weir_bytes){s->arena + (uint64_t)e->at * UNIT + sizeof(struct head), e->size};
}

/* Where a key would like to lie: the order of homes is that of tags. */
static inline uint64_t home_of(const weir_sketch *s, uint32_t tag)
{
    return tag * s->homes >> 32;
}

static inline uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

/* Keep a key that is not kept; there must be room. */
void summary_insert(weir_sketch *s, struct weir_bytes key, uint64_t hash, uint64_t count,
                    uint64_t error);

/* Is there room for a key of that size? */
bool summary_fits(const weir_sketch *s, size_t size);

/* Drop keys of the least counts until there is; the floor rises to theirs. */
void summary_make_room(weir_sketch *s, size_t size);

/* The entry of a key, NULL if it is not kept. */
struct entry *summary_find(const weir_sketch *s, struct weir_bytes key, uint64_t hash);

#endif
