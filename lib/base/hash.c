/* hash.c - the two hash functions, from libxxhash and libsodium. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <sodium/crypto_shorthash_siphash24.h>

#include "base/hash.h"
#include "base/rng.h"

struct hash128 hash_fast(const void *data, size_t size, uint64_t seed)
{
    XXH128_hash_t h = XXH3_128bits_withSeed(data, size, seed);

    return (struct hash128){h.low64, h.high64};
}

struct hash128 hash_keyed(const void *data, size_t size, uint64_t seed)
{
    uint8_t key[crypto_shorthash_siphashx24_KEYBYTES];
    uint8_t out[crypto_shorthash_siphashx24_BYTES];
    struct rng r = rng_at(seed, 0);

    bits_store64(key, seed);
    bits_store64(key + 8, rng_next(&r));
    crypto_shorthash_siphashx24(out, data, size, key);
    return (struct hash128){bits_load64(out), bits_load64(out + 8)};
}
