/* reservoir.h - what RSBF and its variant share. A record is inserted with probability s/i, as
 * into a reservoir of s. When that falls below p*, every record reported as new is inserted, and
 * each bit that it sets replaces another one. */
#ifndef WEIR_FILTER_SAMPLED_RESERVOIR_H
#define WEIR_FILTER_SAMPLED_RESERVOIR_H

#include "filter/sampled/sampled.h"

#define P_STAR_DEFAULT 30000000 /* 0.03 */
#define TRIES 64 /* draws to find a set bit; half are set, so this nearly always succeeds */

#define P_STAR_UNIT 1e-9 /* the unit of c->p_star */

#define RESERVOIR_PARAMETERS                                                                       \
    (HAS_ALWAYS | HAS(PARAMETER_FPR) | HAS(PARAMETER_K) | HAS(PARAMETER_P_STAR))

static bool plan_reservoir(struct config *c, struct shape *s,
                           double (*error_of)(const struct config *c, uint64_t k),
                           struct weir_error *error)
{
    if (!config_has(c, PARAMETER_P_STAR))
        c->p_star = P_STAR_DEFAULT;
    return config_choose_k(c, error_of, K_DEFAULT, error) && plan_arrays(c, s);
}

/* Is the probability s/i below p*? */
static inline bool is_late(const weir_filter *w, uint64_t i)
{
    return (bits_u128)w->shape.cells * 1000000000 < (bits_u128)w->config.p_star * i;
}

static inline void prefetch_victims(const weir_filter *w, const struct arrival *a)
{
    struct rng r = arrival_rng(w, a);

    rng_next(&r); /* whether it is inserted */
    prefetch_one_each(w, &r);
}

/* The arrays in which the key's bit is clear, one bit each; 0 if the key is seen. */
static inline uint64_t lacking(const weir_filter *w, const struct arrival *a)
{
    uint64_t lack = 0;

    for (uint32_t i = 0; i < w->config.k; i++) {
        struct cells bits = plane(w, i);

        lack |= (uint64_t)!bit_get(&bits, a->at[i]) << i;
    }
    return lack;
}

static inline void clear_a_set_one(struct cells *bits, struct rng *r)
{
    for (int i = 0; i < TRIES; i++) {
        uint64_t at = rng_below(r, bits->n);

        if (bit_get(bits, at)) {
            bit_clear(bits, at);
            return;
        }
    }
}

/* Insert, and clear a set bit for each bit set, so that the fill stays constant. */
static inline void replace(weir_filter *w, const struct arrival *a, struct rng *r)
{
    for (uint64_t lack = lacking(w, a); lack; lack &= lack - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(lack);
        struct cells bits = plane(w, i);

        clear_a_set_one(&bits, r);
        bit_set(&bits, a->at[i]);
    }
}

#define TRIES_SHARED 2 /* measured by bench/speed: 1 to 3 */

/* Prefetch the bits that replace() will try, as far as they are known: the draws for the first
 * array that lacks the key's bit, and those for the last array, which follow. */
static inline void touch_tries(const weir_filter *w, const struct arrival *a, uint64_t lack)
{
    struct cells first = plane(w, (uint32_t)__builtin_ctzll(lack));
    struct cells last = plane(w, 63 - (uint32_t)__builtin_clzll(lack));
    struct rng r = arrival_rng(w, a);

    rng_next(&r); /* whether it is inserted */
    bit_prefetch(&first, rng_below(&r, first.n));
    for (uint32_t i = 0; i < TRIES_SHARED; i++) {
        uint64_t at = rng_below(&r, first.n);

        bit_prefetch(&first, at);
        bit_prefetch(&last, at);
    }
    bit_prefetch(&last, rng_below(&r, last.n));
}

/* Early, all draws are known. Later, the key's own bits determine which are made. */
#define ROUNDS 1
static inline void prefetch_next(const weir_filter *w, struct arrival *a)
{
    if (is_late(w, a->number + 1)) {
        uint64_t lack = lacking(w, a);

        if (lack)
            touch_tries(w, a, lack);
    } else {
        prefetch_victims(w, a);
    }
}

#endif
