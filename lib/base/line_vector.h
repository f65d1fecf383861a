/* line_vector.h - the operations of line.h with GCC's vector extensions: one source for SSE2, AVX2,
 * NEON, and processors without vectors. line.h includes it.
 *
 * Find. The fingerprint is repeated along a whole line, as if every slot contained it, and XORed
 * with the line. A slot is equal if all its bits are zero. Bytes are tested, because that is what
 * processors can do: a byte may belong to two slots, so even slots and odd slots are tested apart
 * with the other slots' bits cleared. A slot is equal if its bytes are zero: two, three or four,
 * counted from the byte in which it begins.
 *
 * Move. All slots are shifted by one place, the fingerprint shifted in, and a mask of bits selects
 * which part of the line is taken from the result. */
#ifndef WEIR_BASE_LINE_VECTOR_H
#define WEIR_BASE_LINE_VECTOR_H

#ifdef __SSE2__
#include <immintrin.h>
#endif

#ifdef __AVX2__
#define VECTOR 32 /* bytes */
#else
#define VECTOR 16
#endif
#define VECTORS (LINE_BYTES / VECTOR) /* in a line */

typedef uint64_t line_words __attribute__((vector_size(VECTOR)));
typedef uint32_t line_lanes32 __attribute__((vector_size(VECTOR)));
typedef uint16_t line_lanes16 __attribute__((vector_size(VECTOR)));
typedef uint8_t line_lanes8 __attribute__((vector_size(VECTOR)));
typedef line_words line_words_at __attribute__((aligned(1), may_alias));

/* The lanes of b one place on, and before them the last lane of a. */
#define FROM_3 3, 4, 5, 6
#define FROM_7 7, 8, 9, 10, 11, 12, 13, 14
#define FROM_15 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
#define FROM_31                                                                                    \
    31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53,    \
        54, 55, 56, 57, 58, 59, 60, 61, 62
#define BACK(type, a, b, ...)                                                                      \
    ((line_words)__builtin_shufflevector((type)(a), (type)(b), __VA_ARGS__))
#ifdef __AVX2__
#define BACK64(a, b) BACK(line_words, a, b, FROM_3)
#define BACK_LANE(a, b, bits)                                                                      \
    ((bits) == 32   ? BACK(line_lanes32, a, b, FROM_7)                                             \
     : (bits) == 16 ? BACK(line_lanes16, a, b, FROM_15)                                            \
                    : BACK(line_lanes8, a, b, FROM_31))
#else
#define BACK64(a, b) BACK(line_words, a, b, 1, 2)
#if !defined __SSE2__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ /* in one instruction */
#define BACK_LANE(a, b, bits)                                                                      \
    ((bits) == 32   ? BACK(line_lanes32, a, b, FROM_3)                                             \
     : (bits) == 16 ? BACK(line_lanes16, a, b, FROM_7)                                             \
                    : BACK(line_lanes8, a, b, FROM_15))
#endif
#endif

struct line_vectors {
    line_words v[VECTORS];
};

#define EACH_VECTOR _Pragma("GCC unroll 4") for (uint32_t i = 0; i < VECTORS; i++)

/* Words are little-endian in memory. */
INLINED struct line_vectors line_swapped(struct line_vectors all)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    EACH_VECTOR all.v[i] =
        (line_words){__builtin_bswap64(all.v[i][0]), __builtin_bswap64(all.v[i][1])};
#endif
    return all;
}

INLINED struct line_vectors line_load(const uint8_t *at)
{
    struct line_vectors all;

    EACH_VECTOR all.v[i] = ((const line_words_at *)(const void *)at)[i];
    return line_swapped(all);
}

INLINED void line_store(uint8_t *line, struct line_vectors all)
{
    all = line_swapped(all);
    EACH_VECTOR((line_words_at *)(void *)line)[i] = all.v[i];
}

INLINED line_words line_all(uint64_t word)
{
    return (line_words){0} + word;
}

/* The bits of a where the mask has ones, of b elsewhere. */
INLINED struct line_vectors line_either(struct line_vectors mask, struct line_vectors a,
                                        struct line_vectors b)
{
    EACH_VECTOR b.v[i] ^= (a.v[i] ^ b.v[i]) & mask.v[i];
    return b;
}

/* ---- what depends on the width ---- */

/* A number of w bits is repeated along a word by multiplying it with TIMES. Word j of the line
 * begins at bit DOWN of the number. The bits that are missing at its upper end follow from bit UP
 * on. */
#define COPY(w, i) ((i) * (w) < 64 ? UINT64_C(1) << (i) * (w) % 64 : 0)
#define TIMES(w)                                                                                   \
    (COPY(w, 0) | COPY(w, 1) | COPY(w, 2) | COPY(w, 3) | COPY(w, 4) | COPY(w, 5) | COPY(w, 6) |    \
     COPY(w, 7))
