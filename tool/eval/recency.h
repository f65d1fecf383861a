/* recency.h - what an exact memory of the latest keys would have missed: the line
 * that filters are held against where no limit is known. */
#ifndef WEIR_EVAL_RECENCY_H
#define WEIR_EVAL_RECENCY_H

#include <weir.h>

struct recency {
    uint64_t distinct, repeats;
    uint64_t *within; /* within[c]: repeats that the latest c keys held, c up to distinct */
};

/* Of these arrivals, in order, fewer than 2^32; repeats are counted from arrival
 * `from` on. False if memory is short. Time n log n, memory 36 bytes per arrival
 * while it runs. */
bool recency_open(struct recency *r, const struct weir_key *key, uint64_t n, uint64_t from);
void recency_close(struct recency *r);

/* The share of repeats that an exact list of so many keys, the least recent
 * dropped first, takes for new; NaN where there are none. */
double recency_fnr(const struct recency *r, double keys);

#endif
