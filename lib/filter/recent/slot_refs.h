/* slot_refs.h - lines and prints of a block of keys, eight at once, with AVX-512. Included by
 * recent_paths.h. */

/* The upper half of a * b, eight times; b is less than 2^32. */
INLINED __m512i scale_eight(__m512i a, uint64_t b)
{
    __m512i factor = _mm512_set1_epi64((long long)b);
    __m512i low = _mm512_srli_epi64(_mm512_mul_epu32(a, factor), 32);
    __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), factor);

    return _mm512_srli_epi64(_mm512_add_epi64(low, high), 32);
}

/* Eight keys as they are in memory. Three members and not an array, which GCC would keep in memory.
 */
struct eight_keys {
    __m512i first, second, third;
};

INLINED struct eight_keys keys_at(const struct weir_key *keys)
{
    const uint8_t *at = (const uint8_t *)keys;

    _Static_assert(sizeof(struct weir_key) == 24, "a key is three words");
    return (struct eight_keys){_mm512_loadu_si512(at), _mm512_loadu_si512(at + 64),
                               _mm512_loadu_si512(at + 128)};
}

/* One word out of three, of eight keys. */
INLINED __m512i nth_words(struct eight_keys keys, const long long n)
{
    const __m512i first = _mm512_set_epi64(0, 0, n + 15, n + 12, n + 9, n + 6, n + 3, n);
    const __m512i last = _mm512_set_epi64(n + 13, n + 10, n > 0 ? n + 7 : 5, 4, 3, 2, 1, 0);

    return _mm512_permutex2var_epi64(_mm512_permutex2var_epi64(keys.first, first, keys.second),
                                     last, keys.third);
}

/* Where they are written to, in the ring. */
struct found_refs {
    uint8_t **line;
    uint64_t *print;
    uint32_t *depth; /* of keys: their importance */
};

/* Store eight keys, from the i-th on, given the numbers of their lines and their prints. */
INLINED void store_eight(struct found_refs out, uint32_t i, const uint8_t *cells, __m512i lines,
                         __m512i prints)
{
    _mm512_storeu_si512(out.line + i,
                        _mm512_add_epi64(_mm512_slli_epi64(lines, 6),
                                         _mm512_set1_epi64((long long)(uintptr_t)cells)));
    _mm512_storeu_si512(out.print + i, _mm512_slli_epi64(prints, 32));
}

/* For the keys of a block. There are fewer than 2^32 lines. */
INLINED void find_keys(const struct weir_key *keys, uint8_t *cells, uint64_t lines,
                       struct found_refs out, const bool ranked)
{
#pragma GCC unroll 4
    for (uint32_t i = 0; i < BLOCK; i += 8) {
        struct eight_keys eight = keys_at(keys + i);

        store_eight(out, i, cells, scale_eight(nth_words(eight, 0), lines),
                    _mm512_add_epi64(scale_eight(nth_words(eight, 1), UINT64_C(255) << 24),
                                     _mm512_set1_epi64(1 << 24)));
        if (ranked)
            _mm256_storeu_si256((__m256i *)(out.depth + i),
                                _mm512_cvtepi64_epi32(nth_words(eight, 2)));
    }
}

/* For keys that locate() has been called for. */
INLINED void find_located(const uint64_t *slot_refs, uint8_t *cells, struct found_refs out)
{
    for (uint32_t i = 0; i < BLOCK; i += 8) {
        __m512i eight = _mm512_loadu_si512(slot_refs + i);

        store_eight(out, i, cells, _mm512_srli_epi64(eight, 32),
                    _mm512_and_si512(eight, _mm512_set1_epi64(UINT32_MAX)));
    }
}

/* For the block that begins with the i-th key of a batch. */
INLINED void find_together(const struct walk *t, size_t i, bool ranked)
{
    const size_t at = i % RING;
    const struct found_refs out = {t->ring->line + at, t->ring->print + at, t->ring->depth + at};

    if (t->p.slot_refs)
        find_located(t->p.slot_refs + i, t->cells, out);
    else if (ranked)
        find_keys(t->p.keys + i, t->cells, t->lines, out, true);
    else
        find_keys(t->p.keys + i, t->cells, t->lines, out, false);
}
