/* ibf_h.c - importance-aware Bloom filter with harmonic deletion (Bhoraskar et al. 2013,
 * "probabilistic delete by value").
 *
 * Inserts as IBF-MC. Each of the P cells to lower is chosen among the nonzero cells with a
 * probability proportional to 1/value, which spares high cells: draw a cell, accept it with
 * probability 1/value, otherwise draw again. The number of draws is limited, because an empty
 * filter would never accept any.
 *
 * Cost: the most expensive filter, about six random cache lines per lowered cell. By the paper's
 * results and ours it is no better than IBF-MC. It takes 1.7 to 2.0 times as long as memory needs
 * for as many lines if a line takes 8 ns, and 2.5 times if it takes 4 ns (bench/speed --memory
 * 64). The sixty draws per key take as long as memory or longer, and the two overlap by less than
 * half. A filter with many empty cells is slower still: nearly all draws find an empty cell, and
 * all 16 P draws that are allowed are made, 160 lines. Skipping draws by chance, from the known
 * share of empty cells, would not help: it takes as many more draws once a cell is due. Drawing
 * side by side within a line, as SBF does, would change the verdicts of saved filters. */
#define NO_VICTIMS /* lower() prefetches those of the next key */
#include "filter/stable/ibf.h"

#define TRIES_EXPECTED 6 /* 5.6 in the steady state */

static bool plan(struct config *c, struct shape *s, struct weir_error *error)
{
    if (!plan_ibf(c, s, true, error))
        return false;
    s->lines = (uint32_t)(c->k + c->decay * TRIES_EXPECTED);
    return true;
}

/* Try to lower one cell. One draw has two uses: its upper bits select the cell, its lower bits
 * decide whether to accept it. */
static inline bool try_lower(struct cells *cells, struct rng *r)
{
    uint64_t draw = rng_next(r);
    uint64_t at = bits_scale(draw, cells->n);
    uint64_t value = cells_get(cells, at);
    bool taken = (value != 0) & ((uint32_t)draw * value <= UINT32_MAX);

    cells_set(cells, at,
              (uint32_t)value - taken); /* always written: a branch would be mispredicted */
    return taken;
}

/* The draws of the next key are known already. With each draw, the one of the same number is
 * prefetched for the next key, so that memory is always busy: as many as the steady state needs,
 * and more while few draws find a cell. */
static inline void lower(weir_filter *w, const struct arrival *a, uint32_t width)
{
    struct cells cells = {w->cells, w->shape.cells, width};
    struct rng r = arrival_rng(w, a), next = rng_at(w->config.seed, a->number + 1);
    uint64_t decay = w->config.decay, most = decay * STABLE_TRIES;
    uint64_t expected = decay * TRIES_EXPECTED, left = decay, tries = 0;

    for (; left > 0 && tries < most; tries++) {
        if (tries < expected || 2 * left > decay)
            cells_prefetch(&cells, rng_below(&next, cells.n));
        left -= try_lower(&cells, &r);
    }
    for (; tries < expected; tries++)
        cells_prefetch(&cells, rng_below(&next, cells.n));
}

static inline void insert(weir_filter *w, const struct arrival *a, bool seen)
{
    uint32_t level = class_of(w, a->key, (1u << w->config.cell) - 1);

    (void)seen;
    if (w->config.cell == CELL_DEFAULT)
        lower(w, a, CELL_DEFAULT); /* compiled as a constant */
    else
        lower(w, a, w->shape.width);
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
    .is.parameters = IBF_PARAMETERS,
    .merge = merge,
    FILTER_FUNCTIONS,
};
