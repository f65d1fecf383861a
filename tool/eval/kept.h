/* kept.h - arrivals kept in memory, to be shown again: in their order, or shuffled.
 *
 * What is kept of a long stream is all arrivals of some keys: of half of them
 * whenever there is no more room. Filters that get as much less memory err on
 * those as they would on the whole, since only ratios count: memory to keys, and
 * keys that come between two arrivals of one. Of few keys, none can be spared:
 * the beginning of the stream is kept instead. */
#ifndef WEIR_EVAL_KEPT_H
#define WEIR_EVAL_KEPT_H

#include "eval/truth.h"

struct kept {
    uint64_t most;       /* keep at most so many; 0: all */
    uint64_t expected;   /* that will come; 0: not known */
    const char *because; /* option that asked for it, for messages */
    uint32_t halvings;   /* kept are the arrivals of one key in 2^halvings, */
    bool cut;            /* or those before there were too many */
    struct weir_key *key;
    uint64_t count, room; /* of key */
    uint64_t next;        /* to be shown */
    uint64_t rng;
};

void kept_close(struct kept *k);

/* Keep these. The truth, which has its limit in common with what is kept, counts
 * their keys meanwhile. False if memory is short; *failure then says so. */
bool kept_add(struct kept *k, const struct weir_key *key, uint32_t n, struct truth *truth,
              char failure[512]);

uint64_t kept_bytes(const struct kept *k);

void kept_shuffle(struct kept *k);

#endif
