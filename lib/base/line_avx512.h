/* line_avx512.h - the operations of line.h with a whole line in one register; line.h includes
 * it where the file is compiled for AVX-512 with its instructions on bytes (VBMI, VBMI2).
 *
 * Lines of all widths can go one way: what differs is read from tables, by the line's index. So
 * lines of several widths may follow each other, and no branch is guessed wrong. Where an index is
 * a constant, so is what the tables say. */
#ifndef WEIR_BASE_LINE_AVX512_H
#define WEIR_BASE_LINE_AVX512_H

#include <immintrin.h>

#define LINE_ANY_WIDTH /* an index need not be a constant */

/* Slots are spread into lanes of two bytes, or of four where they are wider, each at the upper end
 * of its lane: so a print begins as a lane does, whatever the width. Word q of a register
 * of lanes has so many slots; they begin in one byte of the line, at bit 0 or 4 (2 or 6). So
 * eight bytes are gathered from there on, and each lane is cut out of them. */
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define IN_A_WORD(w) ((w) <= 16 ? 4 : 2)
#define LANE(w) (8 / IN_A_WORD(w))             /* bytes */
#define BEGIN(w, q) (IN_A_WORD(w) * (w) * (q)) /* of the slots of word q: a bit of the line */
/* In byte i of its lane a slot has the bits from this one on. */
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
    _Alignas(512) uint8_t source[2][LINE_BYTES]; /* of lanes: bytes of the line, */
    uint8_t cut[LINE_BYTES];                     /* and bits of those */
    uint8_t mask[LINE_BYTES];                    /* of a lane: what is the slot's */
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

/* A print in every lane: as lanes of two bytes have it, its first half twice. */
INLINED __m512i line_prints(const struct line_spread *t, uint32_t print)
{
    return _mm512_set1_epi32((int)(t->narrow ? (print >> 16) * 0x10001 : print));
}

/* Where the first or second register of lanes differs from a number in every lane. */
INLINED __m512i line_unlike_lanes(const uint8_t *line, const struct line_spread *t,
                                  const uint32_t half, __m512i number)
{
    return _mm512_xor_si512(line_lanes(line_register(line), t, half), number);
}

/* Which slots of a set are like a number in every lane. */
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

/* Such a lane's number in all of them. */
INLINED __m512i line_numbers(const uint32_t index, uint32_t print)
{
    return line_width[index] == 32   ? _mm512_set1_epi32((int)print)
           : line_width[index] == 16 ? _mm512_set1_epi16((short)(print >> 16))
                                     : _mm512_set1_epi8((char)(print >> 24));
}

/* Those of b where a bit is set, of a elsewhere. */
INLINED __m512i line_blend(const uint32_t index, uint64_t slots, __m512i a, __m512i b)
{
    return line_width[index] == 32   ? _mm512_mask_mov_epi32(a, (__mmask16)slots, b)
           : line_width[index] == 16 ? _mm512_mask_mov_epi16(a, (__mmask32)slots, b)
                                     : _mm512_mask_mov_epi8(a, slots, b);
}

/* In a set of slots each is a bit: bit i is slot i. */
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

/* Which slots of a set hold a print. */
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

/* Which slots of a set are empty. */
INLINED uint64_t line_empty(const uint8_t *line, uint32_t index, uint64_t set)
{
    return line_alike(line, index, set, _mm512_setzero_si512());
}

/* The bits of a line below `room`, which lies in its last eight bytes. */
INLINED __m512i line_limit(const uint32_t room)
{
    return _mm512_set_epi64((long long)((UINT64_C(1) << (room - 448)) - 1), -1, -1, -1, -1, -1, -1,
                            -1);
}

/* ---- moving ---- */

/* The bits from bit n of the line on; n is in every word. */
INLINED __m512i line_bits_from(__m512i n)
{
    const __m512i begins = _mm512_set_epi64(448, 384, 320, 256, 192, 128, 64, 0);

    return _mm512_sllv_epi64(_mm512_set1_epi64(-1), _mm512_subs_epu16(n, begins));
}

INLINED __m512i line_beyond(uint64_t n)
{
    return line_bits_from(_mm512_set1_epi64((long long)n));
}

/* A word from memory, in every word: that takes a way that is less used than from a register. */
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

/* All slots, of so many bits, one place down, and a print in slot 0. Here and below it is at the
 * upper end of each word of `prints`. */
