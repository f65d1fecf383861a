/* stable_settings.h - what a filter of the stable family remembers, and K and P for a ceiling on
 * false positives (Bhoraskar et al. 2013 set 20 %), for a known mix of classes.
 *
 * More P than the ceiling asks for only forgets sooner, so for each K it is the least
 * that will do; of those, the K that remembers most keys on a stream without end
 * (stable_remembered). */
#ifndef WEIR_TESTS_PAPERS_STABLE_SETTINGS_H
#define WEIR_TESTS_PAPERS_STABLE_SETTINGS_H

#include "theory/stable.h"
#include "theory/stable_cell.h"

/* The chance to miss a repeat after each of so many gaps, in arrivals, at the end of
 * the stream, for a key that raised its cells to this level. */
bool stable_miss_by_gap(const struct cell_filter *of, const struct key_class *classes, uint32_t n,
                        uint32_t level, const double *gap, double *miss, uint32_t gaps);

/* Keys remembered, once settled: the sum over all ages of the chance to be known
 * beyond that of a key never shown, (1 - miss - error) / (1 - error); classes count by
 * how often they come. 0 if there is no memory. */
double stable_remembered(const struct cell_filter *of, const struct key_class *classes, uint32_t n);

struct settings {
    uint64_t k, decay;
    double error;      /* where it settles */
    double remembered; /* keys; 0 if no K up to the most keeps the ceiling */
};

struct settings stable_settings(const struct stable *s, double error, uint64_t k_most,
                                uint64_t decay_most);

/* Share of cells in use after so many arrivals. */
double history_fill(const struct cell_history *h, double arrivals);

#endif
