/* line_avx512_cut.h - truncates all fingerprints of a line. line_avx512.h includes it.
 *
 * Fingerprints are at the upper ends of their lanes, so a mask truncates them. Two neighbors are
 * joined at the upper end of four bytes, and two of those pairs at the upper end of a word. Then
 * the bytes of the words are gathered into a line. */
#ifndef WEIR_BASE_LINE_AVX512_CUT_H
#define WEIR_BASE_LINE_AVX512_CUT_H

/* Store a truncated line: its new slots and the next index. Bits from `limit` on are kept. */
INLINED void line_store_cut(uint8_t *line, uint32_t limit, __m512i slots)
{
    __m512i next = _mm512_maskz_set1_epi64(1 << 7, INT64_C(1) << 56);
    __m512i kept = _mm512_add_epi64(line_register(line), next);

    _mm512_storeu_si512(line, line_either(line_limit(limit), slots, kept));
}

INLINED __m128i line_count(uint32_t n)
{
    return _mm_cvtsi32_si128((int)n);
}

/* The number of every lane of 16 bits. */
INLINED __m512i line_places(void)
{
    return _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14,
                            13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
}

/* Are two of up to 32 numbers equal, among the valid ones? Each is compared with the next sixteen
 * in a ring. The minimum of the XORs is computed, which uses more execution ports than masks do. */
INLINED bool line_meet(__m512i numbers, __mmask32 valid)
{
    const __m512i odd =
        _mm512_permutexvar_epi16(_mm512_add_epi16(line_places(), _mm512_set1_epi16(1)), numbers);
    __m512i least = _mm512_xor_si512(numbers, odd);

#define MEET(on, i)                                                                                \
    least = _mm512_min_epu16(least, _mm512_xor_si512(numbers, _mm512_alignr_epi32(on, on, i)))
    MEET(numbers, 1), MEET(odd, 1), MEET(numbers, 2), MEET(odd, 2), MEET(numbers, 3);
    MEET(odd, 3), MEET(numbers, 4), MEET(odd, 4), MEET(numbers, 5), MEET(odd, 5);
    MEET(numbers, 6), MEET(odd, 6), MEET(numbers, 7), MEET(odd, 7), MEET(numbers, 8);
#undef MEET
    return _mm512_mask_testn_epi16_mask(valid, least, least);
}

/* ---- wide numbers ---- */

/* The source of each byte of a line, if two slots fill whole bytes at the upper end of a word:
 * sixteen pairs in two registers. */
#define PACK(bytes, i) (((i) / (bytes)*8 + 8 - (bytes) + (i) % (bytes)) & 127)
#define WIDE                                                                                       \
    3 /* the first widths are truncated to 24, 20 and 16 bits, where one or two slots are whole    \
         bytes */
static const _Alignas(64) uint8_t line_packs[WIDE - 1][LINE_BYTES] = {BYTES(PACK, 5),
                                                                      BYTES(PACK, 4)};

/* The source of each byte of a line of 24-bit slots: the upper three bytes of four-byte lanes. */
#define UPPER(bytes, i) (((i) / (bytes)*4 + 4 - (bytes) + (i) % (bytes)) & 63)
static const _Alignas(64) uint8_t line_upper3[LINE_BYTES] = BYTES(UPPER, 3);

/* line_cut() of the widest slots, at most 15. They are whole lanes, so one test shows whether two
 * become equal. Then returns false, and the line is unchanged. */
INLINED bool line_cut_widest(uint8_t *line, uint32_t used, uint32_t limit)
{
    __m512i all = line_register(line), cut = _mm512_srli_epi32(all, 8);
    __m512i before = _mm512_conflict_epi32(cut);

    if (_mm512_mask_test_epi32_mask((__mmask16)((1u << used) - 1), before, before))
        return false;
    line_store_cut(line, limit,
                   _mm512_maskz_permutexvar_epi8((UINT64_C(1) << 3 * used) - 1,
                                                 line_register(line_upper3), all));
    return true;
}

/* line_cut() of wide slots, at most 25, compared by their upper halves. Returns false if two may
 * become equal; then the line is unchanged. */
