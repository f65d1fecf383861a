/* expiry_avx512.h - lines whose slots expire, in registers: clean_line() is expiry_clean(), and
 * move_with_code() moves prints and codes. Included by recent_lines.h. */

/* Codes of `e` bits, from bit 488 down. Word q of a register of bytes has those of slots 8 q to 8 q
 * + 7, from the eight bytes in which they are. */
#define CODE_BIT(e, i) (LINE_ROOM_TTL - (e) * ((i) + 1))
#define CODES_FROM(e, q) (CODE_BIT(e, 8 * (q) + 7) / 8) /* byte */
#define CODE_SOURCE(e, q, i) ((CODES_FROM(e, q) + (i)) & 63)
#define CODE_CUT(e, q, i) ((CODE_BIT(e, 8 * (q) + (i)) - 8 * CODES_FROM(e, q)) & 63)
static const struct expiry_places {
    _Alignas(LINE_BYTES) uint8_t source[LINE_BYTES]; /* for each byte of codes: byte of the line, */
    uint8_t cut[LINE_BYTES];                         /* and the first of its bits */
} expiry_places[] = {
#define EXPIRY_PLACES(e)                                                                           \
    {                                                                                              \
        WORDS(CODE_SOURCE, e, 0), WORDS(CODE_CUT, e, 0)                                            \
    }
    EXPIRY_PLACES(3), EXPIRY_PLACES(4), EXPIRY_PLACES(5), EXPIRY_PLACES(6), EXPIRY_PLACES(7)};

/* The slots that have bits in a byte of a line: one with an even number and one with an odd one. */
#define SLOT_AT(w, bit) ((bit) / (w))
#define EVEN_OWNER(w, i) (SLOT_AT(w, 8 * (i) + 7 * (SLOT_AT(w, 8 * (i)) % 2)) & 63)
#define ODD_OWNER(w, i) (SLOT_AT(w, 8 * (i) + 7 * (SLOT_AT(w, 8 * (i)) % 2 == 0)) & 63)
#define OWNERS(w)                                                                                  \
    {                                                                                              \
        BYTES(EVEN_OWNER, w), BYTES(ODD_OWNER, w)                                                  \
    }
static const struct line_owners {
    _Alignas(2 * LINE_BYTES) uint8_t even[LINE_BYTES];
    uint8_t odd[LINE_BYTES];
} line_owners[LINE_WIDTHS] = {LINE_EACH_WIDTH(OWNERS)};

/* A byte for each of 128 codes. */
INLINED __m512i expiry_look_up(const uint8_t *table, __m512i codes)
{
    return _mm512_permutex2var_epi8(line_register(table), codes, line_register(table + LINE_BYTES));
}

/* Which slots are alive now in a line that was last observed `passed` units ago: as
 * expiry_clean(). */
INLINED uint64_t expiry_alive(const struct expiry_clock *c, __m512i codes, uint64_t passed)
{
    const __m512i k = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    /* units from now to the next step of each level, less one */
    __m512i rest =
        _mm512_sub_epi32(_mm512_sllv_epi32(_mm512_set1_epi32(1), k), _mm512_set1_epi32(1));
    rest = _mm512_andnot_si512(_mm512_set1_epi32((int)(uint32_t)c->now), rest);
    __m512i steps = _mm512_srlv_epi32(_mm512_add_epi32(_mm512_set1_epi32((int)passed), rest), k);
    __m128i below =
        _mm_subs_epu8(_mm_set1_epi8((char)c->ttl->residues), _mm512_cvtusepi32_epi8(steps));
    __m512i levels = expiry_look_up(expiry_levels_of(c->ttl), codes);

    return _mm512_cmplt_epu8_mask(expiry_look_up(c->ahead, codes),
                                  _mm512_shuffle_epi8(_mm512_broadcast_i32x4(below), levels));
}

/* A line in which some slots are empty. */
INLINED __m512i line_without(__m512i line, uint32_t index, uint64_t slots)
{
    __m512i all = _mm512_movm_epi8(slots);
    __m512i even = _mm512_permutexvar_epi8(line_register(line_owners[index].even), all);
    __m512i odd = _mm512_permutexvar_epi8(line_register(line_owners[index].odd), all);

    return _mm512_andnot_si512(line_either(line_register(line_place[index].even), even, odd), line);
}

INLINED void clean_line(const weir_filter *w, uint8_t *at, uint64_t now,
                        const struct expiry_clock *c)
{
    const uint32_t index = line_index(at), bits = c->ttl->bits, slots = slots_of(w, at);
    const struct expiry_places *p = &expiry_places[bits - EXPIRY_BITS_MIN];
    __m512i line = line_register(at);
    __m512i codes = _mm512_permutexvar_epi8(line_register(p->source), line);

    codes = _mm512_multishift_epi64_epi8(line_register(p->cut), codes);
    codes = _mm512_and_si512(codes, _mm512_set1_epi8((char)((1u << bits) - 1)));
    uint64_t alive = expiry_alive(c, codes, (now - line_clock(at)) & (CLOCK_WRAP - 1));
    line = line_without(line, index, line_slots(index, slots) & ~alive);
    __m512i prints = _mm512_andnot_si512(line_beyond((uint64_t)slots * line_width[index]), line);
    line = _mm512_maskz_mov_epi64((__mmask8) - (_mm512_test_epi64_mask(prints, prints) != 0), line);
    line = _mm512_mask_mov_epi8(line, UINT64_C(3) << 61,
                                _mm512_set1_epi64((long long)((now & (CLOCK_WRAP - 1)) << 40)));
    _mm512_storeu_si512(at, line);
}

/* A line in which codes between bits `first` and `last` move one slot on, to make room for another
 * one up to bit `end`. All three are in memory, and the code. */
INLINED __m512i codes_moved(__m512i line, __m512i bits, const uint64_t *first, const uint64_t *last,
                            const uint64_t *end, const uint64_t *code)
{
    __m512i next = _mm512_alignr_epi64(_mm512_setzero_si512(), line, 1);
    __m512i moved = _mm512_shrdv_epi64(line, next, bits), at = line_beyond_at(last);
    __m512i word = _mm512_rolv_epi64(line_word_at(code), line_word_at(last));

    line = line_either(_mm512_andnot_si512(at, line_beyond_at(first)), moved, line);
    return line_either(_mm512_andnot_si512(line_beyond_at(end), at), word, line);
}

INLINED void move_with_code(uint8_t *at, const uint32_t index, uint64_t from, uint64_t to,
                            uint32_t print, const uint64_t bits, uint64_t code)
{
    const uint64_t first = LINE_ROOM_TTL - bits * (line_first(index, from) + 1);
    const uint64_t last = LINE_ROOM_TTL - bits * (line_first(index, to) + 1), end = last + bits;
    __m512i line = codes_moved(line_register(at), _mm512_set1_epi64((long long)bits), &first, &last,
                               &end, &code);

    _mm512_storeu_si512(at, line_moved_from(line, index, from, to, print));
}
