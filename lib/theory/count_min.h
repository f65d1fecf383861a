/* count_min.h - how large a Count-Min sketch must be, and what it then promises.
 *
 * With w counters per row and N counted in all, the others add N/w to a counter
 * on average; Markov: more than (e/w)N with chance 1/e. In d rows of their own
 * hash functions: 1 - e^-d that one of them is not that far off (Cormode and
 * Muthukrishnan 2005). Rows that share a line are not independent: what is left
 * is one row's 1 - 1/e. */
#ifndef WEIR_THEORY_COUNT_MIN_H
#define WEIR_THEORY_COUNT_MIN_H

#include <stdint.h>

/* Counters per row for an error of so large a share of N. */
double count_min_width(double error);
/* Rows for that confidence. */
double count_min_depth(double confidence);

/* The bound now, and the chance that it holds. */
double count_min_error(uint64_t width, uint64_t total);
double count_min_confidence(uint64_t independent_rows);

#endif
