/* ibf_mc.c - importance-aware Bloom filter with M classes (Bhoraskar et al. 2013, Algorithm 2).
 *
 * Each observation lowers P cells drawn at random, then raises the key's K cells to its class,
 * from 1 for the least important to M for the most. If most keys are unimportant, far more cells
 * are empty than in SBF, and important keys stay longer.
 *
 * Cost: K + P cache lines per key, 15 with the paper's parameters. Unimportant keys are evicted
 * almost at once. */
#include "filter/stable/ibf.h"

static bool plan(struct config *c, struct shape *s, struct weir_error *error)
{
    return plan_ibf(c, s, false, error);
}

static inline void insert(weir_filter *w, const struct arrival *a, bool seen)
{
    uint32_t level = class_of(w, a->key, (1u << w->config.cell) - 1);

    (void)seen;
    decay(w, a);
    raise(w, a, level);
}

static bool predict(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p)
{
    return predict_by_class(c, s, m, false, p);
}

#include "filter/loops.h"

const struct filter_ops filter_ibf_mc = {
    .is.about = {"ibf-mc", "as sbf, but important keys fade later: one class per level",
                 IBF_TRAITS},
    .is.parameters = IBF_PARAMETERS,
    .merge = merge,
    FILTER_FUNCTIONS,
};
