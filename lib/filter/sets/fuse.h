/* fuse.h - where the fingerprints of a fuse filter lie: fuse.c asks, fuse_part.c builds. */
#ifndef WEIR_FILTER_SETS_FUSE_H
#define WEIR_FILTER_SETS_FUSE_H

#include "filter/filter.h"
#include "filter/sets/prints.h"

/* Parts alike, each of so many segments of so many prints. */
struct fuse_grid {
    uint64_t parts, prints; /* prints: per part */
    uint64_t keys;          /* at most, per part */
    uint64_t starts;        /* segments in which the three of a key can begin */
    uint64_t length;        /* prints per segment */
};

/* For so many keys. */
struct fuse_grid fuse_grid_for(uint64_t capacity);

/* The attempts by which the parts were solved are a byte each, behind all prints. */
static inline uint64_t fuse_attempts_at(const struct fuse_grid *g, uint32_t bits)
{
    return g->parts * g->prints / 8 * bits;
}

/* The three places of a key in its part. */
struct fuse_places {
    uint64_t at[3];
};

/* The digest, times the parts, has the part in its upper half; what is left, `rest`, is as even
 * as the digest, and in the same order: it gives the segment. So the digests of a part in
 * ascending order come segment by segment, and building stays in the cache. Another attempt
 * moves the segments' bounds, and all places in them. */
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

/* The fingerprint: bits of a product, which the places do not tell. */
static inline uint32_t fuse_print(uint64_t digest, uint32_t bits)
{
    return (uint32_t)((digest * RNG_TWIST) >> 32 & prints_mask(bits));
}

/* Memory that solving a part takes. */
uint64_t fuse_scratch(const struct fuse_grid *g);

/* Solve a part for its digests, which are ascending and without repeats. False if they are
 * more than the grid is for, or cannot be solved. */
bool fuse_fill_part(weir_filter *w, uint64_t part, const uint64_t *digests, size_t n,
                    void *scratch);

static inline struct fuse_grid fuse_grid(const weir_filter *w)
{
    const uint64_t *d = w->shape.detail;

    return (struct fuse_grid){d[0], d[1], d[2], d[3], d[4]};
}

#endif
