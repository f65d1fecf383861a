/* line.h - a cache line as a short list of equally wide numbers.
 *
 *   bit 0                                                        503     511
 *   | slot 0 | slot 1 | ... | slot n-1 | 0 | 0 |  spare           | width |
 *     newest                  oldest     empty                      byte 63
 *
 * Slots of `bits` bits lie packed from bit 0 on; those past the last one used
 * are zero, and no number in use is zero. The last byte says how wide they are:
 * an index into the twelve widths, so that a line of zeros is an empty one of
 * the widest.
 *
 * Two operations carry the filter built on it: find a number among all slots at
 * once, and move or insert one at any depth, which shifts a stretch of the line
 * by one slot. Both are here twice, in plain C and for AVX2 (chosen by how the
 * including file is compiled), and give the same bytes. */
#ifndef WEIR_BASE_LINE_H
#define WEIR_BASE_LINE_H

#include "base/bits.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

/* For what must be compiled with a width that is a constant. */
#define INLINED static inline __attribute__((always_inline))

#define LINE_BYTES 64
#define LINE_WIDTHS 12
#define LINE_ROOM 504 /* bits that slots may take */
#define LINE_SLOTS_MOST 63

/* Tables by index have 256 entries: a damaged line that a view comes upon may have any.
 * Beyond the twelve they repeat the last. */
#define LINE_REST4(x) x, x, x, x
#define LINE_REST16(x) LINE_REST4(x), LINE_REST4(x), LINE_REST4(x), LINE_REST4(x)
#define LINE_REST64(x) LINE_REST16(x), LINE_REST16(x), LINE_REST16(x), LINE_REST16(x)
#define LINE_REST(x)                                                                               \
    LINE_REST64(x), LINE_REST64(x), LINE_REST64(x), LINE_REST16(x), LINE_REST16(x),                \
        LINE_REST16(x), LINE_REST4(x)
#define LINE_INDEXES (LINE_WIDTHS + 3 * 64 + 3 * 16 + 4)

static const uint8_t line_width[LINE_INDEXES] = {32, 24, 20, 16, 15, 14,          13,
                                                 12, 11, 10, 9,  8,  LINE_REST(8)};

/* A fingerprint from half a hash: 32 bits, of which the first byte is never
 * zero, nor then any prefix. */
static inline uint32_t line_print(uint64_t word)
{
    return (uint32_t)((bits_u128)word * 255 >> 40) + (UINT32_C(1) << 24);
}

/* Which of the twelve a line has. */
static inline uint32_t line_index(const uint8_t *line)
{
    return line[LINE_BYTES - 1];
}

/* The eight bytes that hold slot i, never reaching beyond the line, and how far
 * up in them it lies. */
static inline uint32_t line_word(uint32_t bits, uint32_t i, uint32_t *shift)
{
    uint32_t byte = i * bits >> 3;

    byte = byte < LINE_BYTES - 8 ? byte : LINE_BYTES - 8;
    *shift = i * bits - 8 * byte;
    return byte;
}

static inline uint32_t line_get(const uint8_t *line, uint32_t bits, uint32_t i)
{
    uint32_t shift, byte = line_word(bits, i, &shift);

    return (uint32_t)(bits_load64(line + byte) >> shift & ((UINT64_C(1) << bits) - 1));
}

/* Put a value into a slot that is empty. */
static inline void line_put(uint8_t *line, uint32_t bits, uint32_t i, uint32_t value)
{
    uint32_t shift, byte = line_word(bits, i, &shift);

    bits_store64(line + byte, bits_load64(line + byte) | (uint64_t)value << shift);
}

#ifdef __AVX2__

/* All slots are compared at once, in lanes: of two bytes where a slot never
 * touches three, of four elsewhere. Sixteen bytes of lanes make a group, two
 * groups a register, and registers are packed into a mask of 32 slots. Packing
 * takes first halves first: so the halves of a register are as many groups apart
 * as a block has registers, and the mask comes out in order. */
#define LANE(w) ((w) == 16 || (w) == 12 || (w) <= 10 ? 2 : 4) /* bytes; registers in a block */
#define GROUP(w) (16 / LANE(w))                               /* slots */
#define FIRST(w, r) (2 * LANE(w) * ((r) / LANE(w)) + (r) % LANE(w))
#define SECOND(w, r) (FIRST(w, r) + LANE(w))
#define REGISTERS_MOST 8

/* A group is gathered from sixteen bytes that never reach beyond the line: which
 * byte of them goes where is a table, by width and register. */
