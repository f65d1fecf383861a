/* ibf_h.c - importance-aware Bloom filter, harmonic deletion (Bhoraskar
 * et al. 2013, "probabilistic delete by value").
 *
 * Inserts as IBF-MC. Each of the P cells to lower is chosen among those not
 * zero with a chance proportional to 1/value, so that high cells are spared:
 * draw a cell, take it with chance 1/value, else draw again. The draws are
 * limited, or an empty filter would never return.
 *
 * Price: the dearest of all, about six random cache lines per lowered cell;
 * and by the paper's own figures (and ours) not better than IBF-MC. It takes
 * 1.7 to 2.0 of the time that memory needs for as many lines where one takes 8 ns, 2.5 where
 * one takes 4 (bench/speed --memory 64): sixty draws a key are arithmetic that takes as long in
 * cache as memory takes, or longer, and the two overlap by less than half. With room to spare it is
 * dearer still: nearly all draws meet an empty cell, and all 16 P that are allowed are made, 160
 * lines. Knowing the share of cells in use saves none of them: whoever leaves out vain
 * draws by chance must draw as much longer when a cell is due, for only looking tells which
 * one is in use. Other draws of the same law could look side by side in one line, as
 * SBF does; but saved filters would go on otherwise than they began. */
#include "filter/stable/ibf.h"

#define TRIES_EXPECTED 6 /* 5.6 is what it takes once settled */

static bool plan(struct config *c, struct shape *s, struct weir_error *error)
{
    if (!plan_ibf(c, s, true, error))
        return false;
    s->lines = (uint32_t)(c->k + c->decay * TRIES_EXPECTED);
    return true;
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

/* What the next arrival will draw is known already: with each draw the one of the same number is
 * fetched for it, so that memory has work all the time. As many as it takes once settled; all that
 * are made, while few of them find a cell. */
static inline void lower(weir_filter *w, const struct arrival *a, uint32_t width)
{
    struct cells cells = {w->cells, w->shape.cells, width};
    struct rng r = draws(w, a), next = rng_at(w->config.seed, a->number + 1);
    uint64_t decay = w->config.decay, most = decay * STABLE_TRIES;
    uint64_t expected = decay * TRIES_EXPECTED, left = decay, tries = 0;

    for (; left > 0 && tries < most; tries++) {
        if (tries < expected || 2 * left > decay)
            cells_touch(&cells, rng_below(&next, cells.n));
        left -= try_lower(&cells, &r);
    }
    for (; tries < expected; tries++)
        cells_touch(&cells, rng_below(&next, cells.n));
}

static inline void admit(weir_filter *w, const struct arrival *a, bool seen)
{
    uint32_t level = class_of(w, a->key, (1u << w->config.cell) - 1);

    (void)seen;
    if (w->config.cell == CELL_DEFAULT)
        lower(w, a, CELL_DEFAULT); /* compiled for it */
    else
        lower(w, a, w->shape.width);
    raise(w, a, level);
}

static bool predict(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p)
{
    return predict_by_class(c, s, m, true, p);
}

#define NO_VICTIMS /* lower() fetches those of the next arrival */
#include "filter/loops.h"

const struct filter_ops filter_ibf_h = {
    .is.about = {"ibf-h", "as ibf-mc, but high cells are lowered less often", IBF_TRAITS},
    .is.parameters = IBF_PARAMETERS,
    .plan = plan,
    .error = error_now,
    .merge = merge,
    .predict = predict,
    FILTER_LOOPS,
};
