/* rlbsbf.c - randomised load balanced BSBF (Bera et al. 2012, Algorithm 4).
 *
 * As BSBF, but in each array the random bit is cleared only with probability load/s, the share of
 * set bits. An empty filter loses nothing; a full one evicts. The registers contain the exact
 * loads. The fill settles where x^2 + ... + x^(k+1) = 1: a false-positive rate of 57 % for k = 2,
 * 32 % for k = 3.
 *
 * Cost: 2k cache lines per new key; the best balance of the paper's four filters. */
#include "filter/sampled/sampled.h"

static double error_of(const struct config *c, uint64_t k)
{
    (void)c;
    return sampled_error_rlbsbf(k);
}

static bool plan(struct config *c, struct shape *s, struct weir_error *error)
{
    if (!config_choose_k(c, error_of, K_DEFAULT, error))
        return false;
    s->registers = (uint32_t)c->k;
    return plan_arrays(c, s);
}

/* If the victim is not cleared, the key's own line is prefetched again, which costs less than a
 * mispredicted branch. The load can change by a few bits until the key is inserted. A victim that
 * was not prefetched then only takes longer. */
static inline void prefetch_victims(const weir_filter *w, const struct arrival *a)
{
    struct rng r = arrival_rng(w, a);

    for (uint32_t i = 0; i < w->config.k; i++) {
        struct cells bits = plane(w, i);
        uint64_t victim = rng_below(&r, bits.n), own = a->at[i];
        uint64_t due = -(uint64_t)rng_chance(&r, w->reg[i], bits.n);

        bit_prefetch(&bits, own ^ ((own ^ victim) & due));
    }
}

static inline void insert(weir_filter *w, const struct arrival *a, bool seen)
{
    struct rng r = arrival_rng(w, a);

    if (seen)
        return;
    for (uint32_t i = 0; i < w->config.k; i++) {
        struct cells bits = plane(w, i);
        uint64_t *load = &w->reg[i];
        uint64_t victim = rng_below(&r, bits.n), own = a->at[i];

        if (rng_chance(&r, *load, bits.n)) {
            *load -= bit_get(&bits, victim);
            bit_clear(&bits, victim);
        }
        *load += !bit_get(&bits, own);
        bit_set(&bits, own);
    }
}

static bool check_cells(const weir_filter *w)
{
    for (uint32_t i = 0; i < w->config.k; i++) {
        struct cells bits = plane(w, i);

        if (w->reg[i] != cells_used(&bits))
            return false;
    }
    return true;
}

static bool predict(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p)
{
    return predict_sampled(SAMPLED_RLBSBF, c, s, m, p);
}

#include "filter/loops.h"

const struct filter_ops filter_rlbsbf = {
    .is.about = {"rlbsbf",
                 "as bsbf, but clears more bits the fuller it is: the best balance of its family",
                 WEIR_CAN_OBSERVE | WEIR_CAN_RUN_FOREVER},
    .is.parameters = HAS_ALWAYS | HAS(PARAMETER_FPR) | HAS(PARAMETER_K),
    .check_cells = check_cells,
    FILTER_FUNCTIONS,
};
