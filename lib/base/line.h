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

#include "bits.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

#define LINE_BYTES 64
#define LINE_WIDTHS 12
#define LINE_ROOM 504 /* bits that slots may take */
#define LINE_SLOTS_MOST 63

static const uint8_t line_width[LINE_WIDTHS] = {32, 24, 20, 16, 15, 14, 13, 12, 11, 10, 9, 8};

/* A fingerprint from half a hash: 32 bits, of which the first byte is never
 * zero, nor then any prefix. */
static inline uint32_t line_print(uint64_t hash)
{
    bits_u128 scaled = (bits_u128)hash * 255;
    uint32_t first = (uint32_t)(scaled >> 64) + 1;

    return first << 24 | (uint32_t)((uint64_t)scaled >> 40);
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

/* Eight slots take `bits` bytes. Four of them are gathered into each half of a
 * register, from sixteen bytes that never reach beyond the line: which byte
 * goes where is a table by width and step, how far up in its bytes a slot lies
 * is the same at every step. */
#define STEPS 8
#define LAST 48 /* where the last sixteen bytes begin */
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define BASE(w, s, i) LEAST((s) * (w) + ((i) < 4 ? 0 : (w) >> 1), LAST)
#define BYTE(w, s, i, b) (((8 * (s) + (i)) * (w) >> 3) + (b)-BASE(w, s, i))
#define PICK(w, s, i, b) (BYTE(w, s, i, b) < 16 ? BYTE(w, s, i, b) : 0x80)
#define SLOT(w, s, i) PICK(w, s, i, 0), PICK(w, s, i, 1), PICK(w, s, i, 2), PICK(w, s, i, 3)
#define STEP(w, s)                                                                                 \
    {                                                                                              \
        SLOT(w, s, 0), SLOT(w, s, 1), SLOT(w, s, 2), SLOT(w, s, 3), SLOT(w, s, 4), SLOT(w, s, 5),  \
            SLOT(w, s, 6), SLOT(w, s, 7)                                                           \
    }
#define LOW(w, i) ((i) * (w)&7)
#define GATHER(w)                                                                                  \
    {                                                                                              \
        {STEP(w, 0), STEP(w, 1), STEP(w, 2), STEP(w, 3),                                           \
         STEP(w, 4), STEP(w, 5), STEP(w, 6), STEP(w, 7)},                                          \
            {LOW(w, 0), LOW(w, 1), LOW(w, 2), LOW(w, 3),                                           \
             LOW(w, 4), LOW(w, 5), LOW(w, 6), LOW(w, 7)},                                          \
    }

static const struct {
    _Alignas(32) uint8_t bytes[STEPS][32];
    _Alignas(32) uint32_t low[8];
} line_gather[LINE_WIDTHS] = {GATHER(32), GATHER(24), GATHER(20), GATHER(16),
                              GATHER(15), GATHER(14), GATHER(13), GATHER(12),
                              GATHER(11), GATHER(10), GATHER(9),  GATHER(8)};

/* Slots of sixteen bits need no gathering: bit i for slot i. */
static inline uint64_t line_match16(const uint8_t *line, uint32_t value)
{
    __m256i wanted = _mm256_set1_epi16((short)value);
    __m256i low = _mm256_cmpeq_epi16(_mm256_loadu_si256((const __m256i *)line), wanted);
    __m256i high = _mm256_cmpeq_epi16(_mm256_loadu_si256((const __m256i *)line + 1), wanted);
    __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), _MM_SHUFFLE(3, 1, 2, 0));

    return (uint32_t)_mm256_movemask_epi8(both);
}

/* Which of the first slots hold value: bit i for slot i. Only the lowest bit set
 * is certain. With the width known when compiled, addresses and shifts are
 * constants and the steps are laid out one after the other. */
static inline __attribute__((always_inline)) uint64_t
line_match_in(const uint8_t *line, uint32_t index, uint32_t slots, uint32_t value)
{
    const uint32_t bits = line_width[index], steps = (LINE_ROOM / bits + 7) / 8;
    __m256i low = _mm256_load_si256((const __m256i *)line_gather[index].low);
    __m256i ones = _mm256_set1_epi32((int)(uint32_t)((UINT64_C(1) << bits) - 1));
    __m256i mask = _mm256_sllv_epi32(ones, low);
    __m256i wanted = _mm256_sllv_epi32(_mm256_set1_epi32((int)value), low);
    uint64_t found = 0;

    if (bits == 16)
        return line_match16(line, value) & ((UINT64_C(1) << slots) - 1);
#pragma GCC unroll 8
    for (uint32_t step = 0; step < steps; step++) {
        const uint8_t *first = line + BASE(bits, step, 0), *second = line + BASE(bits, step, 4);
        __m256i sixteens = _mm256_set_m128i(_mm_loadu_si128((const __m128i *)second),
                                            _mm_loadu_si128((const __m128i *)first));
        __m256i bytes = _mm256_load_si256((const __m256i *)line_gather[index].bytes[step]);
        __m256i eight = _mm256_and_si256(_mm256_shuffle_epi8(sixteens, bytes), mask);
        __m256i equal = _mm256_cmpeq_epi32(eight, wanted);

        found |= (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(equal)) << 8 * step;
    }
    return found & ((UINT64_C(1) << slots) - 1);
}

static inline uint64_t line_match(const uint8_t *line, uint32_t slots, uint32_t value)
{
    switch (line_index(line)) {
#define CASE(i)                                                                                    \
    case i:                                                                                        \
        return line_match_in(line, i, slots, value);
        CASE(0)
        CASE(1)
        CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10)
#undef CASE
            default : return line_match_in(line, 11, slots, value);
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

/* line_move() to slot 0, which is what most are; of slots of this many bits. */
static inline __attribute__((always_inline)) void line_to_front(uint8_t *line, uint32_t bits,
                                                                uint32_t from, uint32_t value)
{
    const int up = (int)bits, down = 64 - (int)bits;
    __m256i at = _mm256_set_epi64x(192, 128, 64, 0);
    __m256i at_high = _mm256_set_epi64x(448, 384, 320, 256);
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
    __m256i change_low =
        _mm256_and_si256(_mm256_xor_si256(low, new_low), line_below((from + 1) * bits, at));
    __m256i change_high =
        _mm256_and_si256(_mm256_xor_si256(high, new_high), line_below((from + 1) * bits, at_high));

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

static inline uint64_t line_match_in(const uint8_t *line, uint32_t index, uint32_t slots,
                                     uint32_t value)
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

static inline void line_to_front(uint8_t *line, uint32_t bits, uint32_t from, uint32_t value)
{
    (void)bits;
    line_move(line, from, 0, value);
}

#endif

#endif
