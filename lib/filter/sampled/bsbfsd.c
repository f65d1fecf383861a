/* bsbfsd.c - BSBF with single deletion (Bera et al. 2012, Algorithm 3).
 *
 * As BSBF, but a new key clears only one random bit in one random array. It evicts far fewer keys,
 * but on an unbounded stream the fill approaches 1, and so does the false-positive rate. It
 * therefore has no fpr=.
 *
 * Cost: k + 1 cache lines per new key. */
#include "filter/sampled/sampled.h"

static bool plan(struct config *c, struct shape *s, struct weir_error *error)
{
    (void)error;
    if (!config_has(c, PARAMETER_K))
        c->k = K_DEFAULT;
    plan_arrays(c, s);
    s->lines = (uint32_t)c->k + 1;
    return true;
}

/* The bit that an insertion clears. */
static inline uint64_t victim(const weir_filter *w, const struct arrival *a, struct cells *array)
{
    struct rng r = arrival_rng(w, a);

    *array = plane(w, rng_below(&r, w->config.k));
    return rng_below(&r, array->n);
}

static inline void prefetch_victims(const weir_filter *w, const struct arrival *a)
{
    struct cells array;
    uint64_t bit = victim(w, a, &array);

    bit_prefetch(&array, bit);
}

static inline void insert(weir_filter *w, const struct arrival *a, bool seen)
{
    struct cells array;

    if (seen)
        return;
    uint64_t bit = victim(w, a, &array);
    bit_clear(&array, bit);
    set_bits(w, a);
}

static bool predict(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p)
{
    return predict_sampled(SAMPLED_BSBFSD, c, s, m, p);
}

#include "filter/loops.h"

const struct filter_ops filter_bsbfsd = {
    .is.about = {"bsbfsd",
                 "each new key clears one bit in total: evicts few keys, saturates slowly",
                 WEIR_CAN_OBSERVE},
    .is.parameters = HAS_ALWAYS | HAS(PARAMETER_K),
    FILTER_FUNCTIONS,
};
