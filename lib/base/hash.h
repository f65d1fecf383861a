/* hash.h - key bytes to 128 bits, and 128 bits to positions.
 *
 * XXH3 is the fast hash; SipHash-2-4 is for untrusted keys. Both are keyed by the seed.
 *
 * hash_word(h, i) derives any number of 64-bit words from one hash. Words 0 and 1 are the hash
 * itself. Each later word mixes both halves by a folded product. Two keys that agree in the words
 * i and j are therefore no more likely to agree in others. With the usual h1 + i * h2 they would
 * be, if k is small (tests/unit/chance.c measures it). */
#ifndef WEIR_BASE_HASH_H
#define WEIR_BASE_HASH_H

#include <stddef.h>

#include "base/bits.h"

struct hash128 {
    uint64_t lo, hi;
};

struct hash128 hash_fast(const void *data, size_t size, uint64_t seed);
struct hash128 hash_keyed(const void *data, size_t size, uint64_t seed);

/* Select the function by hash= of a spec. */
static inline struct hash128 hash_by(uint64_t keyed, const void *data, size_t size, uint64_t seed)
{
    return keyed ? hash_keyed(data, size, seed) : hash_fast(data, size, seed);
}

/* An identifier of seed= and hash=, never 0. Two of them collide with a probability of 2^-31. */
static inline uint32_t hash_origin(uint64_t keyed, uint64_t seed)
{
    uint64_t mixed = bits_fold(seed ^ UINT64_C(0x9e3779b97f4a7c15),
                               (2 * keyed + 1) * UINT64_C(0xd1342543de82ef95));

    return (uint32_t)mixed | 1;
}

static inline uint64_t hash_word(uint64_t lo, uint64_t hi, uint32_t i)
{
    if (i == 0)
        return lo;
    if (i == 1)
        return hi;
    return bits_fold(lo + i * UINT64_C(0xa0761d6478bd642f), hi ^ i * UINT64_C(0xe7037ed1a0b428db));
}

#endif
