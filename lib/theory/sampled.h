/* theory/sampled.h - RSBF, BSBF, BSBFSD and RLBSBF (bera2012): k arrays of s bits.
 *
 * Fresh keys only. Let x be the fill of one array and X = x^k the false-positive rate. Per arrival
 * and times 1/s:
 *
 *   BSBF    dx = (1-x) - (1-X) x      stable at 1 = x + x^2 + ... + x^k
 *   BSBFSD  dx = (1-x) - (1-X) x/k    not stable: x approaches 1
 *   RLBSBF  dx = (1-x) - (1-X) x^2    stable at 1 = x^2 + ... + x^(k+1)
 *   RSBF    dx = (1-x) up to arrival s, where x = 1 - 1/e; then BSBF's, times s/i; then 0
 *
 * The gain is 1-x because a zero bit among the k always leads to an insertion.
 *
 * Streams with repeats. A bit is cleared with probability c(t) per arrival, and set by any arrival
 * of its keys. It is zero if it was last cleared a arrivals ago and none of its keys arrived since,
 * which has probability exp(-D(a)/s) (stream_model.h). Let S(a) = exp(-sum of c over the last a
 * arrivals). A bit that was set a gap ago is zero with probability
 *
 *     v(gap) = integral from 0 to gap of exp(-D(a)/s) d(1 - S(a))
 *
 * and a bit that its key never set with probability v(t) + S(t) exp(-D(t)/s). The k bits of a key
 * are independent. This gives the insertion rate, and with it c(t), step by step. RSBF inserts only
 * a sample of the arrivals, so its bits are followed in a time that counts insertions only. */
#ifndef WEIR_THEORY_SAMPLED_H
#define WEIR_THEORY_SAMPLED_H

#include "theory/stream_model.h"

/* The stable error on fresh keys. */
double sampled_error_bsbf(uint64_t k);
double sampled_error_rlbsbf(uint64_t k);
/* The maximum error during a run. For k = 1 the fill approaches 1 as 1/(1-x) = e + ln(i/s), until
 * s/i falls below p*. */
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
    double bits;   /* per array */
    double p_star; /* of RSBF */
};

/* The error after n arrivals by the paper's recurrences (3.27, 3.28, 4.3, the one of section 4.3,
 * and 5.2). They count a bit that is set already as set again, and so approach 1 for every filter.
 * Printed for comparison only. */
double sampled_paper(const struct sampled *f, double n);

void sampled_predict(const struct sampled *f, const struct stream_model *m, struct prediction *p);

#endif
