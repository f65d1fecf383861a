/* theory/stable.h - the stable point of SBF and the IBF family.
 *
 * Per arrival K of m cells are raised to the arrival's class (1..M) and P are
 * lowered by one. With T_i the share of cells at i or more, A_i the share of
 * arrivals of class i or more and r = P/K, the stream of fresh keys settles at
 *
 *     T_(M+1) = 0,   T_i = (A_i + r T_(i+1)) / (A_i + r)
 *
 * (flow up across i: A_i (1 - T_i); flow down: r (T_i - T_(i+1))). SBF is the
 * case A_i = 1. With H, where a cell of value i is lowered with a chance
 * proportional to 1/i, the flow down is r V_i / (i H), H = sum of V_j / j. H is
 * also the chance that a draw finds a cell to lower. Draws are limited, so the
 * flow is less where H is small: at a low fill, with wide cells, or drained by a P
 * above K times the mean class, where the law without a limit is empty. */
#ifndef WEIR_THEORY_STABLE_H
#define WEIR_THEORY_STABLE_H

#include <stdbool.h>
#include <stdint.h>

#define STABLE_TRIES 16    /* draws that H allows per cell to lower, for all together */
#define STABLE_CLASSES 255 /* the most that cells of 8 bits can tell apart */

/* mix[i] = share of arrivals of class i, for i = 1..top; mix[0] is not read.
 * law[i] becomes the share of cells of value i, for i = 0..top. */
void stable_law(const double *mix, uint32_t top, double k, double decay, double *law);
void stable_law_h(const double *mix, uint32_t top, double k, double decay, double *law);

/* Draws of H per arrival, where one finds a cell to lower with this chance. */
double stable_draws(double decay, double chance);

/* The share of empty cells of SBF. */
double stable_empty(uint32_t top, double k, double decay, double cells);

/* The error of SBF. */
double stable_error(uint32_t top, uint64_t k, double decay, double cells);

/* The error of IBF-2C by the formula that Bhoraskar et al. 2013 print: 1-A-B in place
 * of 1-A+B makes the share of cells at M/2, and of all below it but 0, nothing. It
 * is far too low; the law above is what their chain gives. */
double stable_printed_2c(uint32_t top, uint64_t k, double decay);

/* The error of a filter whose cells are in use to this share. */
double stable_error_at(double fill, uint64_t k);

/* The smallest P that keeps SBF's error at or under this (Deng and Rafiei's
 * formula, rounded up). */
uint64_t stable_decay(double error, uint32_t top, uint64_t k, double cells);

/* The K that forgets slowest at this error; with cells of one bit, the least K times P. */
uint64_t stable_best_k(double error, uint32_t top, double cells);

/* A filter of any kind, but for its K and P, and the classes that come. */
struct stable {
    bool harmonic; /* IBF-H */
    uint32_t top;
    double cells;
    double mix[STABLE_CLASSES + 1]; /* as above */
};

/* All of the top class: no mix has a higher error. */
struct stable stable_worst(bool harmonic, uint32_t top, double cells);

double stable_error_of(const struct stable *s, uint64_t k, double decay);

/* The smallest P that keeps it at or under a bound; the limit if none below does. */
uint64_t stable_least_decay(const struct stable *s, double error, uint64_t k, uint64_t limit);

#endif
