/* counting.c - the counting Bloom filter (Fan et al. 2000): a Bloom filter with counters, so that
 * keys can be removed.
 *
 * Each insertion adds one to the key's k cells, each removal subtracts one. A key is seen if none
 * of its cells is zero. A cell that has reached its maximum stays there: its count is unknown, and
 * lowering it could remove other keys. A key inserted twice must be removed twice. Removing only
 * keys that were inserted never causes a false negative.
 *
 * Cost: k cache lines per key, and the memory of a Bloom filter times the bits of a cell. */
#include "filter/one_array.h"
#include "filter/bloom/sizing.h"

#define CELL_DEFAULT 4 /* overflows once in 10^15 cells at the optimal load */

static bool plan(struct config *c, struct shape *s, struct weir_error *error)
{
    if (!config_has(c, PARAMETER_CELL))
        c->cell = CELL_DEFAULT;
    if (!size_by_capacity(c, c->cell, error))
        return false;
    shape_planes(s, c, 1, (uint32_t)c->cell);
    s->lines = (uint32_t)c->k;
    return true;
}

/* Add `by` (1 or -1) to a cell, unless it is at its maximum. */
static inline void step(struct cells *cells, uint64_t i, uint32_t by)
{
    uint32_t old = cells_get(cells, i);

    if (old != cells_top(cells))
        cells_set(cells, i, old + by);
}

static inline void insert(weir_filter *w, const struct arrival *a, bool seen)
{
    struct cells cells = plane(w, 0);

    (void)seen; /* repeats count too */
    for (uint32_t i = 0; i < w->config.k; i++)
        step(&cells, a->at[i], 1);
}

static bool forget(weir_filter *w, struct weir_key key)
{
    struct cells cells = plane(w, 0);
    struct arrival a;

    a.key = key;
    prefetch(w, &a);
    if (!probe(w, &a))
        return false;
    for (uint32_t i = 0; i < w->config.k; i++)
        if (cells_get(&cells, a.at[i]))
            step(&cells, a.at[i], (uint32_t)-1);
    return true;
}

static void merge(weir_filter *into, const weir_filter *from)
{
    struct cells a = plane(into, 0), b = plane(from, 0);

    for (uint64_t i = 0; i < a.n; i++) {
        uint32_t sum = cells_get(&a, i) + cells_get(&b, i);

        cells_set(&a, i, sum < cells_top(&a) ? sum : cells_top(&a));
    }
}

static bool predict(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p)
{
    bloom_predict((double)s->cells, c->k, m, p);
    return true;
}

#define NO_VICTIMS /* never clears anything */
#include "filter/loops.h"

const struct filter_ops filter_counting = {
    .is.about = {"counting", "Bloom filter with counters: keys can be removed",
                 WEIR_CAN_OBSERVE | WEIR_CAN_FORGET | WEIR_CAN_MERGE | WEIR_CAN_KEEP_ALL},
    .is.parameters = HAS_ALWAYS | HAS(PARAMETER_CAPACITY) | HAS(PARAMETER_FPR) | HAS(PARAMETER_K) |
                     HAS(PARAMETER_CELL),
    .forget = forget,
    .merge = merge,
    FILTER_FUNCTIONS,
};
