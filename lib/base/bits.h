/* bits.h - 128-bit products and little-endian bytes.
 *
 * Everything random in weir is computed with the two products. Everything saved is little-endian.
 */
#ifndef WEIR_BASE_BITS_H
#define WEIR_BASE_BITS_H

#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 bits_u128;

/* The upper half of a * b: maps a uniform 64-bit a to 0..b-1 without a division. The bias is below
 * b / 2^64. */
static inline uint64_t bits_scale(uint64_t a, uint64_t b)
{
    return (uint64_t)(((bits_u128)a * b) >> 64);
}

/* The two halves of a * b, XORed: every input bit affects every output bit. */
static inline uint64_t bits_fold(uint64_t a, uint64_t b)
{
    bits_u128 product = (bits_u128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint32_t bits_load16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static inline uint32_t bits_load32(const uint8_t *p)
{
    return bits_load16(p) | bits_load16(p + 2) << 16;
}

/* Loaded as one word: compilers do not always combine eight byte loads. */
static inline uint64_t bits_little(uint64_t v)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : __builtin_bswap64(v);
}

static inline uint64_t bits_load64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return bits_little(v);
}

static inline void bits_store16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static inline void bits_store32(uint8_t *p, uint32_t v)
{
    bits_store16(p, v);
    bits_store16(p + 2, v >> 16);
}

static inline void bits_store64(uint8_t *p, uint64_t v)
{
    v = bits_little(v);
    memcpy(p, &v, sizeof v);
}

#endif
