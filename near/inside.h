/* inside.h - what the files of near/ share: the memory of a detector, and its constants. */
#ifndef WEIR_NEAR_INSIDE_H
#define WEIR_NEAR_INSIDE_H

#include <stdbool.h>

#include <weir/near.h>

#include "near/text.h"

#define NEAR_BINS 256
#define NEAR_BANDS 12
#define NEAR_SHINGLE 5 /* default */
#define LINE 16        /* entries; a line is 64 bytes */
#define SIGNATURE (NEAR_BINS / 32)

/* An entry of a line is a fingerprint of the band in the high bits, and a position in the ring
 * plus 1 in the low bits; 0 is an empty entry. A position that was overwritten makes its
 * entries stale. They cost a comparison that fails. */
struct weir_near {
    struct weir_near_options options;
    uint64_t seed;      /* hashed */
    uint32_t rows;      /* bins per band */
    uint32_t need;      /* equal bins of a near-duplicate */
    uint32_t ring;      /* positions */
    uint32_t positions; /* mask of the low bits */
    uint32_t lines;
    struct weir_near_stats stats; /* only those that are counted */
    uint64_t head;                /* texts that were remembered; modulo ring: the next position */
    uint64_t *signature;          /* SIGNATURE words per position */
    uint64_t *record;             /* number per position */
    uint32_t *line;               /* LINE entries each, aligned */
    void *line_memory;
};

static inline uint32_t near_used(const weir_near *n)
{
    return n->head < n->ring ? (uint32_t)n->head : n->ring;
}

/* Lines of a detector with this many bytes of memory. */
uint64_t near_lines(uint64_t memory);

/* Bins that are equal in two signatures; the Jaccard similarity that it indicates; and the number
 * that indicates at least this one. */
int near_equal_bins(const uint64_t *a, const uint64_t *b);
double near_equal_jaccard(int equal);
uint32_t near_equal_needed(double jaccard);

/* Write a message, if error is not NULL. Returns the status. */
enum weir_status near_fail(struct weir_error *error, enum weir_status status, const char *format,
                           ...) __attribute__((format(printf, 3, 4)));

#endif
