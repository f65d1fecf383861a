/* scan.c - see scan.h.
 *
 * Each block of 64 bytes becomes a mask of 64 bits, one per byte that matches:
 * by SSE2 where there is one, otherwise by arithmetic on eight bytes at once
 * (Mycroft's zero-byte test, in the form without false matches). Positions are
 * written four at a time without asking whether there are as many: the surplus
 * is overwritten by the next block, and no branch depends on the data. */
#include "scan.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

static inline uint64_t match64(const char *at, char c)
{
    const __m128i want = _mm_set1_epi8(c);
    uint64_t mask = 0;

    for (int i = 0; i < 4; i++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * i));

        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, want)) << (16 * i);
    }
    return mask;
}
#else
static inline uint64_t match64(const char *at, char c)
{
    const uint64_t low7 = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t mask = 0;

    for (int i = 0; i < 8; i++) {
        uint64_t word = 0;

        for (int j = 0; j < 8; j++)
            word |= (uint64_t)(uint8_t)at[8 * i + j] << (8 * j);
        word ^= UINT64_C(0x0101010101010101) * (uint8_t)c;
        uint64_t zero = ~(((word & low7) + low7) | word | low7); /* bit 7 of each zero byte */
        mask |= ((zero >> 7) * UINT64_C(0x0102040810204080) >> 56) << (8 * i);
    }
    return mask;
}
#endif

/* Write the position of each set bit; returns how many there were. */
static inline size_t spread(uint64_t mask, uint32_t base, uint32_t *out)
{
    size_t found = (size_t)__builtin_popcountll(mask);

    for (size_t i = 0; i < found; i += 4) {
        for (size_t j = i; j < i + 4; j++) {
            out[j] = base + (uint32_t)__builtin_ctzll(mask | UINT64_C(1) << 63);
            mask &= mask - 1;
        }
    }
    return found;
}

static inline __attribute__((always_inline)) size_t
scan(const char *data, size_t from, size_t to, const char *c, int bytes, uint32_t *out, size_t max)
{
    size_t n = 0;

    for (size_t at = from; at < to && n < max; at += 64) {
        uint64_t mask = match64(data + at, c[0]);

        for (int i = 1; i < bytes; i++)
            mask |= match64(data + at, c[i]);
        if (to - at < 64)
            mask &= (UINT64_C(1) << (to - at)) - 1;
        n += spread(mask, (uint32_t)at, out + n);
    }
    return n < max ? n : max;
}

size_t scan_one(const char *data, size_t from, size_t to, char c, uint32_t *out, size_t max)
{
    return scan(data, from, to, &c, 1, out, max);
}

size_t scan_three(const char *data, size_t from, size_t to, const char c[3], uint32_t *out,
                  size_t max)
{
    return scan(data, from, to, c, 3, out, max);
}
