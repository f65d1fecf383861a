/* line_avx512.h - the operations of line.h for AVX-512 with VBMI and VBMI2: a whole line in one
 * register. line.h includes it.
 *
 * What depends on the width is read from tables by the line's index. Lines of all widths therefore
 * run through the same instructions, and no branch on the width is mispredicted. If an index is a
 * compile-time constant, the compiler folds the tables. */
#ifndef WEIR_BASE_LINE_AVX512_H
#define WEIR_BASE_LINE_AVX512_H

#include <immintrin.h>

#define LINE_ANY_WIDTH /* an index need not be a constant */

/* Slots are spread into lanes of two bytes, or of four for widths above 16, each at the upper end
 * of its lane. A fingerprint is aligned the same way, whatever the width. Word q of a register of
 * lanes contains IN_A_WORD slots. They begin in one byte of the line, at bit 0 or 4 (2 or 6). So
 * eight bytes are gathered from there, and each lane is extracted from them. */
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define IN_A_WORD(w) ((w) <= 16 ? 4 : 2)
#define LANE(w) (8 / IN_A_WORD(w)) /* bytes */
#define BEGIN(w, q)                                                                                \
    (IN_A_WORD(w) * (w) * (q)) /* bit of the line at which the slots of word q begin */
/* Byte i of a lane contains the slot's bits from this one on. */
#define UPPER_END(w, i) ((i) % LANE(w) * 8 + (w)-8 * LANE(w))
#define SOURCE(w, q, i) LEAST(BEGIN(w, q) / 8 + (i), LINE_BYTES - 1)
#define CUT(w, q, i) ((BEGIN(w, q) % 8 + (i) / LANE(w) * (w) + UPPER_END(w, i)) & 63)
#define MASK(w, q, i) (0xffffffffu << (32 - (w)) >> (8 * (4 - LANE(w) + (i) % LANE(w))) & 255)
#define WORD(DO, w, q)                                                                             \
    DO(w, q, 0), DO(w, q, 1), DO(w, q, 2), DO(w, q, 3), DO(w, q, 4), DO(w, q, 5), DO(w, q, 6),     \
        DO(w, q, 7)
#define WORDS(DO, w, q)                                                                            \
    {                                                                                              \
        WORD(DO, w, q), WORD(DO, w, (q) + 1), WORD(DO, w, (q) + 2), WORD(DO, w, (q) + 3),          \
            WORD(DO, w, (q) + 4), WORD(DO, w, (q) + 5), WORD(DO, w, (q) + 6), WORD(DO, w, (q) + 7) \
    }
#define SPREAD(w)                                                                                  \
    {                                                                                              \
        {WORDS(SOURCE, w, 0), WORDS(SOURCE, w, 8)}, WORDS(CUT, w, 0), WORDS(MASK, w, 0), (w),      \
            (w) <= 16                                                                              \
    }

static const struct line_spread {
    _Alignas(
        512) uint8_t source[2][LINE_BYTES]; /* for each byte of the lanes: the byte of the line, */
    uint8_t cut[LINE_BYTES];                /* and the bits of it; */
    uint8_t mask[LINE_BYTES];               /* the bits of a lane that belong to the slot */
    uint64_t bits;
    bool narrow; /* lanes have two bytes */
} line_spread[LINE_WIDTHS] = {LINE_EACH_WIDTH(SPREAD)};

INLINED __m512i line_register(const void *at)
{
    return _mm512_loadu_si512(at);
}

/* The first or second register of lanes. */
INLINED __m512i line_lanes(__m512i line, const struct line_spread *t, const uint32_t half)
{
    __m512i words = _mm512_permutexvar_epi8(line_register(t->source[half]), line);

    return _mm512_multishift_epi64_epi8(line_register(t->cut), words);
}

/* A fingerprint in every lane. Lanes of two bytes get its upper half. */
INLINED __m512i line_prints(const struct line_spread *t, uint32_t print)
{
    return _mm512_set1_epi32((int)(t->narrow ? (print >> 16) * 0x10001 : print));
}

/* The first or second register of lanes, XORed with a number in every lane. */
INLINED __m512i line_unlike_lanes(const uint8_t *line, const struct line_spread *t,
                                  const uint32_t half, __m512i number)
{
    return _mm512_xor_si512(line_lanes(line_register(line), t, half), number);
}

