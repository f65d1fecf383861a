/* line_avx512_place.h - looks up fingerprints in lines of any width, for eight keys at a time.
 * line_avx512.h includes it.
 *
 * The fingerprint is repeated along a register, as if every slot contained it, and XORed with the
 * line. Bytes are tested for zero. A byte may belong to two slots, so even and odd slots are
 * tested apart, with the other slots' bits cleared. The result is two words per line, one bit per
 * byte. line_equal_slots() then computes the equal slots of eight lines at once. A slot is
 * identified by the byte in which it begins; no two slots begin in the same byte. */
#ifndef WEIR_BASE_LINE_AVX512_PLACE_H
#define WEIR_BASE_LINE_AVX512_PLACE_H

/* A number is at the upper end of a word and again at its lower end. Reading its bits from the
 * first one on therefore wraps around to the first after the last. */
#define FROM(w, i) (64 - (w) + 8 * (i) % (w))
#define PLACES(w)                                                                                  \
    {                                                                                              \
        BYTES(FROM, w), BYTES(EVEN_BITS, w), 64 - (w)                                              \
    }

static const struct line_place {
    _Alignas(256) uint8_t from[LINE_BYTES]; /* for each byte of the line: its bits of the number */
    uint8_t even[LINE_BYTES];               /* the bits of each byte that belong to even slots */
    uint64_t rest;                          /* the bits of a word that the number does not use */
} line_place[LINE_WIDTHS] = {LINE_EACH_WIDTH(PLACES)};

/* The zero bytes of a register: bit i for byte i. */
struct line_zeros {
    uint64_t *even, *odd;
};

INLINED void line_store_zeros(struct line_zeros out, __m512i all, const struct line_place *t)
{
    __m512i even = line_register(t->even), odd = _mm512_andnot_si512(even, all);

    _store_mask64((__mmask64 *)out.even, _mm512_testn_epi8_mask(all, even));
    _store_mask64((__mmask64 *)out.odd, _mm512_testn_epi8_mask(odd, odd));
}

/* Find the bytes of a line that are equal to a fingerprint, which is at the upper end of a word,
 * and those that are zero. */
INLINED void line_store_equal(struct line_zeros out, const uint8_t *line,
                              const struct line_place *t, uint64_t print)
{
    __m512i both = _mm512_set1_epi64((long long)(print | print >> t->rest));
    __m512i all = _mm512_multishift_epi64_epi8(line_register(t->from), both);

    line_store_zeros(out, _mm512_xor_si512(all, line_register(line)), t);
}

INLINED void line_store_empty(struct line_zeros out, const uint8_t *line,
                              const struct line_place *t)
{
    line_store_zeros(out, line_register(line), t);
}

/* ---- of eight lines, by their indexes ---- */

#define BEGINS_OF(w) SLOTS(SLOT_BEGINS, w)
#define EVENS_OF(w) SLOTS(SLOT_IS_EVEN, w)
#define SHORTS_OF(w) SLOTS(SLOT_IS_SHORT, w)
static const _Alignas(64) uint64_t line_begins[16] = {LINE_EACH_WIDTH(BEGINS_OF)};
static const _Alignas(64) uint64_t line_evens[16] = {LINE_EACH_WIDTH(EVENS_OF)};
static const _Alignas(64) uint64_t line_shorts[16] = {LINE_EACH_WIDTH(SHORTS_OF)};
static const _Alignas(64) uint32_t line_forms[16] = {LINE_EACH_WIDTH(FORM)};

/* A number of each width, for eight lines. */
INLINED __m512i line_by_index(const uint64_t table[16], __m512i index)
{
    return _mm512_permutex2var_epi64(line_register(table), index, line_register(table + 8));
}

INLINED __m512i line_by_index32(const uint32_t table[16], __m512i index)
{
    return _mm512_maskz_permutexvar_epi32(0x5555, index, line_register(table));
}

/* The slots whose bytes are all zero: the first two, the third, and the fourth if there is one. */
INLINED __m512i line_whole(const uint64_t *zeros, __m512i shorts, __mmask8 widest)
{
    __m512i bytes = line_register(zeros);
    __m512i whole = _mm512_and_si512(bytes, _mm512_srli_epi64(bytes, 1));

    whole = _mm512_ternarylogic_epi64(whole, _mm512_srli_epi64(bytes, 2), shorts, 0xe0);
    return _mm512_mask_and_epi64(whole, widest, whole, _mm512_srli_epi64(bytes, 3));
}

/* The slots of a set that line_store_zeros() found to be zero. */
INLINED __m512i line_equal_slots(struct line_zeros zeros, __m512i index, __m512i slots)
{
    const __mmask8 widest = _mm512_testn_epi64_mask(index, index);
    __m512i shorts = line_by_index(line_shorts, index);
    __m512i even = line_whole(zeros.even, shorts, widest);
    __m512i odd = line_whole(zeros.odd, shorts, widest);

    return _mm512_and_si512(slots, line_either(line_by_index(line_evens, index), even, odd));
}

/* The number of the first slot of a set, from the forms of the widths. Undefined for an empty
 * set. */
INLINED __m512i line_firsts(__m512i slots, __m512i forms)
{
    __m512i lowest = _mm512_and_si512(slots, _mm512_sub_epi64(_mm512_setzero_si512(), slots));
    __m512i byte = _mm512_sub_epi64(_mm512_set1_epi64(63), _mm512_lzcnt_epi64(lowest));
    __m512i last_bit = _mm512_or_si512(_mm512_slli_epi64(byte, 3), _mm512_set1_epi64(7));

    return _mm512_mulhi_epu16(last_bit, forms);
}

#endif
