/* replay.h - arrivals kept in memory, to be shown again: in their order, or shuffled;
 * once, or several times on end as a stream that goes on.
 *
 * Such a stream is taken to go on as it is: of the keys of a frequency some stay, and the
 * others are new ones at every showing. Those in the first third of what is there and in the
 * last tell how many stay, and with which chance one of them comes in a third at all; with
 * a chance q to come in a showing, a key is at every showing one of 1/q keys.
 *
 * What is kept of a long stream is all arrivals of some keys: of half of them
 * whenever there is no more room. Filters that get as much less memory err on
 * those as they would on the whole, since only ratios count: memory to keys, and
 * keys that come between two arrivals of one. Of few keys, none can be spared:
 * the beginning of the stream is kept instead. */
#ifndef WEIR_EVAL_REPLAY_H
#define WEIR_EVAL_REPLAY_H

#include "eval/truth.h"

struct replay {
    uint64_t most;       /* keep at most so many; 0: all */
    uint64_t expected;   /* that will come; 0: not known */
    const char *because; /* option that asked for it, for messages */
    uint32_t halvings;   /* kept are the arrivals of one key in 2^halvings, */
    bool cut;            /* or those before there were too many */
    struct weir_key *key;
    uint64_t count, room; /* of key */
    uint64_t next;        /* to be shown */
    uint32_t showings;    /* on end; 0 is 1 */
    uint32_t showing;     /* the one under way, from 0 on */
    uint16_t *variants;   /* of each arrival: how many keys it may be; 0: ever new ones */
    double renewed;       /* share of the keys that are others in the next showing */
    uint64_t rng;
};

void replay_close(struct replay *k);

/* Keep these. The truth, which has its limit in common with what is kept, counts
 * their keys meanwhile. False if memory is short; *failure then says so. */
bool replay_add(struct replay *k, const struct weir_key *key, uint32_t n, struct truth *truth,
                char failure[512]);

uint64_t replay_bytes(const struct replay *k);

void replay_shuffle(struct replay *k);

/* Find out which keys stay, before the first of several showings. False if memory
 * is short. */
bool replay_find_variants(struct replay *k);

/* Do new keys keep coming? */
bool replay_is_renewed(const struct replay *k);

/* Keys that come once and never again, with the importance of those kept: what
 * filters are filled with where new keys keep coming. */
void replay_strangers(const struct replay *k, uint64_t from, struct weir_key *key, uint32_t n);

/* Begin with this showing. */
void replay_rewind(struct replay *k, uint32_t showing);

/* The next arrivals as they are to be shown, at most so many; returns how many. */
uint32_t replay_next(struct replay *k, struct weir_key *key, uint32_t most);

/* The same as they were in this showing, from the first on. */
struct weir_key replay_key(const struct replay *k, uint64_t i, uint32_t showing);

#endif
