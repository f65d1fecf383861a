/* fuse.h - the positions of fingerprints in a fuse filter: fuse.c looks them up, fuse_part.c
 * computes them. */
#ifndef WEIR_FILTER_SETS_FUSE_H
#define WEIR_FILTER_SETS_FUSE_H

#include "filter/filter.h"
#include "filter/sets/prints.h"

/* The parts of a filter. All have the same size: a number of segments of `length` fingerprints. */
struct fuse_grid {
    uint64_t parts, prints; /* fingerprints per part */
    uint64_t keys;          /* maximum keys per part */
    uint64_t starts;        /* segments in which the three positions of a key can begin */
    uint64_t length;        /* fingerprints per segment */
};

/* The grid for this many keys. */
struct fuse_grid fuse_grid_for(uint64_t capacity);

/* The attempt number by which each part was solved is one byte, after all fingerprints. */
static inline uint64_t fuse_attempts_at(const struct fuse_grid *g, uint32_t bits)
{
    return g->parts * g->prints / 8 * bits;
}

/* The three positions of a key in its part. */
struct fuse_places {
    uint64_t at[3];
};

/* The upper half of digest * parts is the part. The lower half, `rest`, is as uniform as the digest
 * and in the same order; it determines the segment. Digests in ascending order therefore visit the
 * segments in order, and building stays in the cache. Another attempt moves the boundaries of
 * segments and all positions. */
static inline struct fuse_places fuse_places(const struct fuse_grid *g, uint64_t digest,
                                             uint64_t rest, uint32_t attempt)
{
    uint64_t first = bits_scale(rest + attempt * RNG_STEP, g->starts) * g->length;
    uint64_t mixed = hash_word(digest, attempt, 3);
    const uint64_t field = (UINT64_C(1) << 21) - 1;

    return (struct fuse_places){{
        first + ((mixed & field) * g->length >> 21),
        first + g->length + ((mixed >> 21 & field) * g->length >> 21),
        first + 2 * g->length + ((mixed >> 42 & field) * g->length >> 21),
    }};
}

/* The fingerprint: bits of a product that do not follow from the positions. */
static inline uint32_t fuse_print(uint64_t digest, uint32_t bits)
{
    return (uint32_t)((digest * RNG_TWIST) >> 32 & prints_mask(bits));
}

/* Temporary memory for solving a part. */
uint64_t fuse_scratch(const struct fuse_grid *g);

/* Solve a part for its digests, which are ascending and distinct. Returns false if there are too
 * many, or if they cannot be solved. */
bool fuse_fill_part(weir_filter *w, uint64_t part, const uint64_t *digests, size_t n,
                    void *scratch);

static inline struct fuse_grid fuse_grid(const weir_filter *w)
{
    const uint64_t *d = w->shape.detail;

    return (struct fuse_grid){d[0], d[1], d[2], d[3], d[4]};
}

#endif
