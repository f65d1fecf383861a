/* keys.c - the public calls of weir/hash.h. */
#include <weir/hash.h>

#include <string.h>

#include "base/hash.h"

typedef uint64_t two_words __attribute__((vector_size(16)));

struct weir_key weir_hash_bytes(uint32_t kind, uint64_t seed, const void *data, size_t size)
{
    struct hash128 h = hash_by(kind == WEIR_HASH_SIP, data, size, seed);
    struct weir_key key = {0, 0, 1, hash_origin(kind == WEIR_HASH_SIP, seed)};

    /* In one store: whoever copies the key reads both words at once, and would wait until two
     * stores are in the cache, behind the line of the key before. */
    memcpy(&key, &(two_words){h.lo, h.hi}, sizeof(two_words));
    return key;
}

void weir_hash_bytes_many(uint32_t kind, uint64_t seed, const struct weir_bytes *bytes, size_t n,
                          struct weir_key *keys)
{
    uint32_t origin = hash_origin(kind == WEIR_HASH_SIP, seed);

    for (size_t i = 0; i < n; i++) {
        struct hash128 h = hash_by(kind == WEIR_HASH_SIP, bytes[i].data, bytes[i].size, seed);

        keys[i] = (struct weir_key){h.lo, h.hi, 1, origin};
    }
}
