/* literal_pairs.c - see literal_pairs.h. */
#include "papers/literal_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

static uint32_t k_for(size_t cells, size_t keys)
{
    uint32_t k = (uint32_t)((double)cells / (double)keys * M_LN2);

    return k ? k : 1;
}

struct pairs pairs_open(size_t memory, size_t set, size_t window, bool own_places, uint64_t seed)
{
    size_t asked = memory / 2 / 10, members = memory / 2 - asked;
    struct pairs p = {.cells = {asked, members},
                      .k = {k_for(asked, 1000), k_for(members, set)},
                      .window = window,
                      .own_places = own_places,
                      .seed = seed};

    for (int i = 0; i < 4; i++)
        p.bits[i] = calloc(p.cells[i % 2], 1);
    return p;
}

void pairs_close(struct pairs *p)
{
    for (int i = 0; i < 4; i++)
        free(p->bits[i]);
}

static struct rng places(const struct pairs *p, int filter, uint32_t key)
{
    return rng_at(p->seed + (p->own_places ? (uint64_t)filter + 1 : 0), key);
}

static bool has(const struct pairs *p, int filter, uint32_t key)
{
    struct rng r = places(p, filter, key);
    bool all = true;

    for (uint32_t i = 0; i < p->k[filter % 2]; i++)
        all &= p->bits[filter][rng_below(&r, p->cells[filter % 2])];
    return all;
}

static void add(struct pairs *p, int filter, uint32_t key)
{
    struct rng r = places(p, filter, key);

    for (uint32_t i = 0; i < p->k[filter % 2]; i++)
        p->bits[filter][rng_below(&r, p->cells[filter % 2])] = 1;
}

/* DABF.lookup in the paper. */
static bool lookup(struct pairs *p, int pair, uint32_t key, bool member)
{
    if (has(p, 2 * pair, key))
        return has(p, 2 * pair + 1, key);
    p->calls++;
    add(p, 2 * pair, key);
    if (member)
        add(p, 2 * pair + 1, key);
    return member;
}

bool pairs_lookup(struct pairs *p, uint32_t key, bool member)
{
    size_t window = p->records++ / p->window;
    int older = window ? (int)((window - 1) % 2) : 0;
    bool said = lookup(p, older, key, member);

    if (window) {
        lookup(p, !older, key, member);
        if (p->records % p->window == 0)
            for (int i = 0; i < 2; i++)
                memset(p->bits[2 * older + i], 0, p->cells[i]);
    }
    return said;
}
