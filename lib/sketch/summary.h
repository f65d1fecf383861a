/* summary.h - keys that are kept, each with a count: what the sketches that
 * list keys are made of. Everything lies in a stretch of memory fixed at open:
 *
 *   entries   a count per key, and where the key lies: 16 bytes, one behind the
 *             other, so that the search for the least count reads them in order
 *   lines     a hash table of entries: cache lines of eight tags and the entries
 *             they belong to, half full at most. What does not fit its line is in
 *             the next that has room. All tags of a line are compared at once: no
 *             branch depends on where a key lies
 *   bounds    for each block of entries a lower bound of the counts in it.
 *             Counting a key does not touch them: counts only grow
 *   unkept    cells, where a sketch wants them: no key that is not kept has come
 *             more often than the cell of its hash says
 *   arena     the keys, one behind the other, each behind a head of 16 bytes.
 *             What was dropped is squeezed out when the end is reached; a quarter
 *             is kept free, so that this moves three bytes per byte stored, at
 *             most. A key as long as the one dropped for it takes its place
 *
 * Dropped is the key of the least count, of several the first in the order of
 * entries; a new key takes the entry of the dropped one. So what happens next
 * depends on the entries and their order alone, which is what is saved.
 *
 * The least count is found by a sweep over the entries. While counts are raised
 * one by one, a sweep finds all keys of the least count in turn, and costs
 * little for each; with large amounts it looks at all bounds and one block. */
#ifndef WEIR_SKETCH_SUMMARY_H
#define WEIR_SKETCH_SUMMARY_H

#include <string.h>

#include "sketch/sketch.h"

#define NONE UINT32_MAX

struct entry {
    uint64_t count;
    uint32_t at;  /* of its head in the arena, in units */
    uint32_t tag; /* upper half of the hash */
};

#define SLOTS 8

struct tag_line {
    uint32_t tag[SLOTS];
    uint32_t entry[SLOTS]; /* number + 1; 0: free */
};

/* Before a key in the arena. */
struct head {
    uint64_t error;
    uint32_t entry; /* NONE: dropped */
    uint32_t size;  /* of the key, bytes */
};

#define UNIT 8

/* What a key takes beside the arena, and all together. */
#define SUMMARY_EACH (sizeof(struct entry) + 2 * sizeof(struct tag_line) / SLOTS + 1)
#define SUMMARY_BESIDE 128
#define ARENA_EACH 55  /* bytes of arena for a key, where nothing says more */
#define ARENA_LEAST 32 /* the least that makes sense */
#define SUMMARY_MOST ((UINT64_C(1) << 32) * UNIT) /* what a place in the arena can say */

/* All of it: where it lies in the data, and how far it is filled. It comes first in what a
 * sketch keeps for itself. */
struct summary {
    struct entry *entries;
    struct tag_line *lines;
    uint64_t *bounds, *unkept;
    uint8_t *arena;
    uint64_t keys, line_count, unkept_count;
    uint64_t arena_size; /* units of 8 bytes */
    uint32_t block;      /* entries in a block, as a power of two */

    uint32_t n;     /* keys kept */
    uint64_t floor; /* no key that is not kept has come more often */
    uint64_t too_long;
    uint64_t arena_used, arena_live; /* units */
    uint64_t hole;                   /* unit + 1 of the key dropped last; 0: none */
    uint32_t gap;                    /* number + 1 of the entry dropped last; 0: none */
    uint64_t low, cursor;            /* no count is less; none so low lies before this entry */
};

static inline struct summary *summary_of(const weir_sketch *s)
{
    return sketch_own(s);
}

static inline uint64_t arena_units(size_t size)
{
    return (sizeof(struct head) + size + UNIT - 1) / UNIT;
}

/* What may be kept at once; the longest key takes a third of it. */
static inline uint64_t arena_room(const struct summary *m)
{
    return m->arena_size - m->arena_size / 4;
}

static inline bool arena_takes(const struct summary *m, size_t size)
{
    return size < UINT32_MAX && arena_units(size) <= arena_room(m) / 3;
}

static inline struct head *head_of(const struct summary *m, const struct entry *e)
{
    return (struct head *)(void *)(m->arena + (uint64_t)e->at * UNIT);
}