#define DOWN(w, j) (64 * (j) % (w))
#define UP(w, j) ((64 / (w) * (w)-DOWN(w, j)) % 64)
#define LINE_TABLE(w)                                                                              \
    {                                                                                              \
        {BYTES8(DOWN, w, 0)}, {BYTES8(UP, w, 0)}, BYTES(EVEN_BITS, w), TIMES(w),                   \
            SLOTS(SLOT_BEGINS, w), SLOTS(SLOT_IS_EVEN, w), SLOTS(SLOT_IS_ODD, w),                  \
            SLOTS(SLOT_IS_SHORT, w), -(uint64_t)((w) < 32), w, FORM(w) & 0xffff                    \
    }
static const struct line_table {
    _Alignas(64) uint64_t down[8], up[8]; /* as above */
    uint8_t even_bits[LINE_BYTES];        /* the bits of even slots */
    uint64_t times, begins, evens, odds;  /* as above; which bytes slots begin in */
    uint64_t shorts, not_widest;          /* slots of two bytes; of up to three */
    uint32_t bits, inverse;               /* the width, and 65536 / width */
} line_tables[LINE_WIDTHS] = {LINE_EACH_WIDTH(LINE_TABLE)};

/* A set of slots has one bit per slot: that of the byte in which it begins. */
INLINED uint64_t line_slot(uint32_t index, uint32_t i)
{
    return UINT64_C(1) << i * line_tables[index].bits / 8;
}

/* The number of the first slot in a set. */
INLINED uint32_t line_first(uint32_t index, uint64_t set)
{
    return (8 * (uint32_t)__builtin_ctzll(set) + 7) * line_tables[index].inverse >> 16;
}

/* The bit of the line at which it begins. */
INLINED uint32_t line_begin(uint32_t index, uint64_t set)
{
    if (line_has_lanes(index))
        return 8 * (uint32_t)__builtin_ctzll(set);
    return line_first(index, set) * line_tables[index].bits;
}

/* ---- finding ---- */

/* The print, truncated to the width, in all slots. */
INLINED struct line_vectors line_repeated(uint32_t index, uint32_t print)
{
    const struct line_table *t = &line_tables[index];
    struct line_vectors all;

    if (line_has_lanes(index)) {
        EACH_VECTOR all.v[i] = t->bits == 32 ? (line_words)((line_lanes32){0} + print)
                               : t->bits == 16
                                   ? (line_words)((line_lanes16){0} + (uint16_t)(print >> 16))
                                   : (line_words)((line_lanes8){0} + (uint8_t)(print >> 24));
        return all;
    }
    const line_words word = line_all((print >> (32 - t->bits)) * t->times);
#if defined __SSE2__ && !defined __AVX2__ /* it shifts all words by the same number */
    EACH_VECTOR all.v[i] =
        (line_words){word[0] >> t->down[2 * i] | word[0] << t->up[2 * i],
                     word[0] >> t->down[2 * i + 1] | word[0] << t->up[2 * i + 1]};
#else
    EACH_VECTOR all.v[i] =
        word >> ((const line_words_at *)t->down)[i] | word << ((const line_words_at *)t->up)[i];
#endif
    return all;
}

/* The zero bytes: bit i for byte i. */
INLINED uint64_t line_zeros(struct line_vectors all)
{
    uint64_t zeros = 0;

    EACH_VECTOR
    {
        const line_words zero = (line_words)((line_lanes8)all.v[i] == 0);
#if defined __AVX2__
        zeros |= (uint64_t)(uint32_t)_mm256_movemask_epi8((__m256i)zero) << 32 * i;
#elif defined __SSE2__
        zeros |= (uint64_t)(uint32_t)_mm_movemask_epi8((__m128i)zero) << 16 * i;
#else
        /* bit k of byte k; the multiplication sums all eight in the highest byte */
        for (uint32_t j = 0; j < VECTOR / 8; j++)
            zeros |= (zero[j] & UINT64_C(0x8040201008040201)) * (UINT64_MAX / 255) >>
                     56 << (VECTOR * i + 8 * j);
#endif
    }
    return zeros;
}

/* The slots whose bytes are all zero. */
INLINED uint64_t line_whole(const struct line_table *t, uint64_t zeros)
{
    return zeros & zeros >> 1 & (zeros >> 2 | t->shorts) & (zeros >> 3 | t->not_widest);
}

