/* cuckoo_keeper.h - Cuckoo Heavy Keeper (arXiv 2412.12873), implemented from its description.
 *
 * A bucket has a lobby and three heavy entries. An entry is a 16-bit fingerprint and a 32-bit
 * count. If a key has a heavy entry in one of its two buckets, that entry is incremented. Otherwise
 * the key goes to the lobby of its first bucket: it increments its own count, takes an empty lobby,
 * or decrements another key's count with probability 1.08^-count.
 *
 * A lobby of 16 or more is promoted to an empty heavy entry of either bucket. If there is none, it
 * replaces the smallest heavy entry of its bucket once its count is larger. The replaced entry
 * moves to its other bucket by the same rule, a few times at most, and is then dropped.
 *
 * For bench/frequent.c. It stores the `keys` keys with the highest estimates in addition, as
 * "heavykeeper" does, with the same 88 bytes each. */
#ifndef WEIR_BENCH_CUCKOO_KEEPER_H
#define WEIR_BENCH_CUCKOO_KEEPER_H

#include <stddef.h>
#include <stdint.h>

struct stored_key {
    uint64_t id, count; /* count 0: free */
};

struct cuckoo_keeper;

struct cuckoo_keeper *keeper_open(size_t memory, size_t keys);
void keeper_add(struct cuckoo_keeper *k, uint64_t id);

/* The stored keys, unordered; *n is the maximum number. */
const struct stored_key *keeper_list(const struct cuckoo_keeper *k, size_t *n);
void keeper_close(struct cuckoo_keeper *k);

#endif