static inline struct weir_bytes key_of(const struct summary *m, const struct entry *e)
{
    const struct head *head = head_of(m, e);

    return (struct weir_bytes){head + 1, head->size};
}

/* Keys are short: eight bytes at a time, the last eight once more. */
static inline bool same_bytes(const uint8_t *a, const uint8_t *b, size_t n)
{
    if (n < 8)
        return n == 0 || memcmp(a, b, n) == 0;
    for (size_t i = 0; i + 8 < n; i += 8)
        if (bits_load64(a + i) != bits_load64(b + i))
            return false;
    return bits_load64(a + n - 8) == bits_load64(b + n - 8);
}

static inline bool is_key(const struct summary *m, const struct entry *e, struct weir_bytes key)
{
    struct weir_bytes own = key_of(m, e);

    return own.size == key.size && same_bytes(own.data, key.data, key.size);
}

static inline uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

/* Where a key would like to lie. */
static inline uint64_t home_of(const struct summary *m, uint32_t tag)
{
    return tag * m->line_count >> 32;
}

static inline uint64_t line_after(const struct summary *m, uint64_t line)
{
    return line + 1 == m->line_count ? 0 : line + 1;
}

typedef uint32_t summary_four __attribute__((vector_size(16)));
typedef uint64_t summary_two __attribute__((vector_size(16)));

/* A bit for each of eight words that is the one sought. */
static inline uint32_t equal_ones(const uint32_t words[SLOTS], uint32_t sought)
{
    summary_four a, b, x = {sought, sought, sought, sought};

    memcpy(&a, words, sizeof a);
    memcpy(&b, words + 4, sizeof b);
    summary_two bits = (summary_two)(((summary_four)(a == x) & (summary_four){1, 2, 4, 8}) |
                                     ((summary_four)(b == x) & (summary_four){16, 32, 64, 128}));
    uint64_t both = bits[0] | bits[1];
    return (uint32_t)(both | both >> 32);
}

static inline bool is_full(const struct tag_line *line)
{
    return equal_ones(line->entry, 0) == 0;
}

/* Where the keys that are not kept are bounded; there must be such cells. */
static inline uint64_t *unkept_of(const struct summary *m, uint32_t tag)
{
    return &m->unkept[tag * m->unkept_count >> 32];
}

static inline void raise_to(uint64_t *bound, uint64_t count)
{
    *bound = count > *bound ? count : *bound;
}

/* Share out memory for so many keys and cells of unkept ones. */
void summary_lay(struct summary *m, uint8_t *at, uint64_t bytes, uint64_t keys, uint64_t unkept);

/* An entry that may be that of a key with this tag, or any other. */
static inline struct entry *summary_guess(const struct summary *m, uint32_t tag)
{
    const struct tag_line *line = &m->lines[home_of(m, tag)];
    uint32_t found = equal_ones(line->tag, tag) | 1u << (SLOTS - 1);
    uint32_t entry = line->entry[__builtin_ctz(found)];

    return &m->entries[entry ? entry - 1 : 0];
}

/* The entry of a key, NULL if it is not kept. */
struct entry *summary_find(const struct summary *m, struct weir_bytes key, uint64_t hash);

/* Keep a key that is not kept; there must be room. */
void summary_insert(struct summary *m, struct weir_bytes key, uint64_t hash, uint64_t count,
                    uint64_t error);

/* Is there room for a key of that size? */
bool summary_fits(const struct summary *m, size_t size);

/* Drop keys of the least counts until there is; the floor rises to theirs. */
void summary_make_room(struct summary *m, size_t size);

/* The least count; there must be one. */
uint64_t summary_least(struct summary *m);

/* The at most n keys of the highest counts, highest first; returns how many. */
size_t summary_top(const weir_sketch *s, struct weir_heavy *out, size_t n);

/* Into that order. */
void summary_sort(struct weir_heavy *list, size_t n);

/* All counts by 2^(steps / 256): see half_life.h. */
void summary_scale(weir_sketch *s, int64_t steps);

/* Saving: floor too-long n (count error size key)*, in the order of entries, and the
 * cells of unkept keys. */
uint64_t summary_size(const weir_sketch *s);
void summary_put(const weir_sketch *s, struct part_writer *out);
bool summary_get(weir_sketch *s, struct part_reader *in);

#endif
