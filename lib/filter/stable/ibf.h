/* ibf.h - what the three importance-aware Bloom filters share (Bhoraskar et al. 2013).
 *
 * They are like SBF, but a cell is raised to the class of its key's importance, and the P cells to
 * lower are drawn one by one. An insertion raises cells and never lowers them. (Algorithm 1 as
 * printed would raise an unimportant key's cell to the maximum; the text and the Markov chain
 * contradict it.) */
#ifndef WEIR_FILTER_STABLE_IBF_H
#define WEIR_FILTER_STABLE_IBF_H

#include "filter/stable/stable.h"

/* The parameters of Bhoraskar et al. */
#define K_DEFAULT 5
#define CELL_DEFAULT 3
#define DECAY_DEFAULT 10

#define IBF_TRAITS                                                                                 \
    (WEIR_CAN_OBSERVE | WEIR_CAN_MERGE | WEIR_CAN_IMPORTANCE | WEIR_CAN_RUN_FOREVER |              \
     WEIR_FOR_IMPORTANCE)
#define IBF_PARAMETERS                                                                             \
    (HAS_ALWAYS | HAS(PARAMETER_FPR) | HAS(PARAMETER_K) | HAS(PARAMETER_CELL) |                    \
     HAS(PARAMETER_DECAY) | HAS(PARAMETER_IMPORTANCE))

/* fpr= holds for any mix of importance: it is computed as if all keys were in the top class. */
static bool plan_ibf(struct config *c, struct shape *s, bool harmonic, struct weir_error *error)
{
    if (!config_has(c, PARAMETER_CELL))
        c->cell = CELL_DEFAULT;
    if (!config_has(c, PARAMETER_K))
        c->k = K_DEFAULT;
    if (!config_has(c, PARAMETER_IMPORTANCE))
        c->importance.mode = IMPORTANCE_PERCENTILE;
    shape_planes(s, c, 1, (uint32_t)c->cell);
    struct stable worst = stable_worst(harmonic, (1u << c->cell) - 1, (double)s->cells);

    if (!config_has(c, PARAMETER_DECAY))
        c->decay = DECAY_DEFAULT;
    if (config_has(c, PARAMETER_FPR) && !config_has(c, PARAMETER_DECAY))
        c->decay = stable_min_decay(&worst, c->fpr, c->k, DECAY_MAX);
    double reached = stable_error_of(&worst, c->k, (double)c->decay);
    if (!config_keeps_fpr(c, reached))
        return config_refuse_fpr(c, reached, "leave decay out, or allow more", error);
    s->lines = (uint32_t)(c->k + c->decay);
    return true;
}

/* One class per level, as in IBF-MC and IBF-H. */
static inline uint32_t own_level(uint32_t class, uint32_t top)
{
    (void)top;
    return class;
}

static inline bool predict_by_class(const struct config *c, const struct shape *s,
                                    const struct stream_model *m, bool harmonic,
                                    struct prediction *p)
{
    const struct raising r = {(1u << c->cell) - 1, own_level, harmonic};

    return predict_raising(&r, c, s, m, p);
}

/* ---- lower P cells, each drawn independently: IBF-2C, IBF-MC ---- */

#ifndef NO_VICTIMS
static inline void prefetch_victims(const weir_filter *w, const struct arrival *a)
{
    struct cells cells = plane(w, 0);
    struct rng r = arrival_rng(w, a);

    for (uint32_t i = 0; i < w->config.decay; i++)
        cells_prefetch(&cells, rng_below(&r, cells.n));
}
#endif

static inline void decay(weir_filter *w, const struct arrival *a)
{
    struct cells cells = plane(w, 0);
    struct rng r = arrival_rng(w, a);

    for (uint32_t i = 0; i < w->config.decay; i++)
        cells_lower(&cells, rng_below(&r, cells.n));
}

#endif
