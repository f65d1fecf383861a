/* counts_value.h - the value of a key of CMS.*: a count-min sketch with 32-bit counters.
 *
 * All sketches have the same seed, so that any two with the same width and depth can be merged.
 * This allows an attacker to choose keys that collide; WEIR.* and BF.* have a seed per key.
 *
 * A sketch from RedisBloom keeps its layout: `depth` rows of `width` counters. The counter of an
 * item in row i is MurmurHash2(item, seed i) modulo the width. */
#ifndef MODULE_COUNTS_VALUE_H
#define MODULE_COUNTS_VALUE_H

#include <weir/sketch.h>

#include "value/value.h"

struct counts_value {
    struct value is;
    weir_sketch *s; /* NULL in a sketch from RedisBloom, which has: */
    uint8_t *cells; /* 32 bits each, little-endian */
    uint64_t total; /* sum of all increments */

    uint64_t width, depth;
};

#define COUNTS_DEPTH_MAX 32

/* NULL with a message. */
struct counts_value *counts_open(uint64_t width, uint64_t depth, uint64_t most,
                                 struct weir_error *error);
void counts_close(struct counts_value *c);

/* Add to the count of an item. Returns the new count; UINT32_MAX after an overflow. */
uint64_t counts_add(struct counts_value *c, struct weir_bytes item, uint64_t amount);

/* out[i].count becomes the count of item i; out[i].error is not used. */
void counts_ask(const struct counts_value *c, const struct weir_bytes *items, size_t n,
                struct weir_estimate *out);
uint64_t counts_total(const struct counts_value *c);

enum counts_merged { COUNTS_MERGED, COUNTS_OVERFLOW, COUNTS_MIXED, COUNTS_NO_MEMORY };

struct counts_source {
    const struct counts_value *counts;
    int64_t weight;
};

/* *out becomes a new sketch, the weighted sum of n sketches of one width and depth. Those without
 * counts may have another layout than the others. */
enum counts_merged counts_merge(struct counts_value **out, const struct counts_source *from,
                                size_t n);

#endif
