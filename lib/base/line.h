/* line.h - a cache line as a short list of fingerprints of equal width.
 *
 *   bit 0                                                        503     511
 *   | slot 0 | slot 1 | ... | slot n-1 | 0 | 0 |  spare           | width |
 *     newest                  oldest     empty                      byte 63
 *
 * Slots of `bits` bits are packed from bit 0 on. Empty slots are zero and follow the used ones; no
 * fingerprint is zero. The last byte is an index into the twelve widths (line_width), so a line of
 * zeros is an empty line of the widest slots.
 *
 * The operations: find a fingerprint in all slots at once, move a slot to the front or insert at a
 * depth (both shift a part of the line by one slot), and truncate all slots to the next width.
 * There are two implementations with equal results, selected when compiling:
 *
 *   line_vector.h   GCC vector extensions: SSE2, AVX2, NEON, or no vectors at all
 *   line_avx512.h   AVX-512 with VBMI and VBMI2: a line is one register
 *
 * `index` is a line's index into the widths. Both implementations read what depends on the width
 * from tables, so lines of all widths run through the same instructions and no branch on the width
 * is mispredicted. If `index` is a compile-time constant, the compiler folds the tables. */
#ifndef WEIR_BASE_LINE_H
#define WEIR_BASE_LINE_H

#include <stdbool.h>
#include <string.h>

#include "base/bits.h"
#include "base/processor.h"

#define INLINED static inline __attribute__((always_inline))

#define LINE_BYTES 64
#define LINE_WIDTHS 12
#define LINE_ROOM 504 /* bits that slots may take */
#define LINE_SLOTS_MAX 63

/* DO(width) for each of the twelve widths. */
#define LINE_EACH_WIDTH(DO)                                                                        \
    DO(32), DO(24), DO(20), DO(16), DO(15), DO(14), DO(13), DO(12), DO(11), DO(10), DO(9), DO(8)

/* Tables by index have 256 entries, because a damaged line of a view can contain any index. The
 * entries after the twelve repeat the last. */
#define LINE_REST4(x) x, x, x, x
#define LINE_REST16(x) LINE_REST4(x), LINE_REST4(x), LINE_REST4(x), LINE_REST4(x)
#define LINE_REST64(x) LINE_REST16(x), LINE_REST16(x), LINE_REST16(x), LINE_REST16(x)
#define LINE_REST(x)                                                                               \
    LINE_REST64(x), LINE_REST64(x), LINE_REST64(x), LINE_REST16(x), LINE_REST16(x),                \
        LINE_REST16(x), LINE_REST4(x)
#define LINE_INDEXES (LINE_WIDTHS + 3 * 64 + 3 * 16 + 4)
#define LINE_BITS_OF(w) w

static const uint8_t line_width[LINE_INDEXES] = {LINE_EACH_WIDTH(LINE_BITS_OF), LINE_REST(8)};

/* And back. */
static const uint8_t line_index_of[33] = {
    [32] = 0, [24] = 1, [20] = 2, [16] = 3, [15] = 4, [14] = 5,
    [13] = 6, [12] = 7, [11] = 8, [10] = 9, [9] = 10, [8] = 11};

/* A 32-bit fingerprint from half a hash. The first byte is never zero, so no prefix of eight bits
 * or more is zero. */
static inline uint32_t line_print(uint64_t word)
{
    return (uint32_t)((bits_u128)word * (UINT64_C(255) << 24) >> 64) + (UINT32_C(1) << 24);
}

/* A line's index into the widths. */
static inline uint32_t line_index(const uint8_t *line)
{
    return line[LINE_BYTES - 1];
}

/* The eight bytes that contain slot i, within the line, and its shift in them. */
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

/* Put a value into an empty slot. */
static inline void line_put(uint8_t *line, uint32_t bits, uint32_t i, uint32_t value)
{
    uint32_t shift, byte = line_word(bits, i, &shift);

    bits_store64(line + byte, bits_load64(line + byte) | (uint64_t)value << shift);
}

/* Empty a slot. */
static inline void line_clear(uint8_t *line, uint32_t bits, uint32_t i)
{
    uint32_t shift, byte = line_word(bits, i, &shift);

    bits_store64(line + byte, bits_load64(line + byte) & ~(((UINT64_C(1) << bits) - 1) << shift));
}

/* To find equal numbers while a line is cut: which low bits have occurred in this round. Round 0:
 * not yet cleared. */
#define LINE_LOW_BITS 12

struct line_rounds {
    uint8_t round;
    uint8_t came[1 << LINE_LOW_BITS];
};

static inline void line_next_round(struct line_rounds *r)
{
    if (++r->round > 1)
        return;
    memset(r->came, 0, sizeof r->came);
    r->round = 1;
}

