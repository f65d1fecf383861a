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

/* A table of what DO says of each byte of a line. */
#define BYTES8(DO, w, i)                                                                           \
    DO(w, i), DO(w, (i) + 1), DO(w, (i) + 2), DO(w, (i) + 3), DO(w, (i) + 4), DO(w, (i) + 5),      \
        DO(w, (i) + 6), DO(w, (i) + 7)
#define BYTES(DO, w)                                                                               \
    {                                                                                              \
        BYTES8(DO, w, 0), BYTES8(DO, w, 8), BYTES8(DO, w, 16), BYTES8(DO, w, 24),                  \
            BYTES8(DO, w, 32), BYTES8(DO, w, 40), BYTES8(DO, w, 48), BYTES8(DO, w, 56)             \
    }

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
} line_spread[LINE_WIDTHS] = {SPREAD(32), SPREAD(24), SPREAD(20), SPREAD(16),
                              SPREAD(15), SPREAD(14), SPREAD(13), SPREAD(12),
                              SPREAD(11), SPREAD(10), SPREAD(9),  SPREAD(8)};

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

/* Which of the first slots are like a number in every lane: bit i for slot i. */
INLINED uint64_t line_alike(const uint8_t *line, const uint32_t index, uint32_t slots,
                            __m512i number)
{
    const struct line_spread *t = &line_spread[index];
    __m512i first = line_unlike_lanes(line, t, 0, number), mask = line_register(t->mask);
    __m512i second = line_unlike_lanes(line, t, 1, number);
    uint64_t alike = line_width[index] > 16
                         ? _mm512_testn_epi32_mask(first, mask) |
                               (uint64_t)_mm512_testn_epi32_mask(second, mask) << 16
                         : _mm512_testn_epi16_mask(first, mask) |
                               (uint64_t)_mm512_testn_epi16_mask(second, mask) << 32;

    return alike & ((UINT64_C(1) << slots) - 1);
}

/* Are slots lanes already, of a width that is known when compiled? */
INLINED bool line_has_lanes(const uint32_t index)
{
    const uint32_t bits = line_width[index];

    return __builtin_constant_p(index) && (bits == 32 || bits == 16 || bits == 8);
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

/* Which of the first slots hold a print. */
INLINED uint64_t line_find(const uint8_t *line, uint32_t index, uint32_t slots, uint32_t print)
{
    if (line_has_lanes(index)) {
        __m512i all = line_register(line), number = line_numbers(index, print);
        uint64_t alike = line_width[index] == 32   ? _mm512_cmpeq_epi32_mask(all, number)
                         : line_width[index] == 16 ? _mm512_cmpeq_epi16_mask(all, number)
                                                   : _mm512_cmpeq_epi8_mask(all, number);
        return alike & ((UINT64_C(1) << slots) - 1);
    }
    return line_alike(line, index, slots, line_prints(&line_spread[index], print));
}

/* Which of the first slots are empty. */
INLINED uint64_t line_empty(const uint8_t *line, uint32_t index, uint32_t slots)
{
    return line_alike(line, index, slots, _mm512_setzero_si512());
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

/* line_move() to slot 0, which is what most are; from the first of some slots: bit i for slot i. */
INLINED void line_first_to_front(uint8_t *out, const uint8_t *line, uint32_t index, uint64_t slots,
                                 uint32_t print)
{
    const uint64_t from = (uint64_t)__builtin_ctzll(slots), bits = line_width[index];
    __m512i old = line_register(line), entered = line_entered(old, index, print);

    _mm512_storeu_si512(out, line_has_lanes(index)
                                 ? line_blend(index, line_up_to(slots), old, entered)
                                 : line_either(line_beyond((from + 1) * bits), old, entered));
}

INLINED void line_to_front(uint8_t *out, const uint8_t *line, uint32_t index, uint32_t from,
                           uint32_t print)
{
    line_first_to_front(out, line, index, UINT64_C(1) << from, print);
}

/* line_to_front() of the slot found (a bit of that number is set) or, if there is none, of an empty
 * one. False if there is no empty one either: then the line stays. The spare one is not
 * needed here. */
INLINED bool line_find_front(uint8_t *line, uint32_t index, uint64_t found, bool full,
                             uint32_t last, uint32_t print, uint8_t *spare)
{
    const struct line_spread *t = &line_spread[index];
    uint64_t any = found | (uint64_t)!full << last;
    uint64_t moved = (uint64_t)(__builtin_ctzll(any | UINT64_C(1) << 63) + 1) & 63; /* 0: none */
    __m512i old = line_register(line);

    (void)spare;
    _mm512_storeu_si512(line, line_either(line_beyond(moved * t->bits), old,
                                          line_shifted(old, line_bits(t), line_prints(t, print))));
    return any;
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

/* line_move() from the first of some slots to another, which is not behind it: bit i for slot i. */
INLINED void line_first_moved(uint8_t *out, const uint8_t *line, uint32_t index, uint64_t slots,
                              uint64_t here, uint32_t print)
{
    const struct line_spread *t = &line_spread[index];

    if (line_has_lanes(index)) {
        __m512i old = line_register(line), entered = line_entered(old, index, print);

        entered = line_blend(index, here, entered, line_numbers(index, print));
        _mm512_storeu_si512(out, line_blend(index, line_up_to(slots) & -here, old, entered));
        return;
    }
    const uint64_t begin = (uint64_t)__builtin_ctzll(here) * t->bits, next = begin + t->bits;
    const uint64_t after = ((uint64_t)__builtin_ctzll(slots) + 1) * t->bits;
    _mm512_storeu_si512(out, line_moved(line_register(line), line_bits(t), line_prints(t, print),
                                        &next, line_beyond(begin), line_beyond(after)));
}

/* line_move() of the slot found (a bit of that number is set) to slot `up`, unless it is there or
 * before it; or, if there is none, from slot `last` to slot `down`. */
INLINED void line_move_found(uint8_t *out, const uint8_t *line, uint32_t index, uint64_t found,
                             uint32_t up, uint32_t last, uint32_t down, uint32_t print)
{
    uint64_t front = found | UINT64_C(1) << up;

    front &= -front;
    line_first_moved(out, line, index, found | UINT64_C(1) << last,
                     line_one_of(found, front, UINT64_C(1) << down), print);
}

/* Shift the slots to..from-1 one place down and put a print in slot `to`. */
INLINED void line_move(uint8_t *out, const uint8_t *line, uint32_t index, uint32_t from,
                       uint32_t to, uint32_t print)
{
    line_first_moved(out, line, index, UINT64_C(1) << from, UINT64_C(1) << to, print);
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

/* line_to_front() of a line whose slots from `live` on are empty from now on, and whose
 * last bytes, from bit `room` on, become those of `tail`, a word. */
INLINED void line_renew(uint8_t *out, const uint8_t *line, uint32_t index, const uint32_t room,
                        uint32_t live, uint32_t from, uint32_t print, uint64_t tail)
{
    const struct line_spread *t = &line_spread[index];

    _mm512_storeu_si512(out, line_renewed(line_register(line), line_bits(t), room,
                                          line_prints(t, print), line_beyond(live * t->bits),
                                          line_beyond((from + UINT64_C(1)) * t->bits), &tail));
}

#include "base/line_avx512_cut.h"
#include "base/line_avx512_place.h"

#endif
