/* keys.c - the public calls of weir/hash.h. */
#include <weir/hash.h>

#include "base/hash.h"

struct weir_key weir_hash_bytes(uint32_t kind, uint64_t seed, const void *data, size_t size)
{
    struct hash128 h = hash_by(kind == WEIR_HASH_SIP, data, size, seed);

    return (struct weir_key){h.lo, h.hi, 1, hash_origin(kind == WEIR_HASH_SIP, seed)};
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
