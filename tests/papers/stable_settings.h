/* stable_settings.h - how much a filter of the stable family remembers, and the K and P for a
 * maximum false-positive rate (Bhoraskar et al. 2013 use 20 %) and a known mix of classes.
 *
 * A larger P than required only forgets sooner. So each K gets the smallest P that keeps the error
 * rate, and the K is chosen that remembers most keys of an unbounded stream (stable_remembered). */
#ifndef WEIR_TESTS_PAPERS_STABLE_SETTINGS_H
#define WEIR_TESTS_PAPERS_STABLE_SETTINGS_H

#include "theory/stable.h"

/* The probability to miss a repeat after each gap, in records, at the end of the stream, for a key
 * that raised its cells to this level. */
bool stable_miss_by_gap(const struct cell_filter *of, const struct key_class *classes, uint32_t n,
                        uint32_t level, const double *gap, double *miss, uint32_t gaps);

/* Keys remembered in the stable state: the sum over all ages of (1 - miss - error) / (1 - error),
 * the probability to be seen beyond that of an absent key. Classes are weighted by their frequency.
 * 0 if there is no memory. */
double stable_remembered(const struct cell_filter *of, const struct key_class *classes, uint32_t n);

struct settings {
    uint64_t k, decay;
    double error;      /* in the stable state */
    double remembered; /* keys; 0 if no K up to the maximum keeps the error rate */
};

struct settings stable_settings(const struct stable *s, double error, uint64_t k_most,
                                uint64_t decay_most);

/* Share of used cells after n records. */
double history_fill(const struct cell_history *h, double arrivals);

#endif