/* The zero slots of a set. */
INLINED uint64_t line_zero_slots(struct line_vectors all, uint32_t index, uint64_t set)
{
    const struct line_table *t = &line_tables[index];

    if (line_has_lanes(index)) {
        uint64_t whole = line_zeros(all);

        for (uint32_t i = 8; i < t->bits; i *= 2)
            whole &= whole >> i / 8;
        return whole & set;
    }
    struct line_vectors even = line_load(t->even_bits), odd;
    EACH_VECTOR odd.v[i] = all.v[i] & ~even.v[i];
    EACH_VECTOR even.v[i] &= all.v[i];
    return ((line_whole(t, line_zeros(even)) & t->evens) |
            (line_whole(t, line_zeros(odd)) & t->odds)) &
           set;
}

/* The first n slots. */
INLINED uint64_t line_slots(uint32_t index, uint32_t n)
{
    const struct line_table *t = &line_tables[index];

    return t->begins & ((UINT64_C(1) << n * t->bits / 8) - 1);
}

INLINED uint64_t line_find(const uint8_t *line, uint32_t index, uint64_t set, uint32_t print)
{
    struct line_vectors all = line_load(line), prints = line_repeated(index, print);

    EACH_VECTOR all.v[i] ^= prints.v[i];
    return line_zero_slots(all, index, set);
}

INLINED uint64_t line_empty(const uint8_t *line, uint32_t index, uint64_t set)
{
    return line_zero_slots(line_load(line), index, set);
}

/* ---- moving ---- */

/* Ones up to a bit of a byte, then zeros. Read from different bytes on, it is a mask for any
 * bit. */
#define ONES(bit)                                                                                  \
    {                                                                                              \
        LINE_REST64(255), (1 << (bit)) - 1                                                         \
    }
static const _Alignas(64) uint8_t line_ones[8][2 * LINE_BYTES] = {
    ONES(0), ONES(1), ONES(2), ONES(3), ONES(4), ONES(5), ONES(6), ONES(7)};

/* The bits below bit n of the line, which is where a slot begins. */
INLINED struct line_vectors line_below(uint32_t index, uint32_t n)
{
    return line_load(line_ones[line_has_lanes(index) ? 0 : n % 8] + LINE_BYTES - n / 8);
}

/* All slots one place back, and a print in slot 0. */
INLINED struct line_vectors line_shifted(struct line_vectors all, uint32_t index, uint32_t print)
{
    const uint64_t bits = line_tables[index].bits;
    line_words before =
        line_has_lanes(index) ? line_repeated(index, print).v[0] : line_all((uint64_t)print << 32);

    EACH_VECTOR
    {
        const line_words own = all.v[i];

#ifdef BACK_LANE
        all.v[i] = line_has_lanes(index) ? BACK_LANE(before, own, bits)
                                         : own << bits | BACK64(before, own) >> (64 - bits);
#else
        all.v[i] = own << bits | BACK64(before, own) >> (64 - bits);
#endif
        before = own;
    }
    return all;
}

/* Shift the slots before the first of a set one place back, over it, and put a print into slot 0.
 */
INLINED void line_to_front(uint8_t *line, uint32_t index, uint64_t set, uint32_t print)
{
    struct line_vectors old = line_load(line);

    line_store(line,
               line_either(line_below(index, line_begin(index, set) + line_tables[index].bits),
                           line_shifted(old, index, print), old));
}

/* line_to_front(), but into slot `to`, which is not behind the first of the set. */
INLINED void line_move_from(uint8_t *line, uint32_t index, uint64_t set, uint64_t to,
                            uint32_t print)
{
    const uint32_t bits = line_tables[index].bits, begin = line_begin(index, to),
                   next = begin + bits;
    const uint64_t word =
        (uint64_t)print << 32 << next % 64 | (uint64_t)print << 32 >> (-next % 64);
    struct line_vectors old = line_load(line), prints, before = line_below(index, begin);
    struct line_vectors moved = line_below(index, line_begin(index, set) + bits);

    /* in each word the fingerprint is at its position in the line */
    EACH_VECTOR prints.v[i] = line_all(word);
    EACH_VECTOR moved.v[i] &= ~before.v[i];
    prints = line_either(line_below(index, next), prints, line_shifted(old, index, print));
    line_store(line, line_either(moved, prints, old));
}

/* line_to_front() in a line with a window: all bits from slot `live` on become zero. */
INLINED void line_renew(uint8_t *line, uint32_t index, uint32_t live, uint64_t set, uint32_t print)
{
    const uint32_t bits = line_tables[index].bits;
    struct line_vectors all = line_load(line), kept = line_below(index, live * bits);

    EACH_VECTOR all.v[i] &= kept.v[i];
    all = line_either(line_below(index, line_begin(index, set) + bits),
                      line_shifted(all, index, print), all);
    line_store(line, all);
}

#endif
