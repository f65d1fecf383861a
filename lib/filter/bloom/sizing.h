/* sizing.h - memory=, capacity=, fpr= and k= of Bloom filters: complete those that are not given.
 */
#ifndef WEIR_FILTER_BLOOM_SIZING_H
#define WEIR_FILTER_BLOOM_SIZING_H

#include "filter/config.h"
#include "theory/sets.h"

#define K_DEFAULT 4

static void choose_memory(struct config *c, uint64_t width)
{
    double cells = (double)c->capacity / bloom_load(c->fpr, c->k);

    c->memory = config_memory(cells + 1, width);
}

static uint64_t choose_k(const struct config *c, uint64_t width, bool sized_by_keys)
{
    if (config_has(c, PARAMETER_K))
        return c->k;
    if (config_has(c, PARAMETER_CAPACITY) && !sized_by_keys)
        return bloom_best_k((double)(c->memory / width), (double)c->capacity);
    return config_has(c, PARAMETER_FPR) ? bloom_best_k_for(c->fpr) : K_DEFAULT;
}

/* Complete the spec for cells of this width. capacity= and fpr= determine the memory, memory= and
 * capacity= determine k, and memory= and fpr= determine the capacity. */
static bool size_by_capacity(struct config *c, uint64_t width, struct weir_error *error)
{
    bool keys = config_has(c, PARAMETER_CAPACITY), limited = config_has(c, PARAMETER_FPR);
    bool sized_by_keys = keys && limited && !config_has(c, PARAMETER_MEMORY);

    c->k = choose_k(c, width, sized_by_keys);
    if (sized_by_keys)
        choose_memory(c, width);
    if (!limited)
        return true;
    double cells = (double)(c->memory / width);
    if (!keys)
        c->capacity = config_at_most(cells * bloom_load(c->fpr, c->k), COUNT_MAX);
    if (c->capacity == 0)
        c->capacity = 1; /* rejected below */
    double reached = bloom_error(cells, (double)c->capacity, c->k);
    return config_keeps_fpr(c, reached) ||
           config_refuse_fpr(c, reached, "give it more memory or less capacity", error);
}

#endif
