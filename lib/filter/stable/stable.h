/* stable.h - what SBF and the IBF filters share: cells that are raised and lowered, and the
 * prediction of their error rates. They differ in how high cells are raised, and which are
 * lowered. */
#ifndef WEIR_FILTER_STABLE_STABLE_H
#define WEIR_FILTER_STABLE_STABLE_H

#include "filter/one_array.h"
#include "theory/stable.h"

/* A key of class i, 1..classes, raises its cells to level_of(i, top). */
struct raising {
    uint32_t classes;
    uint32_t (*level_of)(uint32_t class, uint32_t top);
    bool harmonic;
};

bool predict_raising(const struct raising *r, const struct config *c, const struct shape *s,
                     const struct stream_model *m, struct prediction *p);

static inline void raise(weir_filter *w, const struct arrival *a, uint32_t level)
{
    struct cells cells = plane(w, 0);

    for (uint32_t i = 0; i < w->config.k; i++)
        cells_raise(&cells, a->at[i], level);
}

/* Merge the summaries of two proxies: each cell becomes the maximum of both. */
static inline void merge(weir_filter *into, const weir_filter *from)
{
    struct cells a = plane(into, 0), b = plane(from, 0);

    cells_raise_all(&a, &b);
}

#endif
