/* fuse_part.c - solves one part of a fuse filter: computes fingerprints for all positions so that
 * the three of each key XOR to the key's own.
 *
 * Keys are hyperedges of three positions. If a position belongs to only one key, that key is
 * peeled: it is pushed on a stack, which leaves other positions to a single key, and so on until
 * no key is left. The stack is then processed from the top. The position that a key was peeled by
 * is still unassigned, and gets the value that the other two lack. If some keys cannot be peeled,
 * everything is repeated with other positions. A part of a million keys needs 1.0x attempts on
 * average.
 *
 * For each position, the number of its keys and the XOR of their digests is kept. With one key
 * left, the XOR is that key's digest. */
#include <string.h>

#include "filter/sets/fuse.h"

#define ATTEMPTS 256

/* Temporary memory, in one block. */
struct peeling {
    struct fuse_grid grid;
    uint64_t part;
    uint32_t attempt;
    uint64_t *sums;  /* for each position: the XOR of its digests */
    uint64_t *order; /* the stack of peeled digests */
    uint32_t *alone; /* positions to be examined */
    uint8_t *counts; /* keys per position */
    uint8_t *own;    /* for each peeled digest: by which of its three positions */
};

uint64_t fuse_scratch(const struct fuse_grid *g)
{
    return (8 + 4 + 1) * g->prints + (8 + 1) * g->keys;
}

/* The largest types first, so that each array is aligned. */
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

/* Returns false if a position has more keys than can be counted. */
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

/* Peel the key that is alone in this position. Others may be alone afterwards. */
static size_t peel_key(struct peeling *p, uint64_t place, size_t peeled, size_t waiting)
{
    uint64_t digest = p->sums[place];
    struct fuse_places at = places_of(p, digest);

    p->order[peeled] = digest;
    for (int j = 0; j < 3; j++) {
        uint64_t other = at.at[j];

        if (other == place)
            p->own[peeled] = (uint8_t)j;
        p->sums[other] ^= digest;
        if (--p->counts[other] == 1)
            p->alone[waiting++] = (uint32_t)other;
    }
    return waiting;
}

/* Returns the number of keys peeled. Each position becomes single once, so the list is long
 * enough. */
static size_t peel(struct peeling *p)
{
    size_t peeled = 0, waiting = 0;

    for (uint64_t start = 0; start < p->grid.prints; start++) {
        if (p->counts[start] == 1)
            p->alone[waiting++] = (uint32_t)start;
        while (waiting > 0) {
            uint64_t place = p->alone[--waiting];

            if (p->counts[place] == 1)
                waiting = peel_key(p, place, peeled++, waiting);
        }
    }
    return peeled;
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
