/* line_avx512.h - the operations of line.h with a whole line in one register; line.h includes
 * it where the file is compiled for AVX-512 with its instructions on bytes (VBMI, VBMI2). */
#ifndef WEIR_BASE_LINE_AVX512_H
#define WEIR_BASE_LINE_AVX512_H

#include <immintrin.h>

/* Slots are spread into lanes of two bytes, or of four where they are wider. Word q of a register
 * of lanes has so many slots; they begin in one byte of the line, at bit 0 or 4 (2 or 6). So
 * eight bytes are gathered from there on, and each lane is cut out of them. */
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define BEGIN(slots, w, q) ((slots) * (w) * (q)) /* of the slots of word q: a bit of the line */
#define SOURCE(slots, w, q, i) LEAST(BEGIN(slots, w, q) / 8 + (i), LINE_BYTES - 1)
#define LANE_BYTES(slots) (8 / (slots))
#define CUT(slots, w, q, i)                                                                        \
    ((BEGIN(slots, w, q) % 8 + (i) / LANE_BYTES(slots) * (w) + (i) % LANE_BYTES(slots) * 8) & 63)
#define WORD(DO, slots, w, q)                                                                      \
    DO(slots, w, q, 0), DO(slots, w, q, 1), DO(slots, w, q, 2), DO(slots, w, q, 3),                \
        DO(slots, w, q, 4), DO(slots, w, q, 5), DO(slots, w, q, 6), DO(slots, w, q, 7)
#define WORDS(DO, slots, w, q)                                                                     \
    {                                                                                              \
        WORD(DO, slots, w, q), WORD(DO, slots, w, (q) + 1), WORD(DO, slots, w, (q) + 2),           \
            WORD(DO, slots, w, (q) + 3), WORD(DO, slots, w, (q) + 4), WORD(DO, slots, w, (q) + 5), \
            WORD(DO, slots, w, (q) + 6), WORD(DO, slots, w, (q) + 7)                               \
    }
#define IN_A_WORD(w) ((w) <= 16 ? 4 : 2)
#define NARROW(w)                                                                                  \
    {                                                                                              \
        {WORDS(SOURCE, IN_A_WORD(w), w, 0), WORDS(SOURCE, IN_A_WORD(w), w, 8)},                    \
            WORDS(CUT, IN_A_WORD(w), w, 0)                                                         \
    }
#define WIDE(w)                                                                                    \
    {                                                                                              \
        {WORDS(SOURCE, 2, w, 0), WORDS(SOURCE, 2, w, 8), WORDS(SOURCE, 2, w, 16),                  \
         WORDS(SOURCE, 2, w, 24)},                                                                 \
            WORDS(CUT, 2, w, 0)                                                                    \
    }

/* For comparing, in as narrow lanes as can be. */
static const struct line_narrow {
    _Alignas(64) uint8_t source[2][LINE_BYTES];
    _Alignas(64) uint8_t cut[LINE_BYTES];
} line_narrow[LINE_WIDTHS] = {NARROW(32), NARROW(24), NARROW(20), NARROW(16),
                              NARROW(15), NARROW(14), NARROW(13), NARROW(12),
                              NARROW(11), NARROW(10), NARROW(9),  NARROW(8)};

/* For reading, in lanes of four bytes. */
static const struct line_wide {
    _Alignas(64) uint8_t source[4][LINE_BYTES];
    _Alignas(64) uint8_t cut[LINE_BYTES];
} line_wide[LINE_WIDTHS] = {WIDE(32), WIDE(24), WIDE(20), WIDE(16), WIDE(15), WIDE(14),
                            WIDE(13), WIDE(12), WIDE(11), WIDE(10), WIDE(9),  WIDE(8)};

INLINED __m512i line_register(const void *at)
{
    return _mm512_loadu_si512(at);
}

INLINED __m512i line_lanes(__m512i line, const uint8_t *source, const uint8_t *cut)
{
    __m512i words = _mm512_permutexvar_epi8(line_register(source), line);

    return _mm512_multishift_epi64_epi8(line_register(cut), words);
}

/* Of the first or second register of lanes those that hold value. */
INLINED uint64_t line_equal_lanes(__m512i line, const uint32_t index, const uint32_t half,
                                  uint32_t value)
{
    const struct line_narrow *t = &line_narrow[index];
    const uint32_t bits = line_width[index], mask = (uint32_t)((UINT64_C(1) << bits) - 1);
    __m512i lanes = line_lanes(line, t->source[half], t->cut);

    if (bits > 16)
        return _mm512_cmpeq_epi32_mask(_mm512_and_si512(lanes, _mm512_set1_epi32((int)mask)),
                                       _mm512_set1_epi32((int)value));
    return _mm512_cmpeq_epi16_mask(_mm512_and_si512(lanes, _mm512_set1_epi16((short)mask)),
                                   _mm512_set1_epi16((short)value));
}

