/* cuckoo_keeper.h - Cuckoo Heavy Keeper (arXiv 2412.12873), written from its description:
 *
 * Buckets of a lobby and three heavy entries, each a print of 16 bits and a count of
 * 32. A key that has a heavy entry in one of its two buckets raises it. Else it goes
 * to the lobby of its first bucket: it raises its own count there, takes an empty
 * lobby, or wears another's down by one with a chance of 1.08^-count. A lobby of 16 or more
 * is promoted: to an empty heavy entry of either bucket, or, once it outweighs the
 * least heavy entry of its bucket, into that one's place; the one pushed out goes to its
 * other bucket under the same rule, a few times at most, and the last is dropped.
 *
 * A plain one for bench/frequent.c: it keeps `keys` keys by estimate beside it, as
 * "heavykeeper" does, for the same 88 bytes each. */
#ifndef WEIR_BENCH_CUCKOO_KEEPER_H
#define WEIR_BENCH_CUCKOO_KEEPER_H

#include <stddef.h>
#include <stdint.h>

struct kept {
    uint64_t id, count; /* count 0: free */
};

struct cuckoo_keeper;

struct cuckoo_keeper *keeper_open(size_t memory, size_t keys);
void keeper_add(struct cuckoo_keeper *k, uint64_t id);

/* The keys kept, in no order, and how many there can be. */
const struct kept *keeper_list(const struct cuckoo_keeper *k, size_t *n);
void keeper_close(struct cuckoo_keeper *k);

#endif
