/* replay.h - arrivals kept in memory, to be observed again: in their order, or shuffled.
 *
 * Of a long stream all arrivals of some keys are kept: when the limit is reached, half of the
 * keys are dropped. Filters with as much less memory have the same error rates on the rest, because
 * only ratios count: memory to keys, and keys between two arrivals of one key. If there are few
 * keys, none is dropped and the beginning of the stream is kept. */
#ifndef WEIR_EVAL_REPLAY_H
#define WEIR_EVAL_REPLAY_H

#include "eval/truth.h"

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
