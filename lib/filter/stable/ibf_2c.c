/* ibf_2c.c - importance-aware Bloom filter, two classes (Bhoraskar et
 * al. 2013, Algorithm 1).
 *
 * Each arrival lowers P cells drawn at random, then raises its K cells: to the
 * top M if it is important, to M/2 if not (4 of 7). The important fade later.
 *
 * Price: K + P cache lines per key, 15 with the paper's settings. It takes 1.5 of the time that
 * memory needs for so many where one takes 8 ns, 1.95 where one takes 4 (bench/speed --memory
 * 64): nine tenths of its time it takes in cache, too. */
#include "filter/stable/random_decay.h"

#define CLASSES 2

static uint32_t level_of(uint32_t class, uint32_t top)
{
    return class == CLASSES ? top : (top + 1) / 2;
}

static inline void admit(weir_filter *w, const struct arrival *a, bool seen)
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
    .plan = plan,
    .error = error_now,
    .merge = merge,
    .predict = predict,
    FILTER_LOOPS,
};
