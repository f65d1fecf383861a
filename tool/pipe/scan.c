/* scan.c - see scan.h. */
#include "pipe/scan.h"

/* The mask of the block at `at`, without bits from `to` on. */
MATCH_INLINE uint64_t mask_of(match_function match, const char *data, size_t at, size_t to,
                              const char *c, int bytes)
{
    uint64_t mask = match(data + at, c[0]);

    for (int i = 1; i < bytes; i++)
        mask |= match(data + at, c[i]);
    return to - at < 64 ? mask & ((UINT64_C(1) << (to - at)) - 1) : mask;
}

MATCH_INLINE size_t find(match_function match, const char *data, size_t from, size_t to,
                         const char *c, int bytes, uint32_t *out, size_t max)
{
    size_t n = 0;

    for (size_t at = from; at < to && n < max; at += 64) {
        uint64_t mask = mask_of(match, data, at, to, c, bytes);

        n += match_positions(mask, (uint32_t)at, out + n);
    }
    return n < max ? n : max;
}

MATCH_INLINE size_t count(match_function match, const char *data, size_t from, size_t to, char c)
{
    size_t n = 0;

    for (size_t at = from; at < to; at += 64)
        n += (size_t)__builtin_popcountll(mask_of(match, data, at, to, &c, 1));
    return n;
}

/* ---- for the processor at hand ---- */

static MATCH_AVX2 size_t one_avx2(const char *data, size_t from, size_t to, char c, uint32_t *out,
                                  size_t max)
{
    return find(match64_avx2, data, from, to, &c, 1, out, max);
}

static MATCH_AVX2 size_t three_avx2(const char *data, size_t from, size_t to, const char *c,
                                    uint32_t *out, size_t max)
{
    return find(match64_avx2, data, from, to, c, 3, out, max);
}

static MATCH_AVX2 size_t count_avx2(const char *data, size_t from, size_t to, char c)
{
    return count(match64_avx2, data, from, to, c);
}

size_t scan_one(const char *data, size_t from, size_t to, char c, uint32_t *out, size_t max)
{
    return match_has_avx2() ? one_avx2(data, from, to, c, out, max)
                            : find(match64, data, from, to, &c, 1, out, max);
}

size_t scan_three(const char *data, size_t from, size_t to, const char c[3], uint32_t *out,
                  size_t max)
{
    return match_has_avx2() ? three_avx2(data, from, to, c, out, max)
                            : find(match64, data, from, to, c, 3, out, max);
}

size_t scan_count(const char *data, size_t from, size_t to, char c)
{
    return match_has_avx2() ? count_avx2(data, from, to, c) : count(match64, data, from, to, c);
}
