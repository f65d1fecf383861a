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
    uint32_t slot; /* of the index, that has its place */
};

struct top {
    struct value is;
    weir_sketch *s;
    uint64_t k, width, depth;
    double decay;
    struct kept *heap; /* k; the least first */

    /* Where in the heap is an item? Slots by hash, and the next ones where that is taken: the
     * place + 1, or 0. At least twice as many as places. */
    uint32_t *index;
    uint64_t slots;
};

struct top_wish {
    uint64_t k, width, depth;
    double decay;
    bool seeded; /* else the seed is random */
    uint64_t seed;
};

#define TOP_DEPTH_MOST 16

/* NULL with a message. */
struct top *top_open(const struct top_wish *wish, uint64_t most, struct weir_error *error);

/* Of a heap that was filled from elsewhere: hashes, and the index. */
void top_index(struct top *t);

/* Count an item so often. Who is expelled for it, if anyone, is to be given back by the
 * caller; false if memory is short for a large item, then nothing was done. */
bool top_add(struct top *t, struct weir_bytes item, uint64_t amount, struct kept *expelled);

bool top_has(const struct top *t, struct weir_bytes item);
uint64_t top_count(const struct top *t, struct weir_bytes item);

/* The heap, highest counts first, equals in the order of the heap; server memory, NULL if
 * it is short. *n are kept. */
struct kept *top_sorted(const struct top *t, size_t *n);

uint64_t top_seed(const struct top *t);

#endif