/* Which of the first slots hold value: bit i for slot i. */
INLINED uint64_t line_match_in(const uint8_t *line, uint32_t index, uint32_t slots, uint32_t value)
{
    const uint32_t bits = line_width[index], lanes = bits > 16 ? 16 : 32;
    __m512i all = line_register(line);
    uint64_t found;

    if (bits == 32)
        found = _mm512_cmpeq_epi32_mask(all, _mm512_set1_epi32((int)value));
    else if (bits == 16)
        found = _mm512_cmpeq_epi16_mask(all, _mm512_set1_epi16((short)value));
    else if (bits == 8)
        found = _mm512_cmpeq_epi8_mask(all, _mm512_set1_epi8((char)value));
    else
        found = line_equal_lanes(all, index, 0, value) | line_equal_lanes(all, index, 1, value)
                                                             << lanes;
    return found & ((UINT64_C(1) << slots) - 1);
}

/* The bits of a line below `room`, which lies in its last eight bytes. */
INLINED __m512i line_limit(const uint32_t room)
{
    return _mm512_set_epi64((long long)((UINT64_C(1) << (room - 448)) - 1), -1, -1, -1, -1, -1, -1,
                            -1);
}

/* How many slots are in use, of those that end before bit `room`: the highest bit that
 * is set lies in the last of them. */
static inline uint32_t line_used(const uint8_t *line, uint32_t index, uint32_t room)
{
    __m512i all = _mm512_and_si512(line_register(line), line_limit(room));
    uint32_t last = 31 - (uint32_t)__builtin_clz(_mm512_test_epi64_mask(all, all) | 1u);
    uint64_t word =
        bits_load64(line + 8 * last) & (last == 7 ? (UINT64_C(1) << (room - 448)) - 1 : UINT64_MAX);
    uint32_t bit = 64 * last + 63 - (uint32_t)__builtin_clzll(word | 1);

    return word ? bit / line_width[index] + 1 : 0;
}

/* ---- moving ---- */

/* Slots that are lanes are told apart by their number, others by their bits. */
INLINED bool line_has_lanes(const uint32_t bits)
{
    return __builtin_constant_p(bits) && (bits == 32 || bits == 16 || bits == 8);
}

/* Of slots that are lanes: those of b where a bit is set, of a elsewhere. */
INLINED __m512i line_blend(const uint32_t bits, uint64_t slots, __m512i a, __m512i b)
{
    return bits == 32   ? _mm512_mask_mov_epi32(a, (__mmask16)slots, b)
           : bits == 16 ? _mm512_mask_mov_epi16(a, (__mmask32)slots, b)
                        : _mm512_mask_mov_epi8(a, slots, b);
}

INLINED __m512i line_lanes_of(const uint32_t bits, uint32_t value)
{
    return bits == 32   ? _mm512_set1_epi32((int)value)
           : bits == 16 ? _mm512_set1_epi16((short)value)
                        : _mm512_set1_epi8((char)value);
}

/* The bits from bit n of the line on. */
INLINED __m512i line_beyond(uint32_t n)
{
    const __m512i begins = _mm512_set_epi64(448, 384, 320, 256, 192, 128, 64, 0);

    return _mm512_sllv_epi64(_mm512_set1_epi64(-1),
                             _mm512_subs_epu16(_mm512_set1_epi64(n), begins));
}

/* a where a mask has ones, b elsewhere. */
INLINED __m512i line_either(__m512i mask, __m512i a, __m512i b)
{
    return _mm512_ternarylogic_epi64(mask, a, b, 0xca);
}

/* All slots one place down, and value in slot 0. */
INLINED __m512i line_shifted(__m512i line, const uint32_t bits, uint32_t value)
{
    __m512i own = _mm512_set1_epi64((long long)((uint64_t)value << (64 - bits)));

    return _mm512_shldv_epi64(line, _mm512_alignr_epi64(line, own, 7),
                              _mm512_set1_epi64((long long)bits));
}

/* line_move() to slot 0, which is what most are; of slots of this many bits. */
INLINED void line_to_front(uint8_t *out, const uint8_t *line, const uint32_t bits, uint32_t from,
                           uint32_t value)
{
    __m512i old = line_register(line), shifted = line_shifted(old, bits, value);

    _mm512_storeu_si512(out, line_has_lanes(bits)
                                 ? line_blend(bits, (UINT64_C(2) << from) - 1, old, shifted)
                                 : line_either(line_beyond((from + 1) * bits), old, shifted));
}

