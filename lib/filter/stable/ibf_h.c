/* ibf_h.c - importance-aware Bloom filter, harmonic deletion (Bhoraskar
 * et al. 2013, "probabilistic delete by value").
 *
 * Inserts as IBF-MC. Each of the P cells to lower is chosen among those not
 * zero with a chance proportional to 1/value, so that high cells are spared:
 * draw a cell, take it with chance 1/value, else draw again. The draws are
 * limited, or an empty filter would never return.
 *
 * Price: the dearest of all, about six random cache lines per lowered cell;
 * and by the paper's own figures (and ours) not better than IBF-MC. With room
 * to spare it is dearer still: nearly all draws meet an empty cell, and all that
 * are allowed are made. Knowing the share of cells in use saves none of them:
 * whoever leaves out vain draws by chance must draw as much longer when
 * a cell is due, for only looking tells which one is in use. */
#include "filter/stable/ibf.h"

#define TRIES_EXPECTED 6 /* 5.6 is what it takes once settled: fetched ahead */
#define TOUCHES_MOST 64

static bool plan(struct config *c, struct shape *s, struct weir_error *error)
{
    if (!plan_ibf(c, s, true, error))
        return false;
    s->lines = (uint32_t)(c->k + c->decay * TRIES_EXPECTED);
    return true;
}

static inline void touch_victims(const weir *w, const struct arrival *a)
{
    struct cells cells = plane(w, 0);
    struct rng r = draws(w, a);
    uint64_t expected = w->config.decay * TRIES_EXPECTED;

    for (uint64_t i = 0; i < expected && i < TOUCHES_MOST; i++)
        cells_touch(&cells, rng_below(&r, cells.n));
}

/* Try to lower one cell. One draw serves twice: its upper bits say which cell,
 * its lower ones whether to take it. */
static inline bool try_lower(struct cells *cells, struct rng *r)
{
    uint64_t draw = rng_next(r);
    uint64_t at = bits_scale(draw, cells->n);
    uint64_t value = cells_get(cells, at);
    bool taken = (value != 0) & ((uint32_t)draw * value <= UINT32_MAX);

    cells_set(cells, at, (uint32_t)value - taken); /* always: no branch to guess */
    return taken;
}

static inline void admit(weir *w, const struct arrival *a, bool seen)
{
    struct cells cells = plane(w, 0);
    struct rng r = draws(w, a);
    uint32_t level = class_of(w, a->key, cells_top(&cells));
    uint64_t left = w->config.decay;

    (void)seen;
    for (uint64_t tries = left * STABLE_TRIES; left > 0 && tries > 0; tries--)
        left -= try_lower(&cells, &r);
    raise(w, a, level);
}

static bool predict(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p)
{
    return predict_by_class(c, s, m, true, p);
}

#include "filter/loops.h"

const struct filter_ops filter_ibf_h = {
    .is.about = {"ibf-h", "as ibf-mc, but high cells are lowered less often", IBF_TRAITS},
    .is.knobs = IBF_KNOBS,
    .plan = plan,
    .error = error_now,
    .merge = merge,
    .predict = predict,
    FILTER_LOOPS,
};
