/* theory/sampled.h - RSBF, BSBF, BSBFSD and RLBSBF: k arrays of s bits.
 *
 * Where they settle. x = fill of one array, X = x^k = the chance to take a new
 * key for seen. On a stream of fresh keys, per arrival and times 1/s:
 *
 *   BSBF    dx = (1-x) - (1-X) x      stable where 1 = x + x^2 + ... + x^k
 *   BSBFSD  dx = (1-x) - (1-X) x/k    not stable: x creeps to 1
 *   RLBSBF  dx = (1-x) - (1-X) x^2    stable where 1 = x^2 + ... + x^(k+1)
 *   RSBF    dx = (1-x) up to arrival s, at 1 - 1/e; then BSBF's, times s/i;
 *           then 0
 *
 * (a zero bit among the k always leads to an insertion, hence the gain 1-x).
 *
 * Streams with repeats. A bit is cleared by chance c(t) per arrival and set by any
 * arrival of a key that has it. So it is zero if the last that happened to it was
 * to be cleared, a arrivals ago, and no key of its own came since, which is so with
 * chance exp(-D(a)/s) (theory/stream_model.h). With S(a) = exp(-sum of c over the last a
 * arrivals), a bit that was set a gap ago is zero with chance
 *
 *     v(gap) = integral from 0 to gap of exp(-D(a)/s) d(1 - S(a))
 *
 * and one that was never touched by its key with v(t) + S(t) exp(-D(t)/s). The k
 * bits of a key are independent. That gives the rate of insertions, and with it
 * c(t), arrival by arrival. RSBF inserts only some: its bits live in a time that
 * counts those alone. */
#ifndef WEIR_THEORY_SAMPLED_H
#define WEIR_THEORY_SAMPLED_H

#include "theory/stream_model.h"

double sampled_error_bsbf(uint64_t k);
double sampled_error_rlbsbf(uint64_t k);
/* The highest it gets, on the way. One array alone has no other point to settle at than 1:
 * it creeps there as 1/(1-x) = e + ln(i/s), until s/i falls below p*. */
double sampled_error_rsbf(uint64_t k, double p_star);
double sampled_error_rsbf_tables(uint64_t k, double p_star);

enum sampled_kind {
    SAMPLED_BSBF,
    SAMPLED_BSBFSD,
    SAMPLED_RLBSBF,
    SAMPLED_RSBF,
    SAMPLED_RSBF_TABLES
};

struct sampled {
    enum sampled_kind kind;
    uint64_t k;
    double bits;   /* of an array */
    double p_star; /* of RSBF */
};

/* The error after n arrivals as the recurrences of Bera et al. 2012 have it (3.27,
 * 3.28, 4.3, that of their section 4.3, and 5.2). They count a bit that is set as set
 * again, and so tend to 1 for all: shown beside, not believed. */
double sampled_paper(const struct sampled *f, double n);

void sampled_predict(const struct sampled *f, const struct stream_model *m, struct prediction *p);

#endif
