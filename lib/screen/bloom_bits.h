/* bloom_bits.h - an area of a screen as a Bloom filter: a key sets k of its bits,
 * and is there if all of them are set. */
#ifndef WEIR_SCREEN_BLOOM_BITS_H
#define WEIR_SCREEN_BLOOM_BITS_H

#include "screen/screen.h"

/* Most keys that are not there end at the second bit. */
static inline bool bloom_has(const struct cells *bits, uint64_t k, struct weir_key key)
{
    for (uint32_t i = 0; i < k; i++)
        if (!bit_get(bits, place(key, i, bits->n)))
            return false;
    return true;
}

static inline void bloom_add(struct cells *bits, uint64_t k, struct weir_key key)
{
    for (uint32_t i = 0; i < k; i++)
        bit_set(bits, place(key, i, bits->n));
}

/* Fetch the lines of its first bits. */
static inline void bloom_touch(const struct cells *bits, uint64_t k, struct weir_key key)
{
    for (uint32_t i = 0; i < k; i++)
        bit_touch(bits, place(key, i, bits->n));
}

#endif
