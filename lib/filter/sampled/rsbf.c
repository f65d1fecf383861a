/* rsbf.c - reservoir sampling based Bloom filter (Bera et al. 2012, Algorithm 1), as the paper's
 * text describes it.
 *
 * The first s records are inserted. After that, a key reported as new is inserted with probability
 * s/i, and one random bit of each array is cleared. When s/i falls below p*, every such key is
 * inserted, and each bit it sets replaces another one. The fill rises to 1 - 1/e, falls towards
 * the fixed point of BSBF (0.618 for k = 2, one half for many arrays) and then stays constant.
 * With a single array it continues to rise, to 0.84 at p* = 0.03.
 *
 * Cost: 2k cache lines per new key. Between s and s/p* records the filter ignores new keys by
 * design, so their repeats are missed. It takes 1.2 to 1.4 times as long as memory needs for as
 * many lines if a line takes 8 ns, and 2.3 times if it takes 4 ns (bench/speed --memory 64). Three
 * quarters of this time are computation. */
#include "filter/sampled/reservoir.h"

static double error_of(const struct config *c, uint64_t k)
{
    return sampled_error_rsbf(k, (double)c->p_star * P_STAR_UNIT);
}

static bool plan(struct config *c, struct shape *s, struct weir_error *error)
{
    return plan_reservoir(c, s, error_of, error);
}

static inline void insert(weir_filter *w, const struct arrival *a, bool seen)
{
    struct rng r = arrival_rng(w, a);
    uint64_t s = w->shape.cells, i = w->observed + 1;

    if (seen)
        return;
    bool chosen = rng_chance(&r, s, i);
    if (is_late(w, i)) {
        replace(w, a, &r);
    } else if (chosen) {
        if (i > s)
            clear_one_each(w, &r);
        set_bits(w, a);
    }
}

static bool predict(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p)
{
    return predict_sampled(SAMPLED_RSBF, c, s, m, p);
}

#include "filter/loops.h"

const struct filter_ops filter_rsbf = {
    .is.about = {"rsbf", "inserts fewer and fewer new keys, as reservoir sampling does",
                 WEIR_CAN_OBSERVE},
    .is.parameters = RESERVOIR_PARAMETERS,
    FILTER_FUNCTIONS,
};
