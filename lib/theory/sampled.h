/* theory/sampled.h - where RSBF, BSBF, BSBFSD and RLBSBF settle.
 *
 * x = fill of one of the k arrays, X = x^k = the chance to take a new key for
 * seen. On a stream of fresh keys, per arrival and times 1/s:
 *
 *   BSBF    dx = (1-x) - (1-X) x      stable where 1 = x + x^2 + ... + x^k
 *   BSBFSD  dx = (1-x) - (1-X) x/k    not stable: x creeps to 1
 *   RLBSBF  dx = (1-x) - (1-X) x^2    stable where 1 = x^2 + ... + x^(k+1)
 *   RSBF    dx = (1-x) up to arrival s, at 1 - 1/e; then BSBF's, times s/i;
 *           then 0
 *
 * (a zero bit among the k always leads to an insertion, hence the gain 1-x). */
#ifndef WEIR_THEORY_SAMPLED_H
#define WEIR_THEORY_SAMPLED_H

#include <stdint.h>

double sampled_error_bsbf(uint64_t k);
double sampled_error_rlbsbf(uint64_t k);
/* The highest it gets, on the way. */
double sampled_error_rsbf(uint64_t k);
double sampled_error_rsbf_tables(uint64_t k);

#endif
