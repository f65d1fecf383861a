/* truth.h - exact truth: was this key there before? What the filters are
 * measured against.
 *
 * Where the universe is known, one bit per key. Otherwise a set of 64-bit
 * fingerprints, made of both halves of the hash: of n distinct keys, about
 * n^2 / 2^65 are taken for others, three in a hundred runs of a billion. */
#ifndef WEIR_EVAL_TRUTH_H
#define WEIR_EVAL_TRUTH_H

#include <weir.h>

struct truth {
    uint64_t limit; /* bytes that it may take */
    uint64_t bytes; /* that it took at most */

    bool bitmap;
    uint8_t *bit; /* of the keys 1 .. universe; all above come once */
    uint64_t universe;

    uint64_t *slot; /* fingerprints in a table with empty slots, 0 */
    uint64_t slots, used;

    /* Where records have a time: was it there within the span? */
    uint64_t span; /* milliseconds; 0: they have none */
    uint64_t *at;  /* of each slot: when it was there */
};

/* False after a message. */
bool truth_open_bitmap(struct truth *t, uint64_t universe, uint64_t limit);
bool truth_open_set(struct truth *t, uint64_t limit, uint64_t span);
void truth_close(struct truth *t);
void truth_clear(struct truth *t);

/* Say of each whether it was there before, and remember it. */
void truth_observe_ids(struct truth *t, const uint64_t *id, uint32_t n, uint8_t *seen);

/* False if there is no memory for more; *failure then says so. With a span, the times of
 * the keys, which never go back; otherwise NULL. */
bool truth_observe_keys(struct truth *t, const struct weir_key *key, const uint64_t *times,
                        uint32_t n, uint8_t *seen, char failure[512]);

#endif
