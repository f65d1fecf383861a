/* rsbf.c - reservoir sampling based Bloom filter (Bera et al. 2012, Algorithm
 * 1), as the paper's text has it.
 *
 * The first s records are inserted. After that one reported new is inserted
 * with probability s/i, and one random bit of each array is cleared with it;
 * once s/i < p*, every one reported new replaces as many bits as it sets. The
 * fill rises to 1 - 1/e, falls towards BSBF's fixed point (0.618 for k = 2, a
 * half for many arrays) and stays from there on; one array alone goes on rising, to
 * 0.84 at p* = 0.03.
 *
 * Price: 2k cache lines per new key. Between s and s/p* records it knowingly
 * ignores new keys: repeats of those are missed. It takes 1.2 to 1.4 of the time that memory needs
 * for so many lines where one takes 8 ns, 2.3 where one takes 4 (bench/speed --memory 64): three
 * quarters of its time it takes in cache, too. */
#include "filter/sampled/reservoir.h"

static double error_of(const struct config *c, uint64_t k)
{
    return sampled_error_rsbf(k, (double)c->p_star * P_STAR_UNIT);
}

static bool plan(struct config *c, struct shape *s, struct weir_error *error)
{
    return plan_reservoir(c, s, error_of, error);
}

static inline void admit(weir_filter *w, const struct arrival *a, bool seen)
{
    struct rng r = draws(w, a);
    uint64_t s = w->shape.cells, i = w->observed + 1;

    if (seen)
        return;
    bool chosen = rng_chance(&r, s, i);
    if (is_late(w, i)) {
        replace(w, a, &r);
    } else if (chosen) {
        if (i > s)
            clear_one_each(w, &r);
        insert(w, a);
    }
}

static bool predict(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p)
{
    return predict_sampled(SAMPLED_RSBF, c, s, m, p);
}

#include "filter/loops.h"

const struct filter_ops filter_rsbf = {
    .is.about = {"rsbf", "inserts ever fewer new keys, as a reservoir sample does",
                 WEIR_CAN_OBSERVE},
    .is.parameters = RESERVOIR_PARAMETERS,
    .plan = plan,
    .error = error_now,
    .predict = predict,
    FILTER_LOOPS,
};
