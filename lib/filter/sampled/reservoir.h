/* reservoir.h - what RSBF and its other reading share: a record is inserted
 * with probability s/i, as into a reservoir of s; once that falls below p*,
 * every record reported new is, each bit it sets taking the place of another. */
#ifndef WEIR_FILTER_SAMPLED_RESERVOIR_H
#define WEIR_FILTER_SAMPLED_RESERVOIR_H

#include "filter/sampled/sampled.h"

#define P_STAR_DEFAULT 30000000 /* 0.03 */
#define TRIES 64                /* to find a set bit: half are, so all but never in vain */

#define P_STAR_UNIT 1e-9 /* of c->p_star */

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

/* Is the chance s/i below p*? */
static inline bool is_late(const weir_filter *w, uint64_t i)
{
    return (bits_u128)w->shape.cells * 1000000000 < (bits_u128)w->config.p_star * i;
}

static inline void touch_victims(const weir_filter *w, const struct arrival *a)
{
    struct rng r = draws(w, a);

    rng_next(&r); /* the coin */
    for (uint32_t i = 0; i < w->config.k; i++) {
        struct cells bits = plane(w, i);

        bit_touch(&bits, rng_below(&r, bits.n));
    }
}

/* The arrays that lack the key's bit, a bit each: none if it is seen. */
static inline uint64_t lacking(const weir_filter *w, const struct arrival *a)
{
    uint64_t lack = 0;

    for (uint32_t i = 0; i < w->config.k; i++) {
        struct cells bits = plane(w, i);

        lack |= (uint64_t)!bit_get(&bits, a->at[i]) << i;
    }
    return lack;
}

static inline void insert(weir_filter *w, const struct arrival *a)
{
    for (uint32_t i = 0; i < w->config.k; i++) {
        struct cells bits = plane(w, i);

        bit_set(&bits, a->at[i]);
    }
}

static inline void clear_one_each(weir_filter *w, struct rng *r)
{
    for (uint32_t i = 0; i < w->config.k; i++) {
        struct cells bits = plane(w, i);

        bit_clear(&bits, rng_below(r, bits.n));
    }
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

/* Insert, and clear a set bit for each bit set: the fill stays as it is. */
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

/* Which bits replace() will try, as far as it can be foretold: the draws for the first array that
 * lacks the key's bit, and those for the last, which come after. */
static inline void touch_tries(const weir_filter *w, const struct arrival *a, uint64_t lack)
{
    struct cells first = plane(w, (uint32_t)__builtin_ctzll(lack));
    struct cells last = plane(w, 63 - (uint32_t)__builtin_clzll(lack));
    struct rng r = draws(w, a);

    rng_next(&r); /* the coin */
    bit_touch(&first, rng_below(&r, first.n));
    for (uint32_t i = 0; i < TRIES_SHARED; i++) {
        uint64_t at = rng_below(&r, first.n);

        bit_touch(&first, at);
        bit_touch(&last, at);
    }
    bit_touch(&last, rng_below(&r, last.n));
}

/* Early the draws are known; later the key's own bits say which are made. */
#define LOOKS 1
static inline void look(const weir_filter *w, struct arrival *a)
{
    if (is_late(w, a->number + 1)) {
        uint64_t lack = lacking(w, a);

        if (lack)
            touch_tries(w, a, lack);
    } else {
        touch_victims(w, a);
    }
}

#endif
