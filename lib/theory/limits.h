/* theory/limits.h - what no filter can do better.
 *
 * Zero false negatives: log2(1/e) bits per remembered key. Two-sided, for queries
 * even over a fixed set of keys: with d the share that is missed,
 *
 *     bits per key >= (1-d) log2((1-d)/e) + d log2(d/(1-e))
 *
 * This does not bind on skewed or recent repeats. There an exact list of the latest
 * keys, with log2(1/e) bits for each, is what to compare with. */
#ifndef WEIR_THEORY_LIMITS_H
#define WEIR_THEORY_LIMITS_H

#include "theory/stream_model.h"

/* The least share that is missed; NAN if no error is allowed. */
double limit_fnr(double bits, double keys, double error);

/* What a list of the latest `keys` keys misses. */
double limit_lru(const struct stream_model *m, double keys);

#endif
