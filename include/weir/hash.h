/* weir/hash.h - hash keys without a filter, and assign them to shards.
 *
 * A program that sends keys to remote filters, or distributes them over several local ones,
 * hashes each key once and needs no filter for that:
 *
 *     struct weir_key key = weir_hash_bytes(WEIR_HASH_XXH3, seed, line, length);
 *     weir_observe(part[weir_shard(key, 16)], key);
 *
 * Threads: any thread may call. The calls never fail, never allocate and keep no state. */
#ifndef WEIR_HASH_H
#define WEIR_HASH_H

#include <weir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- hashes and shards ---- */

/* Hash functions; hash= of a spec. */
enum weir_hash_kind {
    WEIR_HASH_XXH3 = 0, /* fast */
    WEIR_HASH_SIP = 1   /* keyed, for untrusted keys */
};

/* Hash a key as weir_hash() does for a filter with this hash= and seed=. An unknown kind
 * selects WEIR_HASH_XXH3.
 * Returns the key. */
WEIR_API struct weir_key weir_hash_bytes(uint32_t kind, uint64_t seed, const void *data,
                                         size_t size);

/* weir_hash_bytes() for n keys. */
WEIR_API void weir_hash_bytes_many(uint32_t kind, uint64_t seed, const struct weir_bytes *bytes,
                                   size_t n, struct weir_key *keys);

/* Assign a key to one of n shards, n from 1 to 65536. The shard depends on the low 16 bits of
 * hi, which no filter uses to select cells. Filters use the upper bits of lo and hi: a program
 * that sharded by those would leave most of each shard empty.
 * Returns the shard, 0 to n - 1. */
static inline uint32_t weir_shard(struct weir_key key, uint32_t n)
{
    return (uint32_t)((key.hi & 0xffff) * n >> 16);
}

#ifdef __cplusplus
}
#endif

#endif