#define LAST 48 /* where the last sixteen begin */
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define BASE(w, g) LEAST((g)*GROUP(w) * (w) >> 3, LAST)
#define BYTE(w, g, i) (((g)*GROUP(w) + (i) / LANE(w)) * (w) / 8 + (i) % LANE(w) - BASE(w, g))
#define PICK(w, g, i) (BYTE(w, g, i) < 16 ? BYTE(w, g, i) : 0x80)
#define PICK4(w, g, i) PICK(w, g, i), PICK(w, g, i + 1), PICK(w, g, i + 2), PICK(w, g, i + 3)
#define PICKS(w, g) PICK4(w, g, 0), PICK4(w, g, 4), PICK4(w, g, 8), PICK4(w, g, 12)
#define TWO(w, r)                                                                                  \
    {                                                                                              \
        PICKS(w, FIRST(w, r)), PICKS(w, SECOND(w, r))                                              \
    }

/* How far up in its bytes a slot lies, by lane: the same in every other group.
 * Lanes of two bytes can only be shifted by multiplying. */
#define LOW(w, i) ((i) * (w)&7)
#define SHIFT(w, i) (LANE(w) == 2 ? 1 << LOW(w, i) | 1 << (LOW(w, (i) + 1) + 16) : LOW(w, i))
#define LANES(w, i)                                                                                \
    SHIFT(w, i), SHIFT(w, (i) + 4 / LANE(w)), SHIFT(w, (i) + 8 / LANE(w)),                         \
        SHIFT(w, (i) + 12 / LANE(w))
#define GATHER(w)                                                                                  \
    {                                                                                              \
        {TWO(w, 0), TWO(w, 1), TWO(w, 2), TWO(w, 3), TWO(w, 4), TWO(w, 5), TWO(w, 6), TWO(w, 7)},  \
            {{LANES(w, 0), LANES(w, 0)}, {LANES(w, GROUP(w)), LANES(w, GROUP(w))}},                \
    }

static const struct {
    _Alignas(32) uint8_t bytes[REGISTERS_MOST][32];
    _Alignas(32) uint32_t shift[2][8];
} line_gather[LINE_WIDTHS] = {GATHER(32), GATHER(24), GATHER(20), GATHER(16),
                              GATHER(15), GATHER(14), GATHER(13), GATHER(12),
                              GATHER(11), GATHER(10), GATHER(9),  GATHER(8)};

/* A number in every lane of a register, shifted to where the slots lie. */
INLINED __m256i line_spread(uint32_t index, uint32_t r, uint32_t value)
{
    __m256i shift = _mm256_load_si256((const __m256i *)line_gather[index].shift[r % 2]);

    return LANE(line_width[index]) == 2 ? _mm256_mullo_epi16(_mm256_set1_epi16((short)value), shift)
                                        : _mm256_sllv_epi32(_mm256_set1_epi32((int)value), shift);
}

/* Register r of the line's slots: its lanes become ones where they hold value. */
INLINED __m256i line_lanes(const uint8_t *line, uint32_t index, uint32_t r, uint32_t value)
{
    const uint32_t bits = line_width[index];
    const __m128i *first = (const __m128i *)(line + BASE(bits, FIRST(bits, r)));
    const __m128i *second = (const __m128i *)(line + BASE(bits, SECOND(bits, r)));
    __m256i bytes = _mm256_set_m128i(_mm_loadu_si128(second), _mm_loadu_si128(first));
    __m256i picks = _mm256_load_si256((const __m256i *)line_gather[index].bytes[r]);
    __m256i mask = line_spread(index, r, (uint32_t)((UINT64_C(1) << bits) - 1));
    __m256i slots = _mm256_and_si256(_mm256_shuffle_epi8(bytes, picks), mask);
    __m256i wanted = line_spread(index, r, value);

    if (FIRST(bits, r) * GROUP(bits) * bits >= LINE_ROOM)
        return _mm256_setzero_si256();
    return LANE(bits) == 2 ? _mm256_cmpeq_epi16(slots, wanted) : _mm256_cmpeq_epi32(slots, wanted);
}