/* Shift the slots to..from-1 one place down and put value in slot `to`. */
INLINED void line_move(uint8_t *out, const uint8_t *line, const uint32_t bits, uint32_t from,
                       uint32_t to, uint32_t value)
{
    __m512i old = line_register(line), begin = line_beyond(to * bits);

    if (line_has_lanes(bits)) {
        __m512i shifted = line_shifted(old, bits, 0);
        uint64_t here = UINT64_C(1) << to, moving = (UINT64_C(2) << from) - here;

        shifted = line_blend(bits, here, shifted, line_lanes_of(bits, value));
        _mm512_storeu_si512(out, line_blend(bits, moving, old, shifted));
        return;
    }
    __m512i next = line_beyond((to + 1) * bits), after = line_beyond((from + 1) * bits);
    uint32_t up = to * bits & 63;
    uint64_t placed = (uint64_t)value << up | (uint64_t)value >> (-up & 63); /* in every word */
    __m512i moved = line_either(_mm512_andnot_si512(after, next), line_shifted(old, bits, 0), old);

    _mm512_storeu_si512(out, line_either(_mm512_andnot_si512(next, begin),
                                         _mm512_set1_epi64((long long)placed), moved));
}

/* line_to_front() of a line whose slots from `live` on are empty from now on, and whose
 * last bytes, from bit `room` on, become those of `tail`, a word. */
INLINED void line_renew(uint8_t *out, const uint8_t *line, const uint32_t bits, const uint32_t room,
                        uint32_t live, uint32_t from, uint32_t value, uint64_t tail)
{
    __m512i limit = line_limit(room);
    __m512i kept =
        _mm512_andnot_si512(line_beyond(live * bits), _mm512_and_si512(line_register(line), limit));
    __m512i moved =
        line_either(line_beyond((from + 1) * bits), kept, line_shifted(kept, bits, value));

    _mm512_storeu_si512(
        out, line_either(limit, moved, _mm512_maskz_set1_epi64(1 << 7, (long long)tail)));
}

/* ---- cutting ---- */

/* Sixteen slots as numbers of 32 bits, without their low bits. */
INLINED __m512i line_numbers(__m512i line, uint32_t index, uint32_t sixteen, uint32_t dropped)
{
    const struct line_wide *t = &line_wide[index];
    __m512i mask = _mm512_set1_epi32((int)((UINT64_C(1) << line_width[index]) - 1));
    __m512i lanes = line_lanes(line, t->source[sixteen], t->cut);

    return _mm512_srl_epi32(_mm512_and_si512(lanes, mask), _mm_cvtsi32_si128((int)dropped));
}

/* All slots as numbers of 32 bits, without their low bits. */
static inline void line_read(const uint8_t *line, uint32_t index, uint32_t used, uint32_t dropped,
                             uint32_t values[LINE_SLOTS_MOST + 1])
{
    for (uint32_t i = 0; 16 * i < used; i++)
        _mm512_storeu_si512(values + 16 * i, line_numbers(line_register(line), index, i, dropped));
}

/* Are two of the first n numbers equal? None of them is zero, and all after them are. */
INLINED bool line_repeat(__m512i first, __m512i second, uint32_t n)
{
    const uint32_t valid = UINT32_MAX >> (32 - n), crossing = LINE_ROOM / 20 - 16;
    __m512i before = _mm512_conflict_epi32(first);
    __mmask16 equal = _mm512_mask_test_epi32_mask((__mmask16)valid, before, before);

    if (n <= 16)
        return equal;
    before = _mm512_conflict_epi32(second);
    equal |= _mm512_mask_test_epi32_mask((__mmask16)(valid >> 16), before, before);
#pragma GCC unroll 9
    for (uint32_t i = 0; i < crossing; i++)
        equal |= _mm512_cmpeq_epi32_mask(
            first, _mm512_permutexvar_epi32(_mm512_set1_epi32((int)i), second));
    return equal;
}

/* Where the bytes of a line of slots of two times so many bits come from: two slots to a word,
 * sixteen of them in two registers. */
#define PACK(bytes, i) (((i) / (bytes)*8 + (i) % (bytes)) & 127)
#define PACK8(b, i)                                                                                \
    PACK(b, i), PACK(b, (i) + 1), PACK(b, (i) + 2), PACK(b, (i) + 3), PACK(b, (i) + 4),            \
        PACK(b, (i) + 5), PACK(b, (i) + 6), PACK(b, (i) + 7)