/* The slots of a set that equal a number in every lane. */
INLINED uint64_t line_alike(const uint8_t *line, const uint32_t index, uint64_t set, __m512i number)
{
    const struct line_spread *t = &line_spread[index];
    __m512i first = line_unlike_lanes(line, t, 0, number), mask = line_register(t->mask);
    __m512i second = line_unlike_lanes(line, t, 1, number);
    uint64_t alike = line_width[index] > 16
                         ? _mm512_testn_epi32_mask(first, mask) |
                               (uint64_t)_mm512_testn_epi32_mask(second, mask) << 16
                         : _mm512_testn_epi16_mask(first, mask) |
                               (uint64_t)_mm512_testn_epi16_mask(second, mask) << 32;

    return alike & set;
}

/* The number of a lane, in all lanes. */
INLINED __m512i line_numbers(const uint32_t index, uint32_t print)
{
    return line_width[index] == 32   ? _mm512_set1_epi32((int)print)
           : line_width[index] == 16 ? _mm512_set1_epi16((short)(print >> 16))
                                     : _mm512_set1_epi8((char)(print >> 24));
}

/* The bits of b where the mask has ones, of a elsewhere. */
INLINED __m512i line_blend(const uint32_t index, uint64_t slots, __m512i a, __m512i b)
{
    return line_width[index] == 32   ? _mm512_mask_mov_epi32(a, (__mmask16)slots, b)
           : line_width[index] == 16 ? _mm512_mask_mov_epi16(a, (__mmask32)slots, b)
                                     : _mm512_mask_mov_epi8(a, slots, b);
}

/* A set of slots has bit i for slot i. */
INLINED uint64_t line_slot(uint32_t index, uint32_t i)
{
    (void)index;
    return UINT64_C(1) << i;
}

/* The number of the first slot in a set. */
INLINED uint32_t line_first(uint32_t index, uint64_t slots)
{
    (void)index;
    return (uint32_t)__builtin_ctzll(slots);
}

/* The first n slots. */
INLINED uint64_t line_slots(uint32_t index, uint32_t n)
{
    (void)index;
    return (UINT64_C(1) << n) - 1;
}

/* The slots of a set that contain a fingerprint. */
INLINED uint64_t line_find(const uint8_t *line, uint32_t index, uint64_t set, uint32_t print)
{
    if (line_has_lanes(index)) {
        __m512i all = line_register(line), number = line_numbers(index, print);
        uint64_t alike = line_width[index] == 32   ? _mm512_cmpeq_epi32_mask(all, number)
                         : line_width[index] == 16 ? _mm512_cmpeq_epi16_mask(all, number)
                                                   : _mm512_cmpeq_epi8_mask(all, number);
        return alike & set;
    }
    return line_alike(line, index, set, line_prints(&line_spread[index], print));
}

/* The empty slots of a set. */
INLINED uint64_t line_empty(const uint8_t *line, uint32_t index, uint64_t set)
{
    return line_alike(line, index, set, _mm512_setzero_si512());
}

/* A mask of the bits of a line below `limit`, which lies in its last two words. */
INLINED __m512i line_limit(const uint32_t limit)
{
    const struct line_tail behind = line_behind(limit);

    return _mm512_set_epi64((long long)(~behind.high & UINT64_MAX >> 8), (long long)~behind.low, -1,
                            -1, -1, -1, -1, -1);
}

/* ---- moving ---- */

/* A mask of the bits of the line from bit n on; n is in every word. */
INLINED __m512i line_bits_from(__m512i n)
{
    const __m512i begins = _mm512_set_epi64(448, 384, 320, 256, 192, 128, 64, 0);

    return _mm512_sllv_epi64(_mm512_set1_epi64(-1), _mm512_subs_epu16(n, begins));
}

INLINED __m512i line_beyond(uint64_t n)
{
    return line_bits_from(_mm512_set1_epi64((long long)n));
}

/* A word from memory in every word. Uses a less busy execution port than from a register. */
INLINED __m512i line_word_at(const uint64_t *word)
{
    return _mm512_broadcastq_epi64(_mm_loadl_epi64((const __m128i *)word));
}

INLINED __m512i line_beyond_at(const uint64_t *n)
{
    return line_bits_from(line_word_at(n));
}

/* a where a mask has ones, b elsewhere. */
INLINED __m512i line_either(__m512i mask, __m512i a, __m512i b)
{
    return _mm512_ternarylogic_epi64(mask, a, b, 0xca);
}

/* All slots, of `bits` bits, shifted by one place, with a fingerprint in slot 0. Here and below the
 * fingerprint is at the upper end of each word of `prints`. */
