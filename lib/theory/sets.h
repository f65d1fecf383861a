/* theory/sets.h - filters that keep every key: Bloom, fuse and cuckoo, and the two Bloom filters of
 * screen dabf.
 *
 * Bloom, m cells, n keys, k hash functions: a cell is empty with probability e^(-kn/m); the
 * false-positive rate is (1 - e^(-kn/m))^k.
 *
 * dabf, a pair of Bloom filters in front of a store (busnel2019): `asked` (n bits, k functions)
 * holds the keys that were looked up in the store; `members` (n', k') holds those of them that are
 * in the set. Let p(n, k, d) be the false-positive rate of a Bloom filter with d keys. A new key is
 * a false positive of `asked` with probability p(n, k, |S|); the answer is then `members`' answer.
 * S counts all distinct keys so far, not only those that were looked up: a false positive has all
 * its bits set already. S' are the members looked up.
 *
 *   first arrival   a member is missed:               q = p(n, k, |S|) (1 - p(n', k', |S'|))
 *                   a non-member is reported member:  p = p(n, k, |S|) p(n', k', |S'|)
 *   later arrival   a member: at most q
 *                   a non-member:                     p = p(n', k', |S'|)
 */
#ifndef WEIR_THEORY_SETS_H
#define WEIR_THEORY_SETS_H

#include "theory/stream_model.h"

/* ---- Bloom ---- */

/* The false-positive rate with n keys, and with a given share of cells in use. */
double bloom_error(double cells, double keys, uint64_t k);
double bloom_error_at(double fill, uint64_t k);

/* The k with the lowest error for this many cells and keys: near (m/n) ln 2, at least 1. */
uint64_t bloom_best_k(double cells, double keys);

/* (m/n) ln 2, rounded down, at least 1: the k of busnel2019. */
uint64_t bloom_k_below(uint64_t cells, uint64_t keys);

/* The k that needs the fewest cells per key for an error. */
uint64_t bloom_best_k_for(double error);

/* Keys per cell at which k functions reach an error. */
double bloom_load(double error, uint64_t k);

void bloom_predict(double cells, uint64_t k, const struct stream_model *m, struct prediction *p);

/* ---- fuse and cuckoo: tables of fingerprints ---- */

/* The false-positive rate: of a fuse filter; of a cuckoo filter with four slots per bucket, of
 * which `load` is the share in use. */
double fuse_error(uint64_t bits);
double cuckoo_error(uint64_t bits, double load);

/* Return false if the stream has more keys than the capacity. A fuse filter contains all keys of
 * the stream before the first arrival. A cuckoo filter uses one slot per arrival, also for repeats.
 */
bool fuse_predict(uint64_t bits, double capacity, double places, const struct stream_model *m,
                  struct prediction *p);
bool cuckoo_predict(uint64_t bits, double capacity, double slots, const struct stream_model *m,
                    struct prediction *p);

/* ---- dabf ---- */

/* One Bloom filter and the number of keys in it. */
struct dabf_filter {
    double cells;
    uint64_t k;
    double keys;
};

/* Theorem 1, first arrival of a key: the probability that a member is missed, and that a non-member
 * is reported as a member. Theorem 2: the latter for a later arrival. */
double dabf_missed(struct dabf_filter asked, struct dabf_filter members);
double dabf_false(struct dabf_filter asked, struct dabf_filter members);
double dabf_false_again(struct dabf_filter members);

/* Proposition 2: the least number, of d members, that are false positives of `asked` on first
 * arrival. Proposition 3: the resulting upper bound of the error of `members`. Proposition 4: the
 * least number of store lookups for d distinct keys. */
double dabf_min_false_known(double cells, uint64_t k, uint64_t d);
double dabf_false_bound(struct dabf_filter asked, double cells, uint64_t k, uint64_t d);
double dabf_min_calls(double cells, uint64_t k, double d);

/* The rates over a whole stream. A share of its keys are members, which arrive as often as the
 * others. A member that is a false positive of `asked` on first arrival is missed at every arrival,
 * unless it is a false positive of `members`. */
struct dabf_prediction {
    double calls, calls_least;            /* store lookups; lower bound (Proposition 4) */
    double precision, recall, fpr, fnr;   /* over arrivals */
    double first_missed, first_false;     /* Theorem 1 at the end, */
    double again_false;                   /* Theorem 2, */
    double known_least, again_false_most; /* and the bounds of Propositions 2 and 3 */
};

void dabf_predict(double cells[2], uint64_t k[2], const struct stream_model *m, double members,
                  struct dabf_prediction *p);

/* ---- lower bounds that no filter can beat, and the bounds of Count-Min
 *
 * A filter without false negatives needs log2(1/e) bits per key. A filter that misses a share d of
 * the repeats needs, for uniform queries over a fixed set of keys,
 *
 *     bits per key >= (1-d) log2((1-d)/e) + d log2(d/(1-e))
 *
 * This bound does not hold for skewed streams or for repeats of recent keys. For those, compare
 * with an exact LRU list of log2(1/e) bits per key.
 *
 * Count-Min with w counters per row and a total count of N: the other keys add N/w to a counter on
 * average, so by Markov's inequality an estimate is more than (e/w)N too high with probability 1/e.
 * With d independent rows, the minimum is within the bound with probability 1 - e^-d (cormode2005).
 * Rows that share a cache line are not independent; for them only the bound of one row holds, 1 -
 * 1/e. ---- */

/* The lowest possible false-negative rate; NAN unless 0 < error < 1. */
double bound_fnr(double bits, double keys, double error);

/* The false-negative rate of an exact list of the latest `keys` keys. */
double bound_lru_fnr(const struct stream_model *m, double keys);

/* Counters per row for an error of this share of N, and rows for a confidence. */
double count_min_width(double error);
double count_min_depth(double confidence);

/* The bound of the error at a total count, and the probability that it holds. */
double count_min_error(uint64_t width, uint64_t total);
double count_min_confidence(uint64_t independent_rows);

#endif
