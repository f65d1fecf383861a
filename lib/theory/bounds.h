/* theory/bounds.h - lower bounds that no filter can beat, and the bounds of Count-Min.
 *
 * A filter without false negatives needs log2(1/e) bits per key. A filter that misses a share d of
 * the repeats needs, for uniform queries over a fixed set of keys,
 *
 *     bits per key >= (1-d) log2((1-d)/e) + d log2(d/(1-e))
 *
 * This bound does not hold for skewed streams or for repeats of recent keys. For those, compare
 * with an exact LRU list of log2(1/e) bits per key.
 *
 * Count-Min with w counters per row and a total count of N: the other keys add N/w to a counter on
 * average, so by Markov's inequality an estimate is more than (e/w)N too high with probability 1/e.
 * With d independent rows, the minimum is within the bound with probability 1 - e^-d (cormode2005).
 * Rows that share a cache line are not independent; for them only the bound of one row holds, 1 -
 * 1/e. */
#ifndef WEIR_THEORY_BOUNDS_H
#define WEIR_THEORY_BOUNDS_H

#include "theory/stream_model.h"

/* The lowest possible false-negative rate; NAN unless 0 < error < 1. */
double bound_fnr(double bits, double keys, double error);

/* The false-negative rate of an exact list of the latest `keys` keys. */
double bound_lru_fnr(const struct stream_model *m, double keys);

/* Counters per row for an error of this share of N, and rows for a confidence. */
double count_min_width(double error);
double count_min_depth(double confidence);

/* The bound of the error at a total count, and the probability that it holds. */
double count_min_error(uint64_t width, uint64_t total);
double count_min_confidence(uint64_t independent_rows);

#endif
