/* ibf_2c.c - importance-aware Bloom filter with two classes (Bhoraskar et al. 2013, Algorithm 1).
 *
 * Each observation lowers P cells drawn at random, then raises the key's K cells: to the maximum M
 * if it is important, otherwise to M/2 (4 of 7). Important keys fade later.
 *
 * Cost: K + P cache lines per key, 15 with the paper's parameters. It takes 1.5 times as long as
 * memory needs for as many lines if a line takes 8 ns, and 1.95 times if it takes 4 ns
 * (bench/speed --memory 64). Nine tenths of this time are computation. */
#include "filter/stable/ibf.h"

#define CLASSES 2

static bool plan(struct config *c, struct shape *s, struct weir_error *error)
{
    return plan_ibf(c, s, false, error);
}

static uint32_t level_of(uint32_t class, uint32_t top)
{
    return class == CLASSES ? top : (top + 1) / 2;
}

static inline void insert(weir_filter *w, const struct arrival *a, bool seen)
{
    uint32_t class = class_of(w, a->key, CLASSES);

    (void)seen;
    decay(w, a);
    raise(w, a, level_of(class, (1u << w->config.cell) - 1));
}

static bool predict(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p)
{
    bool ok = predict_raising(&(struct raising){CLASSES, level_of, false}, c, s, m, p);

    p->paper = stable_printed_2c((1u << c->cell) - 1, c->k, (double)c->decay);
    return ok;
}

#include "filter/loops.h"

const struct filter_ops filter_ibf_2c = {
    .is.about = {"ibf-2c", "as sbf, but important keys fade later: two classes", IBF_TRAITS},
    .is.parameters = IBF_PARAMETERS,
    .merge = merge,
    FILTER_FUNCTIONS,
};
