/* bsbf.c - biased sampling based Bloom filter (Bera et al. 2012, Algorithm 2).
 *
 * A key reported as new is inserted: in each array one random bit is cleared, then the key's bit
 * is set. (The labels of the printed algorithm are swapped.) The fill x settles where x + x^2 +
 * ... + x^k = 1: a false-positive rate of 38 % for k = 2, 16 % for k = 3.
 *
 * Cost: 2k cache lines per new key. Evicts more keys than RLBSBF, but has fewer false positives. */
#include "filter/sampled/sampled.h"

static double error_of(const struct config *c, uint64_t k)
{
    (void)c;
    return sampled_error_bsbf(k);
}

static bool plan(struct config *c, struct shape *s, struct weir_error *error)
{
    return config_choose_k(c, error_of, K_DEFAULT, error) && plan_arrays(c, s);
}

static inline void prefetch_victims(const weir_filter *w, const struct arrival *a)
{
    struct rng r = arrival_rng(w, a);

    prefetch_one_each(w, &r);
}

static inline void insert(weir_filter *w, const struct arrival *a, bool seen)
{
    struct rng r = arrival_rng(w, a);

    if (seen)
        return;
    clear_one_each(w, &r);
    set_bits(w, a);
}

static bool predict(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p)
{
    return predict_sampled(SAMPLED_BSBF, c, s, m, p);
}

#include "filter/loops.h"

const struct filter_ops filter_bsbf = {
    .is.about = {"bsbf", "each new key clears a random bit per array: fewer false positives",
                 WEIR_CAN_OBSERVE | WEIR_CAN_RUN_FOREVER},
    .is.parameters = HAS_ALWAYS | HAS(PARAMETER_FPR) | HAS(PARAMETER_K),
    FILTER_FUNCTIONS,
};