static inline bool line_is_among(const uint32_t *values, uint32_t n, uint32_t value)
{
    bool among = false;

    for (uint32_t i = 0; i < n; i++)
        among |= values[i] == value;
    return among;
}

/* Of equal numbers of `bits` bits keep the first; returns how many are left. */
static inline uint32_t line_unlike(uint32_t *values, uint32_t n, uint32_t bits,
                                   struct line_rounds *r)
{
    uint32_t kept = 0;

    line_next_round(r);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t value = values[i];
        uint8_t *came = &r->came[value & ((1 << LINE_LOW_BITS) - 1)];

        if (*came == r->round && (bits <= LINE_LOW_BITS || line_is_among(values, kept, value)))
            continue;
        *came = r->round;
        values[kept++] = value;
    }
    return kept;
}

/* The last two words of a line. */
struct line_tail {
    uint64_t low, high;
};

/* Their bits from `limit` on, without the width. */
INLINED struct line_tail line_behind(const uint32_t limit)
{
    return limit < 448 ? (struct line_tail){UINT64_MAX << (limit - 384), UINT64_MAX >> 8}
                       : (struct line_tail){0, UINT64_MAX << (limit - 448) & UINT64_MAX >> 8};
}

/* Pack n numbers into a line of this width, two at a time. values[n] is zero. The bits from `limit`
 * on (in the last two words) are kept, except for the width. */
static inline void line_pack(uint8_t *line, uint32_t index, const uint32_t *values, uint32_t n,
                             uint32_t limit)
{
    const struct line_tail kept = line_behind(limit);
    const uint32_t bits = line_width[index];
    uint64_t words[LINE_BYTES / 8] = {0}, now = 0;
    uint32_t at = 0, word = 0;

    for (uint32_t i = 0; i < n; i += 2) {
        uint64_t two = values[i] | (uint64_t)values[i + 1] << bits;

        now |= two << at;
        at += 2 * bits;
        if (at >= 64) {
            at -= 64;
            words[word++] = now;
            now = two >> (2 * bits - at);
        }
    }
    words[word] = now;
    words[6] |= bits_load64(line + 48) & kept.low;
    words[7] |= (bits_load64(line + 56) & kept.high) | (uint64_t)index << 56;
    for (uint32_t i = 0; i < LINE_BYTES / 8; i++)
        bits_store64(line + 8 * i, words[i]);
}

/* One of two, without a branch: it would be mispredicted for every other key. */
INLINED uint64_t line_one_of(bool first, uint64_t a, uint64_t b)
{
    return b ^ ((a ^ b) & -(uint64_t)first);
}

/* ---- which bytes contain which slots ---- */

/* A number with one bit per slot for which DO is true: at the byte in which the slot begins. No two
 * slots begin in the same byte. */
#define SLOT_IF(w, i, is)                                                                          \
    ((((i) + 1) * (w) <= LINE_ROOM && (is)) ? UINT64_C(1) << (i) * (w) / 8 % 64 : 0)
#define SLOTS8(DO, w, i)                                                                           \
    DO(w, i) | DO(w, (i) + 1) | DO(w, (i) + 2) | DO(w, (i) + 3) | DO(w, (i) + 4) |                 \
        DO(w, (i) + 5) | DO(w, (i) + 6) | DO(w, (i) + 7)
#define SLOTS(DO, w)                                                                               \
    (SLOTS8(DO, w, 0) | SLOTS8(DO, w, 8) | SLOTS8(DO, w, 16) | SLOTS8(DO, w, 24) |                 \
     SLOTS8(DO, w, 32) | SLOTS8(DO, w, 40) | SLOTS8(DO, w, 48) | SLOTS8(DO, w, 56))
#define SLOT_BEGINS(w, i) SLOT_IF(w, i, true)
#define SLOT_IS_EVEN(w, i) SLOT_IF(w, i, (i) % 2 == 0)
#define SLOT_IS_ODD(w, i) SLOT_IF(w, i, (i) % 2)
#define SLOT_IS_SHORT(w, i) SLOT_IF(w, i, (i) * (w) % 8 + (w) <= 16)
/* The width, and below it 65536 times its inverse, rounded up: a bit's slot is bit * inverse >> 16.
 */
#define FORM(w) ((uint32_t)(w) << 16 | (65536 + (w)-1) / (w))

/* A table with DO for each byte of a line; and the bits of a byte that belong to even slots. */
#define BYTES8(DO, w, i)                                                                           \
    DO(w, i), DO(w, (i) + 1), DO(w, (i) + 2), DO(w, (i) + 3), DO(w, (i) + 4), DO(w, (i) + 5),      \
        DO(w, (i) + 6), DO(w, (i) + 7)
