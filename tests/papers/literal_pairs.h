/* literal_pairs.h - the window of Busnel and Gillet 2019, exactly as described: two DABF, each with
 * its own lookups. In the first window there is only the first; then both are filled, the older one
 * answers, and is flushed when the window ends. Plain arrays of bytes, for comparison only.
 *
 * The paper takes the positions of a key from a generator seeded with the key, so both pairs use
 * the same ones. With own_places each filter has its own. */
#ifndef WEIR_TESTS_PAPERS_LITERAL_PAIRS_H
#define WEIR_TESTS_PAPERS_LITERAL_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pairs {
    size_t cells[2]; /* of beta and beta' */
    uint32_t k[2];
    size_t window, records;
    bool own_places;
    uint64_t seed;
    size_t calls;
    uint8_t *bits[4]; /* beta, beta' of the first pair and of the second */
};

/* N bits for both pairs together, theta = 1/9, k and k' as in the paper. */
struct pairs pairs_open(size_t memory, size_t set, size_t window, bool own_places, uint64_t seed);

/* Returns true if the key is reported as a member. */
bool pairs_lookup(struct pairs *p, uint32_t key, bool member);

void pairs_close(struct pairs *p);

#endif
