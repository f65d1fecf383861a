/* theory/stable_run.h - what SBF and the IBF family do over a whole run.
 *
 * A new key is taken for seen at time t with chance (1 - empty(t))^K: averaged over
 * the new arrivals, D'(t) dt of them. A key of class c that comes again at t after a
 * gap g is missed unless none of its K cells is empty:
 *
 *     miss_c(g, t) = 1 - (1 - forgotten_c(g, t))^K
 *
 * (its cells have their own other keys each, so they fade independently), averaged
 * over the gaps, -D_c''(g) dg of them for g < t, and over t (model.h, fade.h). */
#ifndef WEIR_THEORY_STABLE_RUN_H
#define WEIR_THEORY_STABLE_RUN_H

#include "theory/stable_cell.h"

/* Fill in fpr, fnr, fill, error and stable of p, and class_share[i] and class_fnr[i]
 * for classes[i - 1], of which there are n; all classes are of one stream. False if
 * there is no memory. */
bool stable_run(const struct fading *of, const struct fade_class *classes, uint32_t n,
                struct prediction *p);

/* The chance to miss a repeat after each of so many gaps, in arrivals, at the end of
 * the stream, for a key that raised its cells to this level. */
bool stable_miss_by_gap(const struct fading *of, const struct fade_class *classes, uint32_t n,
                        uint32_t level, const double *gap, double *miss, uint32_t gaps);

/* Keys remembered, once settled: the sum over all ages of the chance to be known
 * beyond that of a key never shown, (1 - miss - error) / (1 - error); classes count by
 * how often they come. 0 if there is no memory. */
double stable_remembered(const struct fading *of, const struct fade_class *classes, uint32_t n);

#endif
