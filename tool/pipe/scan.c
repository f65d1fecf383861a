/* scan.c - see scan.h.
 *
 * Each block of 64 bytes becomes a mask of 64 bits, one per byte that matches:
 * by AVX2 or SSE2 where there is one, otherwise by arithmetic on eight bytes at
 * once (Mycroft's zero-byte test, in the form without false matches). Positions
 * are written four at a time without asking whether there are as many: the
 * surplus is overwritten by the next block, and no branch depends on it. */
#include "pipe/scan.h"

#define INLINE static inline __attribute__((always_inline))

typedef uint64_t (*match64)(const char *at, char c);

/* ---- masks ---- */

#if defined(__x86_64__) && !defined(SCAN_PLAIN)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,bmi,popcnt")))

INLINE AVX2 uint64_t match64_avx2(const char *at, char c)
{
    const __m256i want = _mm256_set1_epi8(c);
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)at);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(at + 32));

    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, want)) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, want)) << 32;
}

INLINE uint64_t match64_plain(const char *at, char c)
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
INLINE uint64_t match64_plain(const char *at, char c)
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

/* ---- positions ---- */

/* Write the position of each set bit; returns how many there were. */
INLINE size_t spread(uint64_t mask, uint32_t base, uint32_t *out)
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

INLINE size_t scan(match64 match, const char *data, size_t from, size_t to, const char *c,
                   int bytes, uint32_t *out, size_t max)
{
    size_t n = 0;

    for (size_t at = from; at < to && n < max; at += 64) {
        uint64_t mask = match(data + at, c[0]);

        for (int i = 1; i < bytes; i++)
            mask |= match(data + at, c[i]);
        if (to - at < 64)
            mask &= (UINT64_C(1) << (to - at)) - 1;
        if (mask)
            n += spread(mask, (uint32_t)at, out + n);
    }
    return n < max ? n : max;
}

/* ---- for the processor at hand ---- */

#if defined(__x86_64__) && !defined(SCAN_PLAIN)
static AVX2 size_t one_avx2(const char *data, size_t from, size_t to, char c, uint32_t *out,
                            size_t max)
{
    return scan(match64_avx2, data, from, to, &c, 1, out, max);
}

static AVX2 size_t three_avx2(const char *data, size_t from, size_t to, const char *c,
                              uint32_t *out, size_t max)
{
    return scan(match64_avx2, data, from, to, c, 3, out, max);
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("popcnt");
}
#else
#define one_avx2(data, from, to, c, out, max) 0
#define three_avx2(data, from, to, c, out, max) 0
#define has_avx2() false
#endif

size_t scan_one(const char *data, size_t from, size_t to, char c, uint32_t *out, size_t max)
{
    return has_avx2() ? one_avx2(data, from, to, c, out, max)
                      : scan(match64_plain, data, from, to, &c, 1, out, max);
}

size_t scan_three(const char *data, size_t from, size_t to, const char c[3], uint32_t *out,
                  size_t max)
{
    return has_avx2() ? three_avx2(data, from, to, c, out, max)
                      : scan(match64_plain, data, from, to, c, 3, out, max);
}