/* The slots of a block of 32 that hold value: bit i for slot i. */
INLINED uint32_t line_block(const uint8_t *line, uint32_t index, uint32_t block, uint32_t value)
{
    const uint32_t registers = LANE(line_width[index]), r = registers * block;
    __m256i a = line_lanes(line, index, r, value), b = line_lanes(line, index, r + 1, value);

    if (registers == 4) {
        a = _mm256_packs_epi32(a, b);
        b = _mm256_packs_epi32(line_lanes(line, index, r + 2, value),
                               line_lanes(line, index, r + 3, value));
    }
    return (uint32_t)_mm256_movemask_epi8(_mm256_packs_epi16(a, b));
}

/* Slots of sixteen bits are lanes already. */
static inline uint32_t line_block16(const uint8_t *line, uint32_t value)
{
    __m256i wanted = _mm256_set1_epi16((short)value);
    __m256i low = _mm256_cmpeq_epi16(_mm256_loadu_si256((const __m256i *)line), wanted);
    __m256i high = _mm256_cmpeq_epi16(_mm256_loadu_si256((const __m256i *)line + 1), wanted);
    __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), _MM_SHUFFLE(3, 1, 2, 0));

    return (uint32_t)_mm256_movemask_epi8(both);
}

/* Which of the first slots hold value: bit i for slot i. With the width known
 * when compiled, addresses and shifts are constants and the registers are laid
 * out one after the other. */
INLINED uint64_t line_match_in(const uint8_t *line, uint32_t index, uint32_t slots, uint32_t value)
{
    uint64_t found =
        line_width[index] == 16 ? line_block16(line, value) : line_block(line, index, 0, value);

    if (LINE_ROOM / line_width[index] > 32)
        found |= (uint64_t)line_block(line, index, 1, value) << 32;
    return found & ((UINT64_C(1) << slots) - 1);
}

static inline uint64_t line_match(const uint8_t *line, uint32_t slots, uint32_t value)
{
    switch (line_index(line)) {
#define CASE(i)                                                                                    \
    case i:                                                                                        \
        return line_match_in(line, i, slots, value)
        CASE(0);
        CASE(1);
        CASE(2);
        CASE(3);
        CASE(4);
        CASE(5);
        CASE(6);
        CASE(7);
        CASE(8);
        CASE(9);
        CASE(10);
#undef CASE
    default:
        return line_match_in(line, 11, slots, value);
    }
}

/* For four words of the line from bit `at` on: the bits below n. */
static inline __m256i line_below(uint32_t n, __m256i at)
{
    __m256i count = _mm256_subs_epu16(_mm256_set1_epi64x(n), at);
    __m256i one = _mm256_set1_epi64x(1);

    return _mm256_sub_epi64(_mm256_sllv_epi64(one, count), one);
}

/* One half of line_move(): words of the line from bit `at` on. */
static inline __m256i line_shift(__m256i old, __m256i before, __m256i at, uint32_t bits,
                                 uint32_t begin, uint32_t end, uint32_t value)
{
    __m256i number = _mm256_set1_epi64x(value), where = _mm256_set1_epi64x(begin);
    __m256i up = _mm256_sll_epi64(old, _mm_cvtsi32_si128((int)bits));
    __m256i carried = _mm256_srl_epi64(before, _mm_cvtsi32_si128((int)(64 - bits)));
    __m256i own = _mm256_or_si256(_mm256_sllv_epi64(number, _mm256_sub_epi64(where, at)),
                                  _mm256_srlv_epi64(number, _mm256_sub_epi64(at, where)));
    __m256i upto_end = line_below(end, at);
    __m256i changed = _mm256_andnot_si256(line_below(begin, at), upto_end);
    __m256i shifted = _mm256_andnot_si256(line_below(begin + bits, at), upto_end);

    return _mm256_or_si256(
        _mm256_or_si256(_mm256_and_si256(_mm256_or_si256(up, carried), shifted), own),
        _mm256_andnot_si256(changed, old));
}

/* Of the lower or upper half of a line of slots of so many bits: ones in slots 0 to
 * `last` of the line. Slots that are lanes can be compared by number. */
INLINED __m256i line_ones(uint32_t last, uint32_t bits, uint32_t half)
{
    const long long at = 256 * (long long)half;
    __m256i number = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

    if (bits == 16)
        return _mm256_cmpgt_epi16(_mm256_set1_epi16((short)(last + 1)),
                                  _mm256_add_epi16(number, _mm256_set1_epi16((short)(16 * half))));
    return line_below((last + 1) * bits, _mm256_set_epi64x(at + 192, at + 128, at + 64, at));
}

