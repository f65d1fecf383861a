/* sbf.c - the stable Bloom filter (Deng and Rafiei 2006; the baseline of Bhoraskar et al. 2013 and
 * of Bera et al. 2012).
 *
 * One array of d-bit cells. Each observation lowers P cells, then sets its own K cells to the
 * maximum. A key is seen if none of its K cells is zero. Keys that do not recur fade, so the share
 * of empty cells, and with it the false-positive rate, settles. The P cells are adjacent, from a
 * random start: one cache miss, not P.
 *
 * Cost: K + 1 cache lines per key; 4.6 times the minimum number of bits per remembered key at 1 %
 * error. It takes up to 1.7 times as long as memory needs for as many lines (bench/speed --memory
 * 64). 0.7 of this time are computation. */
#include "filter/stable/stable.h"

#define FPR_DEFAULT 0.01

static bool plan(struct config *c, struct shape *s, struct weir_error *error)
{
    if (!config_has(c, PARAMETER_CELL))
        c->cell = 1;
    shape_planes(s, c, 1, (uint32_t)c->cell);
    uint32_t top = (1u << c->cell) - 1;
    double cells = (double)s->cells, fpr = config_has(c, PARAMETER_FPR) ? c->fpr : FPR_DEFAULT;

    if (!config_has(c, PARAMETER_K))
        c->k = stable_best_k(fpr, top, cells);
    if (!config_has(c, PARAMETER_DECAY))
        c->decay = stable_decay(fpr, top, c->k, cells);
    if (c->decay > s->cells / 2)
        c->decay = s->cells / 2;
    if (c->decay > DECAY_MAX)
        c->decay = DECAY_MAX;
    double reached = stable_error(top, c->k, (double)c->decay, cells);
    if (!config_keeps_fpr(c, reached))
        return config_refuse_fpr(c, reached, "leave k and decay out, or allow more", error);
    s->lines = (uint32_t)(c->k + 1 + c->decay * c->cell / 512);
    return true;
}

static inline uint64_t start_of_run(const weir_filter *w, const struct arrival *a, uint64_t n)
{
    struct rng r = arrival_rng(w, a);

    return rng_below(&r, n);
}

static inline void prefetch_victims(const weir_filter *w, const struct arrival *a)
{
    struct cells cells = plane(w, 0);

    cells_prefetch(&cells, start_of_run(w, a, cells.n));
}

static inline void insert(weir_filter *w, const struct arrival *a, bool seen)
{
    struct cells cells = plane(w, 0);

    (void)seen; /* repeats are refreshed */
    cells_lower_run(&cells, start_of_run(w, a, cells.n), w->config.decay);
    raise(w, a, cells_top(&cells));
}

static uint32_t level_of(uint32_t class, uint32_t top)
{
    (void)class; /* all keys are in one class */
    return top;
}

static bool predict(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p)
{
    bool ok = predict_raising(&(struct raising){1, level_of, false}, c, s, m, p);

    p->paper =
        p->stable; /* Deng and Rafiei's formula is the stationary distribution of this chain */
    return ok;
}

#include "filter/loops.h"

const struct filter_ops filter_sbf = {
    .is.about = {"sbf", "stable Bloom filter: keys that do not recur fade",
                 WEIR_CAN_OBSERVE | WEIR_CAN_MERGE | WEIR_CAN_RUN_FOREVER},
    .is.parameters = HAS_ALWAYS | HAS(PARAMETER_FPR) | HAS(PARAMETER_K) | HAS(PARAMETER_CELL) |
                     HAS(PARAMETER_DECAY),
    .merge = merge,
    FILTER_FUNCTIONS,
};
