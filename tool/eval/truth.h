/* truth.h - the exact baseline: did this key occur before?
 *
 * One bit per key if the universe is known. Otherwise a set of 64-bit fingerprints, made of both
 * halves of the hash. Two of n keys collide with probability n^2 / 2^65: 3 % for a billion keys. */
#ifndef WEIR_EVAL_TRUTH_H
#define WEIR_EVAL_TRUTH_H

#include <weir.h>

struct truth {
    uint64_t limit; /* maximum bytes */
    uint64_t bytes; /* maximum so far */

    bool bitmap;
    uint8_t *bit; /* of the keys 1 .. universe; larger ones are unique */
    uint64_t universe;

    uint64_t *slot; /* fingerprints in a table with empty slots, 0 */
    uint64_t slots, used;

    /* With event time: did it occur within the span? */
    uint64_t span; /* milliseconds; 0: no time */
    uint64_t *at;  /* of each slot: its last occurrence */
};

/* False after a message. */
bool truth_open_bitmap(struct truth *t, uint64_t universe, uint64_t limit);
bool truth_open_set(struct truth *t, uint64_t limit, uint64_t span);
void truth_close(struct truth *t);
void truth_clear(struct truth *t);

/* Report for each key whether it occurred before, and record it. */
void truth_observe_ids(struct truth *t, const uint64_t *id, uint32_t n, uint8_t *seen);

/* False if out of memory; *failure then has the message. times: of the keys, ascending, with a
 * span; otherwise NULL. */
bool truth_observe_keys(struct truth *t, const struct weir_key *key, const uint64_t *times,
                        uint32_t n, uint8_t *seen, char failure[512]);

#endif
