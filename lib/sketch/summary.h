/* summary.h - a table of keys with counts, which the sketches that list keys consist of. It has a
 * fixed size:
 *
 *   entries   a count per key, and the position of the key: 16 bytes each,
 *             contiguous, so that the search for the lowest count reads them in order
 *   lines     a hash table of entries: cache lines of eight tags and entry numbers,
 *             at most half full. An entry whose line is full is in the next line with
 *             a free slot. All tags of a line are compared at once, without branches
 *             that depend on where a key is
 *   bounds    for each block of entries a lower bound of its counts. Counting does
 *             not update them, because counts only grow
 *   unkept    cells, if the sketch uses them: the cell of a key's hash bounds its
 *             count while it is not stored
 *   arena     the keys, each after a head of 16 bytes. Dropped keys are removed when
 *             the end is reached. A quarter is kept free, so that this moves at most
 *             three bytes per byte stored. A key as long as the one it replaces takes
 *             its place
 *
 * The key with the lowest count is dropped; of several the first in the order of entries. A new
 * key takes the entry of the dropped one. The behavior therefore depends only on the entries and
 * their order, which are saved.
 *
 * The lowest count is found by a sweep over the entries. While counts are raised one by one, a
 * sweep finds all keys of the lowest count in turn, at little cost for each. With large amounts it
 * reads all bounds and one block. */
#ifndef WEIR_SKETCH_SUMMARY_H
#define WEIR_SKETCH_SUMMARY_H

#include <string.h>

#include "sketch/sketch.h"

#define NONE UINT32_MAX

struct entry {
    uint64_t count;
    uint32_t at;  /* offset of its head in the arena, in units */
    uint32_t tag; /* upper half of the hash */
};

#define SLOTS 8

struct tag_line {
    uint32_t tag[SLOTS];
    uint32_t entry[SLOTS]; /* number + 1; 0: free */
};

/* The head of a key in the arena. */
struct head {
    uint64_t error;
    uint32_t entry; /* NONE: dropped */
    uint32_t size;  /* bytes of the key */
};

#define UNIT 8

/* Bytes per key besides the arena, and bytes of the whole table. */
#define SUMMARY_EACH (sizeof(struct entry) + 2 * sizeof(struct tag_line) / SLOTS + 1)
#define SUMMARY_BESIDE 128
#define ARENA_EACH 55                            /* default bytes of arena per key */
#define ARENA_LEAST 32                           /* minimum */
#define SUMMARY_MAX ((UINT64_C(1) << 32) * UNIT) /* maximum that an offset can address */

/* The table: pointers into the data of the sketch, and counters. It is the first member of a
 * sketch's own state. */
struct summary {
    struct entry *entries;
    struct tag_line *lines;
    uint64_t *bounds, *unkept;
    uint8_t *arena;
    uint64_t keys, line_count, unkept_count;
    uint64_t arena_size; /* units of 8 bytes */
    uint32_t block;      /* log2 of the entries in a block */

    uint32_t n;     /* stored keys */
    uint64_t floor; /* maximum count of a key that is not stored */
    uint64_t too_long;
    uint64_t arena_used, arena_live; /* units */
    uint64_t hole;                   /* unit + 1 of the key dropped last; 0: none */
    uint32_t gap;                    /* number + 1 of the entry dropped last; 0: none */
    uint64_t low, cursor;            /* no count is lower than low; no entry before cursor has it */
};

static inline struct summary *summary_of(const weir_sketch *s)
{
    return sketch_own(s);
}

static inline uint64_t arena_units(size_t size)
{
    return (sizeof(struct head) + size + UNIT - 1) / UNIT;
}

/* Units for stored keys; the longest key takes a third of them. */
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

/* Keys are short: compare eight bytes at a time, overlapping at the end. */
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

/* The line where a key belongs. */
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

/* A bit for each of eight words that is equal to the one searched for. */
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

/* The cell that bounds the counts of keys that are not stored; there must be cells. */
static inline uint64_t *unkept_of(const struct summary *m, uint32_t tag)
{
    return &m->unkept[tag * m->unkept_count >> 32];
}

static inline void raise_to(uint64_t *bound, uint64_t count)
{
    *bound = count > *bound ? count : *bound;
}

/* Lay out the memory for this many keys and cells. */
void summary_lay(struct summary *m, uint8_t *at, uint64_t bytes, uint64_t keys, uint64_t unkept);

/* A guess for the entry of a key with this tag; may be the entry of another key. */
static inline struct entry *summary_guess(const struct summary *m, uint32_t tag)
{
    const struct tag_line *line = &m->lines[home_of(m, tag)];
    uint32_t found = equal_ones(line->tag, tag) | 1u << (SLOTS - 1);
    uint32_t entry = line->entry[__builtin_ctz(found)];

    return &m->entries[entry ? entry - 1 : 0];
}

/* The entry of a key; NULL if it is not stored. */
struct entry *summary_find(const struct summary *m, struct weir_bytes key, uint64_t hash);

/* Store a key that is not stored; there must be space. */
void summary_insert(struct summary *m, struct weir_bytes key, uint64_t hash, uint64_t count,
                    uint64_t error);

/* Is there space for a key of this size? */
bool summary_fits(const struct summary *m, size_t size);

/* Drop keys with the lowest counts until there is space. The floor rises to their counts. */
void summary_make_room(struct summary *m, size_t size);

/* The lowest count; there must be an entry. */
uint64_t summary_least(struct summary *m);

/* Up to n keys with the highest counts, highest first. Returns their number. */
size_t summary_top(const weir_sketch *s, struct weir_heavy *out, size_t n);

/* Sort in that order. */
void summary_sort(struct weir_heavy *list, size_t n);

/* Multiply all counts by 2^(steps / 256): see half_life.h. */
void summary_scale(weir_sketch *s, int64_t steps);

/* Saved state: floor too-long n (count error size key)*, in the order of entries, then the
 * cells. */
uint64_t summary_size(const weir_sketch *s);
void summary_put(const weir_sketch *s, struct part_writer *out);
bool summary_get(weir_sketch *s, struct part_reader *in);

#endif
