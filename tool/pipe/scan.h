/* scan.h - find bytes, a block at a time. One call returns all positions of a block: short records
 * then cost a few instructions each, while memchr() would cost a call. data must be readable for 63
 * bytes past `to`, and out must have space for 64 more than max. Returns the number found, at most
 * max; if fewer, all bytes up to `to` were searched. */
#ifndef WEIR_PIPE_SCAN_H
#define WEIR_PIPE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t scan_one(const char *data, size_t from, size_t to, char c, uint32_t *out, size_t max);
size_t scan_three(const char *data, size_t from, size_t to, const char c[3], uint32_t *out,
                  size_t max);

/* Count c in data[from .. to). */
size_t scan_count(const char *data, size_t from, size_t to, char c);

/* ---- a byte in 64 bytes, as a mask: bit i is byte i
 *
 * Uses AVX2 in code compiled for it, SSE2 on every other x86-64, and elsewhere arithmetic on eight
 * bytes at once (Mycroft's zero-byte test, in the form without false matches). A loop over blocks
 * gets the function as an argument and is compiled once for each; the processor is checked at run
 * time. SCAN_SSE2 and SCAN_PLAIN disable the faster variants, for tests. ---- */

#define MATCH_INLINE static inline __attribute__((always_inline))

typedef uint64_t (*match_function)(const char *at, char c);

#if defined(__x86_64__) && !defined(SCAN_PLAIN)
#include <immintrin.h>

#define MATCH_AVX2 __attribute__((target("avx2,bmi,popcnt")))

static inline bool match_has_avx2(void)
{
#ifdef SCAN_SSE2
    return false;
#endif
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("popcnt");
}

MATCH_INLINE MATCH_AVX2 uint64_t match64_avx2(const char *at, char c)
{
    const __m256i want = _mm256_set1_epi8(c);
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)at);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(at + 32));

    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, want)) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, want)) << 32;
}

MATCH_INLINE uint64_t match64(const char *at, char c)
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
#define MATCH_AVX2
#define match64_avx2 match64

static inline bool match_has_avx2(void)
{
    return false;
}

MATCH_INLINE uint64_t match64(const char *at, char c)
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

/* The bytes from the first bit up to before the second, from the third up to before the fourth, and
 * so on: the bytes inside quotes. */
MATCH_INLINE uint64_t match_between(uint64_t mask)
{
    for (int shift = 1; shift < 64; shift *= 2)
        mask ^= mask << shift;
    return mask;
}

MATCH_INLINE uint64_t match_some(uint64_t mask, uint32_t base, uint32_t *out, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        out[i] = base + (uint32_t)__builtin_ctzll(mask | UINT64_C(1) << 63);
        mask &= mask - 1;
    }
    return mask;
}

/* Write the position of each set bit. Two or four are written at a time without a check whether
 * there are as many; the next block overwrites the surplus. The only branch separates long lines
 * from short ones. Returns the number of set bits. */
MATCH_INLINE uint32_t match_positions(uint64_t mask, uint32_t base, uint32_t *out)
{
    uint32_t found = (uint32_t)__builtin_popcountll(mask);

    if (found <= 2)
        match_some(mask, base, out, 2);
    else
        for (uint32_t i = 0; i < found; i += 4)
            mask = match_some(mask, base, out + i, 4);
    return found;
}

#endif