#define BYTES(DO, w)                                                                               \
    {                                                                                              \
        BYTES8(DO, w, 0), BYTES8(DO, w, 8), BYTES8(DO, w, 16), BYTES8(DO, w, 24),                  \
            BYTES8(DO, w, 32), BYTES8(DO, w, 40), BYTES8(DO, w, 48), BYTES8(DO, w, 56)             \
    }
#define EVEN_BIT(w, i, bit) (((8 * (i) + (bit)) / (w) % 2 == 0) << (bit))
#define EVEN_BITS(w, i)                                                                            \
    (EVEN_BIT(w, i, 0) | EVEN_BIT(w, i, 1) | EVEN_BIT(w, i, 2) | EVEN_BIT(w, i, 3) |               \
     EVEN_BIT(w, i, 4) | EVEN_BIT(w, i, 5) | EVEN_BIT(w, i, 6) | EVEN_BIT(w, i, 7))

/* Is the width known when compiling, and are slots whole lanes of a register? */
INLINED bool line_has_lanes(uint32_t index)
{
    return __builtin_constant_p(index) && 64 % line_width[index] == 0;
}

#if defined __AVX512VBMI2__ && defined __AVX512VBMI__ && defined __AVX512BW__
#include "base/line_avx512.h"
#else
#include "base/line_vector.h"
#endif

/* Move the slot found to slot `up`, unless it is there or before it. If none was found, drop slot
 * `last` and put the print into slot `down`. */
INLINED void line_move_found(uint8_t *line, uint32_t index, uint64_t found, uint32_t up,
                             uint64_t last, uint32_t down, uint32_t print)
{
    uint64_t front = found | line_slot(index, up);

    line_move_from(line, index, found | last,
                   line_one_of(found, front & -front, line_slot(index, down)), print);
}

/* Shift the slots to..from-1 one place back and put a print into slot `to`. */
INLINED void line_move(uint8_t *line, uint32_t index, uint32_t from, uint32_t to, uint32_t print)
{
    line_move_from(line, index, line_slot(index, from), line_slot(index, to), print);
}

/* The number of slots in use, of the first n. */
INLINED uint32_t line_used(const uint8_t *line, uint32_t index, uint32_t n)
{
    uint64_t empty = line_empty(line, index, line_slots(index, n));

    return empty ? line_first(index, empty) : n;
}

/* DO(i) for a line's index. The widths whose slots are whole lanes of a register are compiled for
 * themselves; all others share the code that reads tables. */
/* clang-format off */
#define LINE_BY_WIDTH(index, DO)                                                                   \
    switch (index) {                                                                               \
    case 0: { DO(0) break; }                                                                       \
    case 3: { DO(3) break; }                                                                       \
    case 11: { DO(11) break; }                                                                     \
    default: { DO((index) < LINE_WIDTHS ? (index) : LINE_WIDTHS - 1) }                             \
    }

/* The same with each of the other widths compiled for itself. */
#define LINE_CASE(i, DO) case i: { DO(i) break; }
#define LINE_BY_EACH_WIDTH(index, DO)                                                              \
    switch (index) {                                                                               \
    LINE_CASE(1, DO) LINE_CASE(2, DO) LINE_CASE(4, DO) LINE_CASE(5, DO) LINE_CASE(6, DO)           \
    LINE_CASE(7, DO) LINE_CASE(8, DO) LINE_CASE(9, DO)                                             \
    default: { DO(10) }                                                                            \
    }
/* clang-format on */

/* Truncate the `used` slots to the next width. Of those that become equal the first stays. Returns
 * how many are left, or 0 if some become equal and may_drop is false; then the line is unchanged.
 * The bits from `limit` on stay, except for the index. */
static inline uint32_t line_cut(uint8_t *line, uint32_t index, uint32_t used, uint32_t limit,
                                bool may_drop, struct line_rounds *r)
{
    const uint32_t old = line_width[index], bits = line_width[index + 1];
    uint32_t values[LINE_SLOTS_MAX + 1];

#ifdef WEIR_BASE_LINE_AVX512_H
    if (index >= WIDE)
        return line_cut_bit(line, index, used, limit, may_drop, r);
    if (index == 0 ? line_cut_widest(line, used, limit) : line_cut_wide(line, index, used, limit))
        return used;
#endif
    for (uint32_t i = 0; i < used; i++)
        values[i] = line_get(line, old, i) >> (old - bits);
    uint32_t kept = line_unlike(values, used, bits, r);
    if (kept < used && !may_drop)
        return 0;
    values[kept] = 0;
    line_pack(line, index + 1, values, kept, limit);
    return kept;
}

#endif