#define PACKS(b)                                                                                   \
    {                                                                                              \
        PACK8(b, 0), PACK8(b, 8), PACK8(b, 16), PACK8(b, 24), PACK8(b, 32), PACK8(b, 40),          \
            PACK8(b, 48), PACK8(b, 56)                                                             \
    }
#define PACKED_APART 3 /* widths: to 24, 20 and 16 bits, two of which are whole bytes */
static const _Alignas(64) uint8_t line_packs[PACKED_APART][LINE_BYTES] = {PACKS(6), PACKS(5),
                                                                          PACKS(4)};

/* A line that was cut: its slots anew, its index the next, the rest from bit `room` on as it was.
 */
INLINED void line_store_cut(uint8_t *line, uint32_t index, uint32_t room, __m512i slots)
{
    uint64_t tail = (bits_load64(line + 56) & UINT64_MAX >> 8) | (uint64_t)(index + 1) << 56;

    _mm512_storeu_si512(line, line_either(line_limit(room), slots,
                                          _mm512_maskz_set1_epi64(1 << 7, (long long)tail)));
}

/* line_cut() of wide numbers, none of which become equal: there are at most 25. False if some
 * do: then nothing is done. */
static inline bool line_cut_apart(uint8_t *line, uint32_t index, uint32_t used, uint32_t room)
{
    uint32_t bits = line_width[index + 1], dropped = line_width[index] - bits;
    __m512i all = line_register(line);
    uint32_t valid = UINT32_MAX >> (32 - used);
    __m512i first = _mm512_maskz_mov_epi32((__mmask16)valid, line_numbers(all, index, 0, dropped));
    __m512i second =
        _mm512_maskz_mov_epi32((__mmask16)(valid >> 16), line_numbers(all, index, 1, dropped));
    if (line_repeat(first, second, used))
        return false;
    __m512i low = _mm512_set1_epi64((long long)((UINT64_C(1) << bits) - 1));
    __m128i down = _mm_cvtsi32_si128((int)(32 - bits));
    first = line_either(low, first, _mm512_srl_epi64(first, down));
    second = line_either(low, second, _mm512_srl_epi64(second, down));
    line_store_cut(line, index, room,
                   _mm512_permutex2var_epi8(first, line_register(line_packs[index]), second));
    return true;
}

/* Cuts of one bit, from 16 bits on: four slots become a word, two words so many bytes as a slot
 * has bits. The bytes of a line come from the words of even number and from the odd ones, or from
 * the last byte of all, which is zero: no line has a slot 63. */
#define CUT_FROM PACKED_APART /* index of 16 bits */
#define MEET_OFTEN 12         /* bits: cut to fewer, some mostly become equal */
#define NO_BYTE (2 * LINE_BYTES - 1)
#define EVEN(w, i) ((i) % (w) < ((w) + 1) / 2 ? (i) / (w)*16 + (i) % (w) : NO_BYTE)
#define ODD(w, i) ((i) % (w) >= (w) / 2 ? (i) / (w)*16 + 8 + (i) % (w) - (w) / 2 : NO_BYTE)
#define BYTES8(DO, w, i)                                                                           \
    DO(w, i), DO(w, (i) + 1), DO(w, (i) + 2), DO(w, (i) + 3), DO(w, (i) + 4), DO(w, (i) + 5),      \
        DO(w, (i) + 6), DO(w, (i) + 7)
#define BYTES(DO, w)                                                                               \
    {                                                                                              \
        BYTES8(DO, w, 0), BYTES8(DO, w, 8), BYTES8(DO, w, 16), BYTES8(DO, w, 24),                  \
            BYTES8(DO, w, 32), BYTES8(DO, w, 40), BYTES8(DO, w, 48), BYTES8(DO, w, 56)             \
    }
#define JOIN(w)                                                                                    \
    {                                                                                              \
        BYTES(EVEN, w), BYTES(ODD, w)                                                              \
    }
static const struct line_join {
    _Alignas(64) uint8_t even[LINE_BYTES];
    _Alignas(64) uint8_t odd[LINE_BYTES];
} line_joins[LINE_WIDTHS - 1 - CUT_FROM] = {JOIN(15), JOIN(14), JOIN(13), JOIN(12),
                                            JOIN(11), JOIN(10), JOIN(9),  JOIN(8)};

/* Thirty-two slots as numbers of 16 bits. */
INLINED __m512i line_shorts(__m512i line, uint32_t index, uint32_t half)
{
    const struct line_narrow *t = &line_narrow[index];

    return _mm512_and_si512(line_lanes(line, t->source[half], t->cut),
                            _mm512_set1_epi16((short)((1 << line_width[index]) - 1)));
}