INLINED bool line_cut_wide(uint8_t *line, uint32_t index, uint32_t used, uint32_t limit)
{
    const struct line_spread *t = &line_spread[index];
    const uint32_t bits = line_width[index + 1], valid = UINT32_MAX >> (32 - used);
    __m512i all = line_register(line), kept = _mm512_set1_epi32((int)(UINT32_MAX << (32 - bits)));
    __m512i first = _mm512_maskz_and_epi32((__mmask16)valid, line_lanes(all, t, 0), kept);
    __m512i second = _mm512_maskz_and_epi32((__mmask16)(valid >> 16), line_lanes(all, t, 1), kept);
    __m512i upper = line_either(_mm512_set1_epi32((int)0xffff0000), second,
                                _mm512_srli_epi32(first, 16)); /* alternately from both */

    if (line_meet(upper, _mm512_test_epi16_mask(upper, upper)))
        return false;
    __m512i high = _mm512_set1_epi64((long long)(UINT64_MAX << (64 - bits)));
    first = line_either(high, first, _mm512_sll_epi64(first, line_count(32 - bits)));
    second = line_either(high, second, _mm512_sll_epi64(second, line_count(32 - bits)));
    line_store_cut(line, limit,
                   _mm512_permutex2var_epi8(first, line_register(line_packs[index - 1]), second));
    return true;
}

/* ---- cuts of one bit ---- */

/* From 16 bits down, four slots become a word, and two words become as many bytes as a slot has
 * bits. The bytes of a line come from the even and the odd words, or from the last byte of all,
 * which is zero because no line has a slot 63. */
#define MEET_OFTEN 12 /* bits: below this, some fingerprints usually become equal */
#define NO_BYTE (2 * LINE_BYTES - 1)
#define HALF_BYTES(w) (((w) + 1) / 2)
#define EVEN(w, i)                                                                                 \
    ((i) % (w) < HALF_BYTES(w) ? (i) / (w)*16 + 8 - HALF_BYTES(w) + (i) % (w) : NO_BYTE)
#define ODD(w, i)                                                                                  \
    ((i) % (w) >= (w) / 2 ? (i) / (w)*16 + 16 - HALF_BYTES(w) + (i) % (w) - (w) / 2 : NO_BYTE)
#define JOIN(w)                                                                                    \
    {                                                                                              \
        BYTES(EVEN, w), BYTES(ODD, w)                                                              \
    }
static const struct line_join {
    _Alignas(64) uint8_t even[LINE_BYTES];
    _Alignas(64) uint8_t odd[LINE_BYTES];
} line_joins[LINE_WIDTHS - 1 - WIDE] = {JOIN(15), JOIN(14), JOIN(13), JOIN(12),
                                        JOIN(11), JOIN(10), JOIN(9),  JOIN(8)};

/* Join four neighbors at the upper end of a word. For widths where words end within a byte, even
 * words are half a byte lower. */
INLINED __m512i line_words(__m512i numbers, uint32_t bits)
{
    __m512i high = _mm512_set1_epi32((int)(UINT32_MAX << (32 - bits)));
    __m512i pairs = line_either(high, numbers, _mm512_sll_epi32(numbers, line_count(16 - bits)));
    __m512i higher = _mm512_set1_epi64((long long)(UINT64_MAX << (64 - 2 * bits)));
    __m512i words = line_either(higher, pairs, _mm512_sll_epi64(pairs, line_count(32 - 2 * bits)));

    return _mm512_mask_srl_epi64(words, 0x55, words, line_count(4 * (bits & 1)));
}

/* The numbers that are equal to an earlier one: bit i for number i. */
static inline uint64_t line_repeats(const __m512i halves[2], uint32_t n, uint32_t bits,
                                    struct line_rounds *r)
{
    uint16_t numbers[2 * LINE_BYTES / sizeof(uint16_t)];
    uint64_t repeats = 0;

    for (uint32_t i = 0; i < 2; i++)
        _mm512_storeu_si512(numbers + 32 * i, _mm512_srl_epi16(halves[i], line_count(16 - bits)));
    line_next_round(r);
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *came = &r->came[numbers[i] & ((1 << LINE_LOW_BITS) - 1)];