/* line_move() to slot 0, which is what most are; of slots of this many bits. */
INLINED void line_to_front(uint8_t *line, uint32_t bits, uint32_t from, uint32_t value)
{
    const int up = (int)bits, down = 64 - (int)bits;
    __m256i low = _mm256_loadu_si256((const __m256i *)line);
    __m256i high = _mm256_loadu_si256((const __m256i *)line + 1);
    /* The word before the first is value, where it carries into slot 0. */
    __m256i own = _mm256_zextsi128_si256(_mm_cvtsi64_si128((long long)((uint64_t)value << down)));
    __m256i before_low =
        _mm256_blend_epi32(_mm256_permute4x64_epi64(low, _MM_SHUFFLE(2, 1, 0, 0)), own, 3);
    __m256i before_high = _mm256_loadu_si256((const __m256i *)(line + 24));
    __m256i new_low =
        _mm256_or_si256(_mm256_slli_epi64(low, up), _mm256_srli_epi64(before_low, down));
    __m256i new_high =
        _mm256_or_si256(_mm256_slli_epi64(high, up), _mm256_srli_epi64(before_high, down));
    __m256i change_low = _mm256_and_si256(_mm256_xor_si256(low, new_low), line_ones(from, bits, 0));
    __m256i change_high =
        _mm256_and_si256(_mm256_xor_si256(high, new_high), line_ones(from, bits, 1));

    _mm256_storeu_si256((__m256i *)line, _mm256_xor_si256(low, change_low));
    _mm256_storeu_si256((__m256i *)line + 1, _mm256_xor_si256(high, change_high));
}

/* Shift the slots to..from-1 one place down and put value in slot `to`. */
static inline void line_move(uint8_t *line, uint32_t from, uint32_t to, uint32_t value)
{
    uint32_t bits = line_width[line_index(line)], begin = to * bits, end = (from + 1) * bits;
    __m256i low = _mm256_loadu_si256((const __m256i *)line);
    __m256i high = _mm256_loadu_si256((const __m256i *)line + 1);
    /* The word before the first is not looked at: slot 0 is kept or replaced. */
    __m256i before_low = _mm256_permute4x64_epi64(low, _MM_SHUFFLE(2, 1, 0, 0));
    __m256i before_high = _mm256_loadu_si256((const __m256i *)(line + 24));
    __m256i at = _mm256_set_epi64x(192, 128, 64, 0);
    __m256i at_high = _mm256_add_epi64(at, _mm256_set1_epi64x(256));

    _mm256_storeu_si256((__m256i *)line, line_shift(low, before_low, at, bits, begin, end, value));
    _mm256_storeu_si256((__m256i *)line + 1,
                        line_shift(high, before_high, at_high, bits, begin, end, value));
}

#else

INLINED uint64_t line_match_in(const uint8_t *line, uint32_t index, uint32_t slots, uint32_t value)
{
    for (uint32_t i = 0; i < slots; i++)
        if (line_get(line, line_width[index], i) == value)
            return UINT64_C(1) << i;
    return 0;
}

static inline uint64_t line_match(const uint8_t *line, uint32_t slots, uint32_t value)
{
    return line_match_in(line, line_index(line), slots, value);
}

/* Of word j of the line: the bits below bit n of the line. */
static inline uint64_t line_below(int32_t n, int32_t j)
{
    n -= 64 * j;
    return n <= 0 ? 0 : n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* Shift the slots to..from-1 one place down and put value in slot `to`. */
static inline void line_move(uint8_t *line, uint32_t from, uint32_t to, uint32_t value)
{
    uint32_t bits = line_width[line_index(line)];
    int32_t begin = (int32_t)(to * bits), end = (int32_t)((from + 1) * bits);
    bits_u128 placed = (bits_u128)value << (begin & 63);
    uint64_t before = 0;

    for (int32_t j = 0; j < 8; j++) {
        uint64_t old = bits_load64(line + 8 * j);
        uint64_t shifted = old << bits | before >> (64 - bits);
        uint64_t moved = line_below(end, j) & ~line_below(begin + (int32_t)bits, j);
        uint64_t kept = ~(line_below(end, j) & ~line_below(begin, j));
        uint64_t own = j == begin / 64       ? (uint64_t)placed
                       : j == begin / 64 + 1 ? (uint64_t)(placed >> 64)
                                             : 0;

        bits_store64(line + 8 * j, (shifted & moved) | (old & kept) | own);
        before = old;
    }
}

INLINED void line_to_front(uint8_t *line, uint32_t bits, uint32_t from, uint32_t value)
{
    (void)bits;
    line_move(line, from, 0, value);
}

#endif

#endif
