/* weir_spots.h - the spots of eight keys at once; included by weir_paths.h where it is compiled for
 * AVX-512. */

/* The upper half of a * b, eight times; b is less than 2^32. */
INLINED __m512i scale_eight(__m512i a, uint64_t b)
{
    __m512i factor = _mm512_set1_epi64((long long)b);
    __m512i low = _mm512_srli_epi64(_mm512_mul_epu32(a, factor), 32);
    __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), factor);

    return _mm512_srli_epi64(_mm512_add_epi64(low, high), 32);
}

/* One word out of three, of eight keys. */
INLINED __m512i nth_words(const __m512i keys[3], const long long n)
{
    const __m512i first = _mm512_set_epi64(0, 0, n + 15, n + 12, n + 9, n + 6, n + 3, n);
    const __m512i last = _mm512_set_epi64(n + 13, n + 10, n > 0 ? n + 7 : 5, 4, 3, 2, 1, 0);

    _Static_assert(sizeof(struct weir_key) == 24, "a key is three words");
    return _mm512_permutex2var_epi64(_mm512_permutex2var_epi64(keys[0], first, keys[1]), last,
                                     keys[2]);
}

/* Find the spots of eight keys of a batch, from the i-th on. */
INLINED void find_eight(const struct walk *t, size_t i, const enum manner m)
{
    const size_t at = i % RING;
    __m512i keys[3], lines, prints;

    if (t->located) {
        __m512i spots = _mm512_loadu_si512(t->p.spots + i);

        lines = _mm512_srli_epi64(spots, 32);
        prints = _mm512_and_si512(spots, _mm512_set1_epi64(UINT32_MAX));
    } else {
        for (uint32_t j = 0; j < 3; j++)
            keys[j] = _mm512_loadu_si512((const uint8_t *)(t->p.keys + i) + 64 * j);
        lines = scale_eight(nth_words(keys, 0), t->lines);
        prints = _mm512_add_epi64(scale_eight(nth_words(keys, 1), UINT64_C(255) << 24),
                                  _mm512_set1_epi64(1 << 24));
    }
    _mm512_storeu_si512(t->ring->line + at,
                        _mm512_add_epi64(_mm512_slli_epi64(lines, 6),
                                         _mm512_set1_epi64((long long)(uintptr_t)t->cells)));
    _mm512_storeu_si512(t->ring->print + at, _mm512_slli_epi64(prints, 32));
    if (m == RANKED)
        _mm256_storeu_si256((__m256i *)(t->ring->depth + at),
                            _mm512_cvtepi64_epi32(nth_words(keys, 2)));
}
