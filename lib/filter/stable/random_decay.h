/* random_decay.h - lower P cells, each drawn independently (IBF-2C, IBF-MC). */
#ifndef WEIR_FILTER_STABLE_RANDOM_DECAY_H
#define WEIR_FILTER_STABLE_RANDOM_DECAY_H

#include "filter/stable/ibf.h"

static bool plan(struct config *c, struct shape *s, struct weir_error *error)
{
    return plan_ibf(c, s, false, error);
}

static inline void prefetch_victims(const weir_filter *w, const struct arrival *a)
{
    struct cells cells = plane(w, 0);
    struct rng r = arrival_rng(w, a);

    for (uint32_t i = 0; i < w->config.decay; i++)
        cells_prefetch(&cells, rng_below(&r, cells.n));
}

static inline void decay(weir_filter *w, const struct arrival *a)
{
    struct cells cells = plane(w, 0);
    struct rng r = arrival_rng(w, a);

    for (uint32_t i = 0; i < w->config.decay; i++)
        cells_lower(&cells, rng_below(&r, cells.n));
}

#endif
