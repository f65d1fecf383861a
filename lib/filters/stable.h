/* stable.h - what SBF and the IBF family share: one array of d-bit cells, of
 * which a key has K, and is seen if none of them is zero. They differ in how
 * high a cell is raised and which cells are lowered. */
#ifndef WEIR_STABLE_H
#define WEIR_STABLE_H

#include "filter.h"
#include "theory/stable.h"

static double error_now(const weir *w)
{
    struct cells cells = plane(w, 0);

    return stable_error_at(cells_fill(&cells), w->config.k);
}

static inline void touch(const weir *w, struct arrival *a)
{
    struct cells cells = plane(w, 0);

    for (uint32_t i = 0; i < w->config.k; i++)
        cells_touch(&cells, a->at[i] = place(a->key, i, cells.n));
}

static bool probe(const weir *w, const struct arrival *a)
{
    struct cells cells = plane(w, 0);
    bool seen = true;

    for (uint32_t i = 0; i < w->config.k; i++)
        seen &= cells_get(&cells, a->at[i]) != 0;
    return seen;
}

static inline void raise(weir *w, const struct arrival *a, uint32_t level)
{
    struct cells cells = plane(w, 0);

    for (uint32_t i = 0; i < w->config.k; i++)
        cells_raise(&cells, a->at[i], level);
}

/* Two proxies' summaries become one: a cell is as alive as in the livelier. */
static void merge(weir *into, const weir *from)
{
    struct cells a = plane(into, 0), b = plane(from, 0);

    cells_raise_all(&a, &b);
}

#endif
