/* ibf_2c.c - importance-aware Bloom filter, two classes (000, Algorithm 1).
 *
 * Each arrival lowers P cells drawn at random, then raises its K cells: to the
 * top M if it is important, to M/2 if not (4 of 7). The important fade later.
 *
 * Price: K + P cache lines per key, 15 with the settings of 000. */
#include "random_decay.h"

static inline void admit(weir *w, const struct arrival *a, bool seen)
{
    uint32_t top = (1u << w->config.cell) - 1;
    bool important = class_of(w, a->key, 2) == 2;

    (void)seen;
    decay(w, a);
    raise(w, a, important ? top : (top + 1) / 2);
}

#include "loops.h"

const struct weir_ops weir_filter_ibf_2c = {
    .about = {"ibf-2c", "as sbf, but important keys fade later: two classes"},
    .knobs = IBF_KNOBS,
    .plan = plan,
    .error = error_now,
    .merge = merge,
    FILTER_LOOPS,
};