/* Four neighbours to a word; the odd words begin in the middle of a byte if the even ones end
 * there. */
INLINED __m512i line_words(__m512i numbers, uint32_t bits)
{
    __m512i low = _mm512_set1_epi32((1 << bits) - 1);
    __m512i pairs =
        line_either(low, numbers, _mm512_srl_epi32(numbers, _mm_cvtsi32_si128((int)(16 - bits))));
    __m512i lower = _mm512_set1_epi64((1ll << 2 * bits) - 1);
    __m512i words =
        line_either(lower, pairs, _mm512_srl_epi64(pairs, _mm_cvtsi32_si128((int)(32 - 2 * bits))));

    return _mm512_mask_slli_epi64(words, 0xaa, words, 4 * (bits & 1));
}

/* Of n numbers those that came before them: bit i for number i. */
static inline uint64_t line_repeats(const __m512i halves[2], uint32_t n, uint32_t bits,
                                    struct line_rounds *r)
{
    uint16_t numbers[2 * LINE_BYTES / sizeof(uint16_t)];
    uint64_t repeats = 0;

    _mm512_storeu_si512(numbers, halves[0]);
    _mm512_storeu_si512(numbers + 32, halves[1]);
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

/* Of numbers in two registers those that were picked, in one: bit i for number i. If they are
 * more, the first. */
INLINED __m512i line_picked(const __m512i numbers[2], uint64_t picked)
{
    uint32_t here = (uint32_t)__builtin_popcount((uint32_t)picked);
    __m512i first = _mm512_maskz_compress_epi16((__mmask32)picked, numbers[0]);
    __m512i second = _mm512_maskz_compress_epi16((__mmask32)(picked >> 32), numbers[1]);

    return _mm512_mask_expand_epi16(first, (__mmask32)(UINT64_MAX << here), second);
}

/* The number of every lane of 16 bits. */
INLINED __m512i line_places(void)
{
    return _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14,
                            13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
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

/* Are two of n numbers equal? None of them is zero, and all after them are. Those of the first
 * register are compared with themselves, one to sixteen places on, and then with each of the
 * others. */
static inline bool line_meet(const __m512i numbers[2], uint32_t n)
{
    const uint32_t here = n < 32 ? n : 32;
    __m512i place = line_places();
    __mmask32 equal = 0;

#pragma GCC unroll 16
    for (uint32_t i = 1; i <= 16; i++)
        equal |= _mm512_cmpeq_epi16_mask(
            numbers[0], _mm512_permutexvar_epi16(
                            _mm512_add_epi16(place, _mm512_set1_epi16((short)i)), numbers[0]));
    equal &= UINT32_MAX >> (32 - here);
    for (uint32_t i = 0; i + 32 < n; i++) {
        __m512i one = _mm512_permutexvar_epi16(_mm512_set1_epi16((short)i), numbers[1]);

        equal |= _mm512_cmpeq_epi16_mask(numbers[0], one);
        equal |= _mm512_cmpeq_epi16_mask(numbers[1], one) & ((UINT32_C(1) << i) - 1);
    }
    return equal;
}

/* line_cut() by one bit. */
static inline uint32_t line_cut_bit(uint8_t *line, uint32_t index, uint32_t used, uint32_t room,
                                    bool may_drop, struct line_rounds *r)
{
    uint32_t bits = line_width[index + 1];
    __m512i all = _mm512_and_si512(line_register(line), line_limit(room));
    __m512i halves[2] = {line_shorts(all, index, 0), line_shorts(all, index, 1)};
    uint64_t repeats = 0;

    halves[0] = _mm512_srli_epi16(halves[0], 1);
    halves[1] = _mm512_srli_epi16(halves[1], 1);
    if (bits < MEET_OFTEN || line_meet(halves, used))
        repeats = line_repeats(halves, used, bits, r);
    if (repeats) {
        if (!may_drop)
            return 0;
        line_close(halves, repeats);
    }
    const struct line_join *t = &line_joins[index - CUT_FROM];
    __m512i first = line_words(halves[0], bits), second = line_words(halves[1], bits);
    __m512i even = _mm512_permutex2var_epi8(first, line_register(t->even), second);
    __m512i odd = _mm512_permutex2var_epi8(first, line_register(t->odd), second);
    line_store_cut(line, index, room, _mm512_or_si512(even, odd));
    return used - (uint32_t)__builtin_popcountll(repeats);
}

#endif
