/* weir/hash.h - keys without a filter: hash bytes, and deal keys to shards.
 *
 * A program that sends keys to filters elsewhere, or spreads them over several,
 * hashes them once here and needs no filter of its own:
 *
 *     struct weir_key key = weir_hash_bytes(WEIR_HASH_XXH3, seed, line, length);
 *     weir_observe(part[weir_shard(key, 16)], key);
 *
 * Nothing here fails, allocates or keeps anything; any thread may call it. */
#ifndef WEIR_HASH_H
#define WEIR_HASH_H

#include <weir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As hash= of a spec. */
enum weir_hash_kind {
    WEIR_HASH_XXH3 = 0, /* fast */
    WEIR_HASH_SIP = 1   /* keyed, for keys that strangers choose */
};

/* What weir_hash() gives for a filter of this hash= and seed=. A kind that is none
 * of the above is taken for WEIR_HASH_XXH3. */
WEIR_API struct weir_key weir_hash_bytes(uint32_t kind, uint64_t seed, const void *data,
                                         size_t size);

WEIR_API void weir_hash_bytes_many(uint32_t kind, uint64_t seed, const struct weir_bytes *bytes,
                                   size_t n, struct weir_key *keys);

/* Which of n shards a key belongs to: 0 to n - 1, n from 1 to 65536. Made of the
 * low 16 bits of hi, of which no filter takes a place: filters use the upper bits of
 * lo and hi, and a program that dealt by those would leave most of each shard empty. */
static inline uint32_t weir_shard(struct weir_key key, uint32_t n)
{
    return (uint32_t)((key.hi & 0xffff) * n >> 16);
}

#ifdef __cplusplus
}
#endif

#endif
