/* rng.h - counter-based random numbers.
 *
 * A draw is a pure function of the seed, the number of the arrival and the number of the draw: a
 * Weyl sequence through a folded product. No state is kept between arrivals. So the state of the
 * generator is saved with the filter, as its seed and its number of observed keys. And prefetching
 * can compute thirty arrivals ahead which cells an insertion will clear. */
#ifndef WEIR_BASE_RNG_H
#define WEIR_BASE_RNG_H

#include <stdbool.h>

#include "base/bits.h"

#define RNG_STEP 0x9e3779b97f4a7c15u /* 2^64 / golden ratio: odd, well spread */
#define RNG_TWIST 0xd1342543de82ef95u

struct rng {
    uint64_t state;
};

/* The generator of one arrival. */
static inline struct rng rng_at(uint64_t seed, uint64_t arrival)
{
    uint64_t x = seed + arrival * RNG_STEP;

    return (struct rng){bits_fold(x, x ^ RNG_TWIST)};
}

static inline uint64_t rng_next(struct rng *r)
{
    r->state += RNG_STEP;
    return bits_fold(r->state, r->state ^ RNG_TWIST);
}

/* Uniform in 0..n-1. */
static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
    return bits_scale(rng_next(r), n);
}

/* True with probability part / whole. */
static inline bool rng_chance(struct rng *r, uint64_t part, uint64_t whole)
{
    return rng_below(r, whole) < part;
}

#endif
