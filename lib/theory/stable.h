/* theory/stable.h - SBF (deng2006) and the IBF filters (bhoraskar2013).
 *
 * Each arrival raises K of m cells to its class (1..M) and lowers P cells by one. `ibf-h` chooses
 * the cells to lower with probability proportional to 1/value. There are three models: the steady
 * state and the rates over a run (stable.c), and the history of one cell (stable_cell.c). */
#ifndef WEIR_THEORY_STABLE_H
#define WEIR_THEORY_STABLE_H

#include "theory/stream_model.h"

#define STABLE_TRIES 16    /* draws that ibf-h allows per cell to lower, all together */
#define STABLE_CLASSES 255 /* values of an 8-bit cell above 0 */

/* ---- the steady state on fresh keys ----
 *
 * Let T_i be the share of cells at i or more, A_i the share of arrivals of class i or more, and r =
 * P/K. Flow up across i is A_i (1 - T_i), flow down is r (T_i - T_(i+1)), so
 *
 *     T_(M+1) = 0,   T_i = (A_i + r T_(i+1)) / (A_i + r)
 *
 * SBF is the case A_i = 1. For ibf-h the flow down is r V_i / (i H), with V_i the share of cells of
 * value i and H = sum of V_j / j. H is also the probability that a draw finds a cell to lower.
 * Draws are limited, so the flow is less if H is small: at a low fill, with wide cells, or if P is
 * above K times the mean class. */

/* mix[i] = share of arrivals of class i, for i = 1..top; mix[0] is not read. Sets shares[i] to the
 * share of cells of value i, for i = 0..top. */
void stable_shares(const double *mix, uint32_t top, double k, double decay, double *shares);
void stable_shares_h(const double *mix, uint32_t top, double k, double decay, double *shares);

/* Draws of ibf-h per arrival if a draw finds a cell to lower with this probability. */
double stable_draws(double decay, double chance);

/* SBF: the share of empty cells, and the error. */
double stable_empty(uint32_t top, double k, double decay, double cells);
double stable_error(uint32_t top, uint64_t k, double decay, double cells);

/* The error for a given share of cells in use. */
double stable_error_at(double fill, uint64_t k);

/* The error of IBF-2C by the formula printed in bhoraskar2013. The formula has an error: 1-A-B
 * instead of 1-A+B makes the share of cells at M/2, and of all below it except 0, vanish. The
 * result is far too low. */
double stable_printed_2c(uint32_t top, uint64_t k, double decay);

/* SBF: the smallest P within an error (the formula of deng2006, rounded up). */
uint64_t stable_decay(double error, uint32_t top, uint64_t k, double cells);

/* SBF: the K that keeps keys longest at an error. With one-bit cells, this is the smallest K times
 * P. */
uint64_t stable_best_k(double error, uint32_t top, double cells);

/* A filter without its K and P, and the classes of the stream. */
struct stable {
    bool harmonic; /* ibf-h */
    uint32_t top;
    double cells;
    double mix[STABLE_CLASSES + 1]; /* as above */
};

/* All arrivals are of the top class: the mix with the highest error. */
struct stable stable_worst(bool harmonic, uint32_t top, double cells);

double stable_error_of(const struct stable *s, uint64_t k, double decay);

/* The smallest P below `limit` within an error; `limit` if there is none. */
uint64_t stable_min_decay(const struct stable *s, double error, uint64_t k, uint64_t limit);

/* ---- the history of one cell ----
 *
 * A visit of class c raises a cell to c; a lowering takes one off. So a cell's value is the
 * maximum, over all its visits, of c minus the lowerings since, or 0. A cell is empty now if every
 * visit of class c was followed by at least c lowerings. Going back in time, count lowerings i = 0,
 * 1, ... M until a visit of a class above i proves that the cell is not empty:
 *
 *     du_i/ds = b_(i-1) u_(i-1) - b_i u_i - (sum over c > i of g_c(s)) u_i
 *
 * u_i is the probability of count i at age s without such a visit, and b = P/m. What reaches the
 * filter's age is empty, because the filter started empty. So one chain gives the steady state and
 * the way to it.
 *
 * ibf-h lowers a cell of value v at rate R/v. Lowering keeps the order of values, so the same
 * equation holds with b_i = R/(i+1): the smallest value that would still be above 0 rises from i+1
 * to i+2 at this rate (Siegmund's dual, 1976). R is the number of draws per arrival and cell, and
 * depends on the cells.
 *
 * The number of keys per cell is Poisson. Over all cells, no visit of class c occurs within s with
 * probability e^(-K D_c(s) / m), where D_c is the number of distinct keys of that class among s
 * arrivals (stream_model.h). So g_c = K D_c'(s) / m. This is exact and needs no sum over kinds of
 * cells.
 *
 * A key of class c that repeats after g arrivals finds one of its cells empty if the cell was
 * lowered c times within g and no other key raised it: the sum over i >= c of u_i(g) h_i(g), where
 * h_i(g) is the probability that no earlier visit stops the chain. */

/* The parameters of a filter: m cells with values up to M. */
struct cell_filter {
    double cells;
    uint32_t top;
    double k, decay;
    bool harmonic; /* ibf-h */
};

/* The keys of a stream that raise cells to the same level. All classes are parts of one stream and
 * have the same bins (model_part). */
struct key_class {
    uint32_t level;
    struct stream_model keys;
};

/* The chain on a grid of ages, finer at young ages. The same grid serves for times since the filter
 * was empty. Nothing changes after the last of them. */
struct cell_history {
    struct cell_filter of;
    uint32_t steps, classes;
    double *age;       /* 0..steps, in arrivals */
    double *distinct;  /* D, by class and age */
    double *fresh;     /* D', likewise */
    double *empty;     /* 0..steps: share of empty cells at that time */
    double *pace;      /* 0..steps: lowerings of a cell of value 1, per arrival */
    double *unvisited; /* by step and count: P(no visit stops the chain in half a step) */
    double *passed;    /* u, by age and count */
};

/* Returns false if out of memory. */
bool history_open(struct cell_history *f, const struct cell_filter *of,
                  const struct key_class *classes, uint32_t n);
void history_close(struct cell_history *f);

/* At time age[now]: set faded[l * (top + 1) + c] to the probability that a cell that its key last
 * raised to c, age[l] ago, is empty, for l = 0..now. */
void history_faded(struct cell_history *f, uint32_t now, double *faded);

/* ---- the rates over a run ----
 *
 * A new key is a false positive at time t with probability (1 - empty(t))^K. This is averaged over
 * the new arrivals, D'(t) dt. A key of class c that repeats at t after a gap g is missed with
 * probability
 *
 *     miss_c(g, t) = 1 - (1 - faded_c(g, t))^K
 *
 * because its cells fade independently. This is averaged over the gaps, -D_c''(g) dg for g < t, and
 * over t. */

/* Set fpr, fnr, fill, error and stable of p, and class_share[i] and class_fnr[i] for classes[i -
 * 1]. Returns false if out of memory. */
bool stable_predict(const struct cell_filter *of, const struct key_class *classes, uint32_t n,
                    struct prediction *p);

#endif
