/* bloom.c - the Bloom filter (Bloom 1970; the lectures of Rivera and of Castillo that
 * tests/papers/lectures.c names).
 *
 * One array of m bits. A key sets k of them, and is seen if all k are set. It never evicts, so
 * there are no false negatives. It saturates: beyond its capacity the false-positive rate grows
 * towards 1. It is the best filter for a stream that fits.
 *
 * Cost: k cache lines per key; 1.44 log2(1/error) bits per key when full. */
#include "filter/filter.h"
#include "theory/sets.h"
#include "filter/bloom/sizing.h"

static bool plan(struct config *c, struct shape *s, struct weir_error *error)
{
    if (!size_by_capacity(c, 1, error))
        return false;
    shape_planes(s, c, 1, 1);
    s->lines = (uint32_t)c->k;
    return true;
}

static double error_now(const weir_filter *w)
{
    struct cells bits = plane(w, 0);

    return bloom_error_at(cells_fill(&bits), w->config.k);
}

static inline void prefetch(const weir_filter *w, struct arrival *a)
{
    struct cells bits = plane(w, 0);

    for (uint32_t i = 0; i < w->config.k; i++)
        bit_prefetch(&bits, a->at[i] = place(a->key, i, bits.n));
}

static bool probe(const weir_filter *w, const struct arrival *a)
{
    struct cells bits = plane(w, 0);
    bool seen = true;

    for (uint32_t i = 0; i < w->config.k; i++)
        seen &= bit_get(&bits, a->at[i]);
    return seen;
}

static inline void insert(weir_filter *w, const struct arrival *a, bool seen)
{
    struct cells bits = plane(w, 0);

    (void)seen;
    for (uint32_t i = 0; i < w->config.k; i++)
        bit_set(&bits, a->at[i]);
}

static void merge(weir_filter *into, const weir_filter *from)
{
    for (uint64_t i = 0; i < into->stride; i++)
        into->cells[i] |= from->cells[i];
}

static bool predict(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p)
{
    bloom_predict((double)s->cells, c->k, m, p);
    return true;
}

#define NO_VICTIMS /* never clears anything */
#include "filter/loops.h"

const struct filter_ops filter_bloom = {
    .is.about = {"bloom", "Bloom filter: never evicts, saturates; best for a stream that fits",
                 WEIR_CAN_OBSERVE | WEIR_CAN_MERGE | WEIR_CAN_KEEP_ALL},
    .is.parameters = HAS_ALWAYS | HAS(PARAMETER_CAPACITY) | HAS(PARAMETER_FPR) | HAS(PARAMETER_K),
    .merge = merge,
    FILTER_FUNCTIONS,
};
