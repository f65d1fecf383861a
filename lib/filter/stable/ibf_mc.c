/* ibf_mc.c - importance-aware Bloom filter, M classes (Bhoraskar et al.
 * 2013, Algorithm 2).
 *
 * Each arrival lowers P cells drawn at random, then raises its K cells to its
 * class, 1 for the least important to M for the most. Where unimportant keys
 * abound this keeps far more cells empty than SBF, and the important longer.
 *
 * Price: K + P cache lines per key, 15 with the paper's settings; unimportant
 * keys are forgotten almost at once. */
#include "filter/stable/random_decay.h"

static inline void admit(weir_filter *w, const struct arrival *a, bool seen)
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
    .is.about = {"ibf-mc",
                 "as sbf, but a key fades the later the more important: a class per level",
                 IBF_TRAITS},
    .is.parameters = IBF_PARAMETERS,
    .plan = plan,
    .error = error_now,
    .merge = merge,
    .predict = predict,
    FILTER_LOOPS,
};