INLINED __m512i line_shifted(__m512i line, __m512i bits, __m512i prints)
{
    return _mm512_shldv_epi64(line, _mm512_alignr_epi64(line, prints, 7), bits);
}

INLINED __m512i line_bits(const struct line_spread *t)
{
    return _mm512_set1_epi64((long long)t->bits);
}

/* All slots shifted by one place, with a fingerprint in slot 0, by lanes if the width is a constant
 * that has them. */
INLINED __m512i line_entered(__m512i line, const uint32_t index, uint32_t print)
{
    const struct line_spread *t = &line_spread[index];

    return line_shifted(line, line_bits(t),
                        line_has_lanes(index) ? line_numbers(index, print) : line_prints(t, print));
}

/* The bits of a word up to its lowest set bit. */
INLINED uint64_t line_up_to(uint64_t word)
{
    return word ^ (word - 1);
}

/* Shift the slots before the first of a set by one place, over it, and put a fingerprint into slot
 * 0. */
INLINED void line_to_front(uint8_t *line, uint32_t index, uint64_t slots, uint32_t print)
{
    const uint64_t from = (uint64_t)__builtin_ctzll(slots), bits = line_width[index];
    __m512i old = line_register(line), entered = line_entered(old, index, print);

    _mm512_storeu_si512(line, line_has_lanes(index)
                                  ? line_blend(index, line_up_to(slots), old, entered)
                                  : line_either(line_beyond((from + 1) * bits), old, entered));
}

/* A line with a fingerprint inserted in the slot that ends before bit `next`, and the slots from
 * there on shifted by one place. Takes masks of the bits from the slot on, and of those after the
 * last slot that moves. */
INLINED __m512i line_moved(__m512i line, __m512i bits, __m512i prints, const uint64_t *next,
                           __m512i begin, __m512i after)
{
    __m512i end = line_word_at(next), beyond = line_bits_from(end);
    __m512i moved =
        line_either(_mm512_andnot_si512(after, beyond), line_shifted(line, bits, prints), line);

    /* In each word the fingerprint is at its position in the line. */
    return line_either(_mm512_andnot_si512(beyond, begin), _mm512_rolv_epi64(prints, end), moved);
}

/* A line with the slots from `to` on, which is one bit, shifted over the first of a set, which is
 * not before it, and a fingerprint in slot `to`. */
INLINED __m512i line_moved_from(__m512i old, uint32_t index, uint64_t slots, uint64_t to,
                                uint32_t print)
{
    const struct line_spread *t = &line_spread[index];

    if (line_has_lanes(index)) {
        __m512i entered = line_entered(old, index, print);

        entered = line_blend(index, to, entered, line_numbers(index, print));
        return line_blend(index, line_up_to(slots) & -to, old, entered);
    }
    const uint64_t begin = (uint64_t)__builtin_ctzll(to) * t->bits, next = begin + t->bits;
    const uint64_t after = ((uint64_t)__builtin_ctzll(slots) + 1) * t->bits;
    return line_moved(old, line_bits(t), line_prints(t, print), &next, line_beyond(begin),
                      line_beyond(after));
}

INLINED void line_move_from(uint8_t *line, uint32_t index, uint64_t slots, uint64_t to,
                            uint32_t print)
{
    _mm512_storeu_si512(line, line_moved_from(line_register(line), index, slots, to, print));
}

/* A line with a fingerprint in slot 0, and all bits behind the live slots cleared. `after`: the
 * bits after the last slot that moves. */
INLINED __m512i line_renewed(__m512i line, __m512i bits, __m512i prints, __m512i dead,
                             __m512i after)
{
    __m512i kept = _mm512_andnot_si512(dead, line);

    return line_either(after, kept, line_shifted(kept, bits, prints));
}

/* line_to_front() in a line with a window: all bits from slot `live` on become zero. */
INLINED void line_renew(uint8_t *line, uint32_t index, uint32_t live, uint64_t slots,
                        uint32_t print)
{
    const struct line_spread *t = &line_spread[index];
    const uint64_t from = (uint64_t)__builtin_ctzll(slots);

    _mm512_storeu_si512(line, line_renewed(line_register(line), line_bits(t), line_prints(t, print),
                                           line_beyond(live * t->bits),
                                           line_beyond((from + 1) * t->bits)));
}

#include "base/line_avx512_cut.h"
#include "base/line_avx512_place.h"

#endif
