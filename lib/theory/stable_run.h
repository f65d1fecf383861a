/* theory/stable_run.h - what SBF and the IBF family do over a whole run.
 *
 * A new key is taken for seen at time t with chance (1 - empty(t))^K: averaged over
 * the new arrivals, D'(t) dt of them. A key of class c that comes again at t after a
 * gap g is missed unless none of its K cells is empty:
 *
 *     miss_c(g, t) = 1 - (1 - forgotten_c(g, t))^K
 *
 * (its cells have their own other keys each, so they fade independently), averaged
 * over the gaps, -D_c''(g) dg of them for g < t, and over t (stream_model.h, stable_cell.h). */
#ifndef WEIR_THEORY_STABLE_RUN_H
#define WEIR_THEORY_STABLE_RUN_H

#include "theory/stable_cell.h"

/* Fill in fpr, fnr, fill, error and stable of p, and class_share[i] and class_fnr[i]
 * for classes[i - 1], of which there are n; all classes are of one stream. False if
 * there is no memory. */
bool stable_run(const struct cell_filter *of, const struct key_class *classes, uint32_t n,
                struct prediction *p);

#endif