INLINED __m512i line_shifted(__m512i line, __m512i bits, __m512i prints)
{
    return _mm512_shldv_epi64(line, _mm512_alignr_epi64(line, prints, 7), bits);
}

INLINED __m512i line_bits(const struct line_spread *t)
{
    return _mm512_set1_epi64((long long)t->bits);
}

/* All slots one place down, and a print in slot 0; what is known of lanes already will do. */
INLINED __m512i line_entered(__m512i line, const uint32_t index, uint32_t print)
{
    const struct line_spread *t = &line_spread[index];

    return line_shifted(line, line_bits(t),
                        line_has_lanes(index) ? line_numbers(index, print) : line_prints(t, print));
}

/* The bits of a word up to the first that is set. */
INLINED uint64_t line_up_to(uint64_t word)
{
    return word ^ (word - 1);
}

/* Shift the slots before the first of some slots (bit i for slot i) one place back, over it, and
 * put a print into slot 0. */
INLINED void line_to_front(uint8_t *line, uint32_t index, uint64_t slots, uint32_t print)
{
    const uint64_t from = (uint64_t)__builtin_ctzll(slots), bits = line_width[index];
    __m512i old = line_register(line), entered = line_entered(old, index, print);

    _mm512_storeu_si512(line, line_has_lanes(index)
                                  ? line_blend(index, line_up_to(slots), old, entered)
                                  : line_either(line_beyond((from + 1) * bits), old, entered));
}

/* A line with a print in the slot that ends before bit `next`, and the slots from there on one
 * place down; given the bits from the slot on, and those after the last that moves. */
INLINED __m512i line_moved(__m512i line, __m512i bits, __m512i prints, const uint64_t *next,
                           __m512i begin, __m512i after)
{
    __m512i end = line_word_at(next), beyond = line_bits_from(end);
    __m512i moved =
        line_either(_mm512_andnot_si512(after, beyond), line_shifted(line, bits, prints), line);

    /* In every word the print lies where it does in the line. */
    return line_either(_mm512_andnot_si512(beyond, begin), _mm512_rolv_epi64(prints, end), moved);
}

/* The same, but not from slot 0 on: from the slot `to`, which is one bit and not behind the first
 * of some slots. */
INLINED void line_move_from(uint8_t *line, uint32_t index, uint64_t slots, uint64_t to,
                            uint32_t print)
{
    const struct line_spread *t = &line_spread[index];
    __m512i old = line_register(line);

    if (line_has_lanes(index)) {
        __m512i entered = line_entered(old, index, print);

        entered = line_blend(index, to, entered, line_numbers(index, print));
        _mm512_storeu_si512(line, line_blend(index, line_up_to(slots) & -to, old, entered));
        return;
    }
    const uint64_t begin = (uint64_t)__builtin_ctzll(to) * t->bits, next = begin + t->bits;
    const uint64_t after = ((uint64_t)__builtin_ctzll(slots) + 1) * t->bits;
    _mm512_storeu_si512(line, line_moved(old, line_bits(t), line_prints(t, print), &next,
                                         line_beyond(begin), line_beyond(after)));
}

/* A line whose slots beyond those that are live are empty from now on, and a print in slot 0; up to
 * the bits after the last that moves; from bit `room` on it becomes `tail`, a word. */
INLINED __m512i line_renewed(__m512i line, __m512i bits, const uint32_t room, __m512i prints,
                             __m512i dead, __m512i after, const uint64_t *tail)
{
    __m512i limit = line_limit(room),
            kept = _mm512_andnot_si512(dead, _mm512_and_si512(line, limit));
    __m512i moved = line_either(after, kept, line_shifted(kept, bits, prints));

    return line_either(limit, moved, _mm512_maskz_mov_epi64(1 << 7, line_word_at(tail)));
}

/* line_to_front() in a line with a window: slots from `live` on become empty, and the last bytes,
 * from bit `room` on, those of `tail`. */
INLINED void line_renew(uint8_t *line, uint32_t index, const uint32_t room, uint32_t live,
                        uint64_t slots, uint32_t print, uint64_t tail)
{
    const struct line_spread *t = &line_spread[index];
    const uint64_t from = (uint64_t)__builtin_ctzll(slots);

    _mm512_storeu_si512(line, line_renewed(line_register(line), line_bits(t), room,
                                           line_prints(t, print), line_beyond(live * t->bits),
                                           line_beyond((from + 1) * t->bits), &tail));
}

#include "base/line_avx512_cut.h"
#include "base/line_avx512_place.h"

#endif
