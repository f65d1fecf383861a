/* top_value.h - what a key of TOPK.* holds: a HeavyKeeper sketch, and the k keys of the highest
 * counts in a heap.
 *
 * The heap is the module's own, since clients see who is expelled, also among equals: an item
 * enters when its count is not below the least that is kept; sifting down, it changes places
 * with an equal one at its first step, and afterwards only with lower ones. */
#ifndef MODULE_TOP_VALUE_H
#define MODULE_TOP_VALUE_H

#include <weir/sketch.h>

#include "value/value.h"

struct kept {
    char *item; /* NULL: the place is free */
    uint64_t hash;
    uint32_t size, count;
};

struct top {
    struct value is;
    weir_sketch *s;
    uint64_t k, width, depth;
    double decay;
    struct kept *heap; /* k; the least first */
};

struct top_wish {
    uint64_t k, width, depth;
    double decay;
    bool seeded; /* else the seed is random */
    uint64_t seed;
};

#define TOP_DEPTH_MOST 16

/* NULL with a sentence. */
struct top *top_open(const struct top_wish *wish, uint64_t most, struct weir_error *error);

/* Count an item so often. Who is expelled for it, if anyone, is to be given back by the
 * caller; false if memory is short for a large item, then nothing was done. */
bool top_add(struct top *t, struct weir_bytes item, uint64_t amount, struct kept *expelled);

/* By which an item is found among those that are kept. */
uint64_t top_hash(const struct top *t, struct weir_bytes item);

bool top_has(const struct top *t, struct weir_bytes item);
uint64_t top_count(const struct top *t, struct weir_bytes item);

/* The heap, highest counts first, equals in the order of the heap; server memory, NULL if
 * it is short. *n are kept. */
struct kept *top_sorted(const struct top *t, size_t *n);

uint64_t top_seed(const struct top *t);

#endif
