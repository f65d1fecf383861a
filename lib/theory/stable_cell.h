/* theory/stable_cell.h - one cell of SBF or the IBF family, looked at backwards.
 *
 * A visit of class c raises a cell to c, a lowering takes one off: so its value is
 * the greatest c minus the lowerings since, over all visits that it had, or 0.
 * It is empty now if, going back from now, every visit of class c lies behind
 * at least c lowerings. Going back we count lowerings, i = 0, 1, ... M, until a
 * visit of a class above i proves the cell not to be empty:
 *
 *     du_i/ds = b_(i-1) u_(i-1) - b_i u_i - (sum over c > i of g_c(s)) u_i
 *
 * with u_i the chance to be at i at age s and not stopped, and b = P/m. What is
 * not stopped by the age of the filter, which began empty, is empty: one chain
 * gives the way to the stable point and the point itself.
 *
 * With H a cell of value v is lowered at a rate R/v. Lowering keeps the order of
 * values, so the same holds with b_i = R/(i+1): the least value that would still
 * be left goes up from i+1 to i+2 that often (Siegmund's dual, 1976). R is the
 * number of draws per arrival and cell, and follows from the cells themselves.
 *
 * Cells are unequal: each has its own keys. Their number is Poisson, so over all
 * cells the chance of no visit of class c within s is e^(-K D_c(s) / m), with D_c
 * the distinct keys of that class among s arrivals (stream_model.h): g_c = K D_c'(s) / m
 * above. This is exact, and needs no sum over kinds of cells.
 *
 * A key of class c that comes again after g arrivals finds one of its cells empty
 * if the cell was lowered c times within g, and is empty of others: that is u_i(g),
 * i >= c, times the chance h_i(g) not to be stopped later. */
#ifndef WEIR_THEORY_STABLE_CELL_H
#define WEIR_THEORY_STABLE_CELL_H

#include "theory/stream_model.h"

/* What of a filter matters: m cells with values up to M. */
struct cell_filter {
    double cells;
    uint32_t top;
    double k, decay;
    bool harmonic; /* IBF-H */
};

/* The keys of a stream that raise cells to the same level: one of its parts, which
 * have the same bins all (model_part). */
struct key_class {
    uint32_t level;
    struct stream_model keys;
};

/* The chain on a grid of ages, finer where young. The same grid serves for times
 * since the filter was empty; after the last of them nothing changes. */
struct cell_history {
    struct cell_filter of;
    uint32_t steps, classes;
    double *age;       /* 0..steps, in arrivals */
    double *distinct;  /* D, per class and age */
    double *fresh;     /* D', likewise */
    double *empty;     /* 0..steps: share of empty cells at that time */
    double *pace;      /* 0..steps: lowerings of a cell of value 1, per arrival */
    double *unvisited; /* per step and count: no visit stops it for half of the step */
    double *passed;    /* u, per age and count */
};

/* For as many arrivals as the stream has. False if there is no memory. */
bool history_open(struct cell_history *f, const struct cell_filter *of,
                  const struct key_class *classes, uint32_t n);
void history_close(struct cell_history *f);

/* At time age[now]: forgotten[l * (top + 1) + c] becomes the chance that a cell
 * last raised by its key age[l] ago, to c, is empty, for l = 0..now. */
void history_forgotten(struct cell_history *f, uint32_t now, double *forgotten);

#endif
