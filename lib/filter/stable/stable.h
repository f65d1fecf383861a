/* stable.h - what SBF and the IBF family share: cells that are raised and
 * lowered. They differ in how high and which. */
#ifndef WEIR_FILTER_STABLE_STABLE_H
#define WEIR_FILTER_STABLE_STABLE_H

#include "filter/one_array.h"
#include "filter/stable/stable_predict.h"
#include "theory/stable.h"

static inline void raise(weir_filter *w, const struct arrival *a, uint32_t level)
{
    struct cells cells = plane(w, 0);

    for (uint32_t i = 0; i < w->config.k; i++)
        cells_raise(&cells, a->at[i], level);
}

/* Two proxies' summaries become one: a cell is as alive as in the livelier. */
static void merge(weir_filter *into, const weir_filter *from)
{
    struct cells a = plane(into, 0), b = plane(from, 0);

    cells_raise_all(&a, &b);
}

#endif