        repeats |= (uint64_t)(*came == r->round) << i;
        *came = r->round;
    }
    if (bits <= LINE_LOW_BITS)
        return repeats;
    for (uint64_t left = repeats; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left), j = 0;

        while (numbers[j] != numbers[i])
            j++;
        if (j == i)
            repeats &= ~(UINT64_C(1) << i);
    }
    return repeats;
}

/* Compress the selected numbers of two registers into one: bit i for number i. If there are too
 * many, the first ones. */
INLINED __m512i line_picked(const __m512i numbers[2], uint64_t picked)
{
    uint32_t here = (uint32_t)__builtin_popcount((uint32_t)picked);
    __m512i first = _mm512_maskz_compress_epi16((__mmask32)picked, numbers[0]);
    __m512i second = _mm512_maskz_compress_epi16((__mmask32)(picked >> 32), numbers[1]);

    return _mm512_mask_expand_epi16(first, (__mmask32)(UINT64_MAX << here), second);
}

/* Close the gaps that dropped numbers leave: bit i for number i. */
static inline void line_close(__m512i halves[2], uint64_t dropped)
{
    uint32_t gaps = (uint32_t)__builtin_popcount((uint32_t)dropped);
    __m512i second = _mm512_maskz_compress_epi16((__mmask32)(~dropped >> 32), halves[1]);

    halves[0] = line_picked(halves, ~dropped);
    halves[1] = _mm512_maskz_permutexvar_epi16(
        (__mmask32)((UINT64_C(1) << (32 - gaps)) - 1),
        _mm512_add_epi16(line_places(), _mm512_set1_epi16((short)gaps)), second);
}

/* Are two of n numbers in two registers equal? */
INLINED bool line_halves_meet(const __m512i halves[2], uint32_t n)
{
    const uint64_t valid = UINT64_MAX >> (64 - n);
    __mmask32 equal = 0;

    if (line_meet(halves[0], (uint32_t)valid))
        return true;
    for (uint32_t i = 0; i + 32 < n; i++) {
        __m512i one = _mm512_permutexvar_epi16(_mm512_set1_epi16((short)i), halves[1]);

        equal |= _mm512_cmpeq_epi16_mask(halves[0], one);
        equal |= _mm512_cmpeq_epi16_mask(halves[1], one) & ((UINT32_C(1) << i) - 1);
    }
    return equal;
}

/* line_cut() by one bit. */
static __attribute__((noinline)) uint32_t line_cut_bit(uint8_t *line, uint32_t index, uint32_t used,
                                                       uint32_t limit, bool may_drop,
                                                       struct line_rounds *r)
{
    const struct line_spread *t = &line_spread[index];
    const uint32_t bits = line_width[index + 1];
    const uint64_t valid = UINT64_MAX >> (64 - used);
    __m512i all = line_register(line), kept = _mm512_set1_epi16((short)(0xffff << (16 - bits)));
    __m512i halves[2] = {_mm512_and_si512(line_lanes(all, t, 0), kept),
                         _mm512_and_si512(line_lanes(all, t, 1), kept)};
    uint64_t repeats = 0;

    halves[0] = _mm512_maskz_mov_epi16((__mmask32)valid, halves[0]);
    halves[1] = _mm512_maskz_mov_epi16((__mmask32)(valid >> 32), halves[1]);
    if (bits < MEET_OFTEN || line_halves_meet(halves, used))
        repeats = line_repeats(halves, used, bits, r);
    if (repeats) {
        if (!may_drop)
            return 0;
        line_close(halves, repeats);
    }
    const struct line_join *j = &line_joins[index - WIDE];
    __m512i first = line_words(halves[0], bits), second = line_words(halves[1], bits);
    __m512i even = _mm512_permutex2var_epi8(first, line_register(j->even), second);
    __m512i odd = _mm512_permutex2var_epi8(first, line_register(j->odd), second);
    line_store_cut(line, limit, _mm512_or_si512(even, odd));
    return used - (uint32_t)__builtin_popcountll(repeats);
}

#endif
