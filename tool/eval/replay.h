/* replay.h - arrivals kept in memory, to be observed again: in their order, or shuffled.
 *
 * Of a long stream all arrivals of some keys are kept: when the limit is reached, half of the
 * keys are dropped. Filters with as much less memory have the same error rates on the rest, because
 * only ratios count: memory to keys, and keys between two arrivals of one key. If there are few
 * keys, none is dropped and the beginning of the stream is kept. */
#ifndef WEIR_EVAL_REPLAY_H
#define WEIR_EVAL_REPLAY_H

#include <weir.h>

/* ---- the exact baseline: did this key occur before? truth.c
 *
 * One bit per key if the universe is known. Otherwise a set of 64-bit fingerprints, made of both
 * halves of the hash. Two of n keys collide with probability n^2 / 2^65: 3 % for a billion keys.
 * ---- */

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

/* ---- replay ---- */

#define REPLAY_PARTS 8

struct replay {
    uint64_t most;       /* limit of the arrivals; 0: none */
    uint64_t expected;   /* arrivals; 0: unknown */
    const char *because; /* the option that needs it, for messages */
    uint32_t halvings;   /* kept: the arrivals of one key in 2^halvings, */
    bool cut;            /* or the first ones */
    struct weir_key *key;
    uint64_t count, room; /* of key */
    uint64_t next;        /* arrival */
    uint64_t rng;
};

void replay_close(struct replay *k);

/* Keep these. Uses the baseline, which shares its memory limit, to count keys. False if memory is
 * short; *failure then has the message. */
bool replay_add(struct replay *k, const struct weir_key *key, uint32_t n, struct truth *truth,
                char failure[512]);

uint64_t replay_bytes(const struct replay *k);

void replay_shuffle(struct replay *k);

/* Count the new keys in each of REPLAY_PARTS equal parts. Clears the truth. False if memory is
 * short; *failure then has the message. */
bool replay_count_new(const struct replay *k, struct truth *truth, uint64_t fresh[REPLAY_PARTS],
                      char failure[512]);

/* Unique keys that are not in the stream, with the importance of those that are. */
void replay_unique_keys(const struct replay *k, uint64_t from, struct weir_key *key, uint32_t n);

/* Copy the next arrivals, at most `most`; returns the number. Set `next` to 0 to begin again. */
uint32_t replay_next(struct replay *k, struct weir_key *key, uint32_t most);

#endif
