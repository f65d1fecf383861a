/* fuse_part.c - one part of a fuse filter solved: fingerprints at all places such that the
 * three of each key give its own.
 *
 * Keys are edges of three places each. A place that only one key has is that key's own: the key is
 * put aside, which leaves other places to one key alone, and so on until none is left. Taken
 * back in the opposite order, each key finds its own place still free, and puts there what
 * the other two lack. If some keys are left that have no place alone, all is tried again with
 * other places; a part of a million keys needs 1.0x attempts on average.
 *
 * Of a place is kept how many keys have it, and their digests xor-ed: of one key, the digest. */
#include <string.h>

#include "filter/sets/fuse.h"

#define ATTEMPTS 256

/* What solving takes; one block of memory is shared out. */
struct peeling {
    struct fuse_grid grid;
    uint64_t part;
    uint32_t attempt;
    uint64_t *sums;  /* per place: the digests that have it */
    uint64_t *order; /* digests put aside, */
    uint32_t *alone; /* places to be looked at */
    uint8_t *counts; /* per place */
    uint8_t *own;    /* per digest put aside: which of its three places is its own */
};

uint64_t fuse_scratch(const struct fuse_grid *g)
{
    return (8 + 4 + 1) * g->prints + (8 + 1) * g->keys;
}

/* The largest first: each is on a boundary of its own size. */
static void share_out(struct peeling *p, uint8_t *block)
{
    const struct fuse_grid *g = &p->grid;

    p->sums = (uint64_t *)(void *)block;
    p->order = p->sums + g->prints;
    p->alone = (uint32_t *)(void *)(p->order + g->keys);
    p->counts = (uint8_t *)(p->alone + g->prints);
    p->own = p->counts + g->prints;
}

static struct fuse_places places_of(const struct peeling *p, uint64_t digest)
{
    return fuse_places(&p->grid, digest, digest * p->grid.parts, p->attempt);
}

/* False if a place is wanted by more keys than can be counted. */
static bool lay_out(struct peeling *p, const uint64_t *digests, size_t n)
{
    bool counted = true;

    memset(p->sums, 0, (size_t)(8 * p->grid.prints));
    memset(p->counts, 0, (size_t)p->grid.prints);
    for (size_t i = 0; i < n; i++) {
        struct fuse_places at = places_of(p, digests[i]);

        for (int j = 0; j < 3; j++) {
            p->sums[at.at[j]] ^= digests[i];
            counted &= ++p->counts[at.at[j]] != 0;
        }
    }
    return counted;
}

/* Put the key aside that has this place alone; others may be alone after. */
static size_t put_aside(struct peeling *p, uint64_t place, size_t aside, size_t waiting)
{
    uint64_t digest = p->sums[place];
    struct fuse_places at = places_of(p, digest);

    p->order[aside] = digest;
    for (int j = 0; j < 3; j++) {
        uint64_t other = at.at[j];

        if (other == place)
            p->own[aside] = (uint8_t)j;
        p->sums[other] ^= digest;
        if (--p->counts[other] == 1)
            p->alone[waiting++] = (uint32_t)other;
    }
    return waiting;
}

/* How many could be put aside. Each place is alone once, so the list is long enough. */
static size_t peel(struct peeling *p)
{
    size_t aside = 0, waiting = 0;

    for (uint64_t start = 0; start < p->grid.prints; start++) {
        if (p->counts[start] == 1)
            p->alone[waiting++] = (uint32_t)start;
        while (waiting > 0) {
            uint64_t place = p->alone[--waiting];

            if (p->counts[place] == 1)
                waiting = put_aside(p, place, aside++, waiting);
        }
    }
    return aside;
}

static void assign(const struct peeling *p, weir_filter *w, size_t n)
{
    uint32_t bits = (uint32_t)w->config.bits;
    uint64_t first = p->part * p->grid.prints;

    while (n-- > 0) {
        struct fuse_places at = places_of(p, p->order[n]);
        uint32_t value = fuse_print(p->order[n], bits);

        for (int j = 0; j < 3; j++)
            if (j != p->own[n])
                value ^= prints_get(w->cells, bits, first + at.at[j]);
        prints_set(w->cells, bits, first + at.at[p->own[n]], value);
    }
}

bool fuse_fill_part(weir_filter *w, uint64_t part, const uint64_t *digests, size_t n, void *scratch)
{
    struct peeling p = {.grid = fuse_grid(w), .part = part};

    if (n > p.grid.keys)
        return false;
    share_out(&p, scratch);
    for (p.attempt = 0; p.attempt < ATTEMPTS; p.attempt++) {
        if (lay_out(&p, digests, n) && peel(&p) == n) {
            assign(&p, w, n);
            w->cells[fuse_attempts_at(&p.grid, (uint32_t)w->config.bits) + part] =
                (uint8_t)p.attempt;
            return true;
        }
    }
    return false;
}
