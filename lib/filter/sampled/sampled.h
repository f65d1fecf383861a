/* sampled.h - what the filters of Bera et al. 2012 share: k arrays of s bits, one bit of each per
 * key. They differ in which keys are inserted and which bits are cleared. */
#ifndef WEIR_FILTER_SAMPLED_SAMPLED_H
#define WEIR_FILTER_SAMPLED_SAMPLED_H

#include "filter/filter.h"
#include "theory/sampled.h"

#define K_DEFAULT 2 /* as in Tables 4 to 9 */

/* Each array accesses a line for the key's bit and one for the bit that it clears. */
static bool plan_arrays(const struct config *c, struct shape *s)
{
    shape_planes(s, c, (uint32_t)c->k, 1);
    s->lines = (uint32_t)(2 * c->k);
    return true;
}

static double error_now(const weir_filter *w)
{
    double all = 1;

    for (uint32_t i = 0; i < w->config.k; i++) {
        struct cells bits = plane(w, i);

        all *= cells_fill(&bits);
    }
    return all;
}

static bool predict_sampled(enum sampled_kind kind, const struct config *c, const struct shape *s,
                            const struct stream_model *m, struct prediction *p)
{
    struct sampled f = {kind, c->k, (double)s->cells, (double)c->p_star * 1e-9};

    sampled_predict(&f, m, p);
    return true;
}

static inline void prefetch(const weir_filter *w, struct arrival *a)
{
    for (uint32_t i = 0; i < w->config.k; i++) {
        struct cells bits = plane(w, i);

        bit_prefetch(&bits, a->at[i] = place(a->key, i, bits.n));
    }
}

static bool probe(const weir_filter *w, const struct arrival *a)
{
    bool seen = true;

    for (uint32_t i = 0; i < w->config.k; i++) {
        struct cells bits = plane(w, i);

        seen &= bit_get(&bits, a->at[i]);
    }
    return seen;
}

static inline void set_bits(weir_filter *w, const struct arrival *a)
{
    for (uint32_t i = 0; i < w->config.k; i++) {
        struct cells bits = plane(w, i);

        bit_set(&bits, a->at[i]);
    }
}

/* ---- a random bit of each array ---- */

static inline void prefetch_one_each(const weir_filter *w, struct rng *r)
{
    for (uint32_t i = 0; i < w->config.k; i++) {
        struct cells bits = plane(w, i);

        bit_prefetch(&bits, rng_below(r, bits.n));
    }
}

static inline void clear_one_each(weir_filter *w, struct rng *r)
{
    for (uint32_t i = 0; i < w->config.k; i++) {
        struct cells bits = plane(w, i);

        bit_clear(&bits, rng_below(r, bits.n));
    }
}

#endif
