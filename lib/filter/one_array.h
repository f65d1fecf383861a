/* one_array.h - functions of filters with one array of d-bit cells. A key has k cells, and is seen
 * if none of them is zero. */
#ifndef WEIR_FILTER_ONE_ARRAY_H
#define WEIR_FILTER_ONE_ARRAY_H

#include "filter/filter.h"
#include "theory/sets.h"

static inline double error_now(const weir_filter *w)
{
    struct cells cells = plane(w, 0);

    return bloom_error_at(cells_fill(&cells), w->config.k);
}

static inline void prefetch(const weir_filter *w, struct arrival *a)
{
    struct cells cells = plane(w, 0);

    for (uint32_t i = 0; i < w->config.k; i++)
        cells_prefetch(&cells, a->at[i] = place(a->key, i, cells.n));
}

static inline bool probe(const weir_filter *w, const struct arrival *a)
{
    struct cells cells = plane(w, 0);
    bool seen = true;

    for (uint32_t i = 0; i < w->config.k; i++)
        seen &= cells_get(&cells, a->at[i]) != 0;
    return seen;
}

#endif
