/* theory/dabf.h - a pair of Bloom filters before a store (Busnel and Gillet
 * 2019): beta of n bits and k functions holds the keys asked for, beta' of n'
 * and k' those of them that are members.
 *
 * p(n, k, d) is the error of a Bloom filter that holds d keys. A key that comes
 * for the first time is taken for known with p(n, k, |S|), where S is what beta
 * holds; it is then said to be a member with p(n', k', |S'|). Of beta all
 * different keys count, not only those asked for: one that is taken for known by
 * mistake finds all its bits set, and so do those after it. S' are the members
 * that were asked for:
 *
 *   first time  a member is missed with           q = p(n, k, |S|) (1 - p(n', k', |S'|))
 *               another is said to be one with    p = p(n, k, |S|) p(n', k', |S'|)
 *   again       a member: no worse than the first time
 *               another                           p = p(n', k', |S'|)                    */
#ifndef WEIR_THEORY_DABF_H
#define WEIR_THEORY_DABF_H

#include "theory/stream_model.h"

/* One Bloom filter, and how many keys it holds. */
struct dabf_filter {
    double cells;
    uint64_t k;
    double keys;
};

/* Theorem 1, a key's first time: chance that a member is missed, and that
 * another is said to be one. */
double dabf_missed(struct dabf_filter asked, struct dabf_filter members);
double dabf_false(struct dabf_filter asked, struct dabf_filter members);

/* Theorem 2, a key that comes again: the second of these. */
double dabf_false_again(struct dabf_filter members);

/* Proposition 2: of d members that come, beta takes at least so many for known
 * the first time. Proposition 3: hence beta' errs with no more than this. */
double dabf_taken_for_known(double cells, uint64_t k, uint64_t d);
double dabf_false_bound(struct dabf_filter asked, double cells, uint64_t k, uint64_t d);

/* Proposition 4: of d different keys at least so many are asked for. */
double dabf_calls_least(double cells, uint64_t k, double d);

/* What it comes to over a stream, of whose keys a share are members, as often as others
 * are. A member that is taken for known the first time stays so; it is missed as long
 * as beta' does not have it by chance. */
struct dabf_prediction {
    double calls, calls_least;            /* keys asked for; by Proposition 4 at least so many */
    double precision, recall, fpr, fnr;   /* of the arrivals */
    double first_missed, first_false;     /* Theorem 1, at the end, */
    double again_false;                   /* Theorem 2, */
    double known_least, again_false_most; /* and the bounds of Propositions 2 and 3 */
};

void dabf_predict(double cells[2], uint64_t k[2], const struct stream_model *m, double members,
                  struct dabf_prediction *p);

#endif
