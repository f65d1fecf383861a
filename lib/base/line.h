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
 * Four operations carry the filter built on it: find a number among all slots at
 * once; count the slots in use; move or insert a number at any depth, which shifts
 * a stretch of the line by one slot; cut all numbers to the next width. They are
 * here in plain C, in line_avx2.h for AVX2 and in line_avx512.h for AVX-512 (chosen by how the
 * including file is compiled; each has a file for cutting beside it), and give the same bytes. */
#ifndef WEIR_BASE_LINE_H
#define WEIR_BASE_LINE_H

#include <stdbool.h>
#include <string.h>

#include "base/bits.h"
#include "base/processor.h"

/* For what must be compiled with a width that is a constant. Sanitizer builds leave that to the
 * compiler, which else takes minutes per file; the statements that run are the same. */
#ifdef WEIR_FREE_INLINING
#define INLINED static inline
#else
#define INLINED static inline __attribute__((always_inline))
#endif

#define LINE_BYTES 64
#define LINE_WIDTHS 12
#define LINE_ROOM 504 /* bits that slots may take */
#define LINE_SLOTS_MOST 63

/* For whoever wants to mark a line for a while: added to its last byte. */
#define LINE_MARKED 16

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
    return (uint32_t)((bits_u128)word * (UINT64_C(255) << 24) >> 64) + (UINT32_C(1) << 24);
}

/* The same, cut to one of the widths. */
static inline uint32_t line_number(uint32_t index, uint32_t print)
{
    return print >> (32 - line_width[index]);
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

/* For finding equal numbers while a line is cut: which low bits have come, in this
 * round. A round of 0 says that nothing has been cleared yet. */
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

/* Of equal numbers of so many bits keep the first; tells how many are left. */
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

/* Pack n numbers into a line of this width, two at a time. values[n] is zero. The bits
 * from `room` on (which lies in the last eight bytes) stay, but for the
 * width. */
static inline void line_pack(uint8_t *line, uint32_t index, const uint32_t *values, uint32_t n,
                             uint32_t room)
{
    const uint64_t kept = UINT64_MAX << (room - 448) & UINT64_MAX >> 8;
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
    words[7] |= (bits_load64(line + 56) & kept) | (uint64_t)index << 56;
    for (uint32_t i = 0; i < LINE_BYTES / 8; i++)
        bits_store64(line + 8 * i, words[i]);
}

/* One of two, without a branch: it would be guessed wrong for every other key. */
INLINED uint64_t line_one_of(bool first, uint64_t a, uint64_t b)
{
    return b ^ ((a ^ b) & -(uint64_t)first);
}

#if defined __AVX512VBMI2__ && defined __AVX512VBMI__ && defined __AVX512BW__
#include "base/line_avx512.h"
#elif defined __AVX2__
#include "base/line_avx2.h"
#else

INLINED uint64_t line_match_in(const uint8_t *line, uint32_t index, uint32_t slots, uint32_t value)
{
    for (uint32_t i = 0; i < slots; i++)
        if (line_get(line, line_width[index], i) == value)
            return UINT64_C(1) << i;
    return 0;
}

/* How many slots are in use, of those that end before bit `room`. */
static inline uint32_t line_used(const uint8_t *line, uint32_t index, uint32_t room)
{
    uint32_t bits = line_width[index], used = 0;

    while ((used + 1) * bits <= room && line_get(line, bits, used) != 0)
        used++;
    return used;
}

/* Of word j of the line: the bits below bit n of the line. */
static inline uint64_t line_below(int32_t n, int32_t j)
{
    n -= 64 * j;
    return n <= 0 ? 0 : n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* Shift the slots to..from-1 one place down and put a print in slot `to`. Here and below, `out`
 * becomes the line as it is then: the line itself, or another. */
static inline void line_move(uint8_t *out, const uint8_t *line, uint32_t index, uint32_t from,
                             uint32_t to, uint32_t print)
{
    uint32_t bits = line_width[index], value = line_number(index, print);
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

        bits_store64(out + 8 * j, (shifted & moved) | (old & kept) | own);
        before = old;
    }
}

INLINED void line_to_front(uint8_t *out, const uint8_t *line, uint32_t index, uint32_t from,
                           uint32_t print)
{
    line_move(out, line, index, from, 0, print);
}

/* line_to_front() of a line whose slots from `live` on are empty from now on, and whose
 * last bytes, from bit `room` on, become those of `tail`, a word. */
static inline void line_renew(uint8_t *out, const uint8_t *line, uint32_t index, uint32_t room,
                              uint32_t live, uint32_t from, uint32_t print, uint64_t tail)
{
    const uint32_t bits = line_width[index];
    uint64_t slots = (UINT64_C(1) << (room - 448)) - 1;

    for (int32_t j = 0; j < 8; j++)
        bits_store64(out + 8 * j, bits_load64(line + 8 * j) &
                                      line_below((int32_t)(live * bits), j) &
                                      (j < 7 ? UINT64_MAX : slots));
    line_move(out, out, index, from, 0, print);
    bits_store64(out + 56, (bits_load64(out + 56) & slots) | tail);
}

#endif

#ifndef WEIR_BASE_LINE_AVX2_H
/* All slots as numbers of 32 bits, without their low bits. */
static inline void line_read(const uint8_t *line, uint32_t index, uint32_t used, uint32_t dropped,
                             uint32_t values[LINE_SLOTS_MOST + 1])
{
    for (uint32_t i = 0; i < used; i++)
        values[i] = line_get(line, line_width[index], i) >> dropped;
}
#endif

/* A line, or a spare one; without a branch, which would be guessed wrong. */
INLINED uint8_t *line_or_spare(uint8_t *line, uint8_t *spare, bool is_spare)
{
    uintptr_t own = (uintptr_t)line, other = (uintptr_t)spare;

    return (uint8_t *)(own ^ ((own ^ other) & -(uintptr_t)is_spare));
}

#if !defined WEIR_BASE_LINE_AVX2_H && !defined WEIR_BASE_LINE_AVX512_H
/* line_to_front() of the slot found (a bit of that number is set) or, if there is none, of an empty
 * one. False if there is no empty one either: then the line stays, and the spare one is
 * written to. Without a branch: it would be guessed wrong. */
INLINED bool line_find_front(uint8_t *line, const uint32_t index, uint64_t found, bool full,
                             uint32_t last, uint32_t print, uint8_t *spare)
{
    bool stays = full & !found;
    uint32_t from = (uint32_t)__builtin_ctzll(found | UINT64_C(1) << last);

    line_to_front(line_or_spare(line, spare, stays), line, index, from, print);
    return !stays;
}
#endif

#ifndef LINE_ANY_WIDTH
/* line_to_front() from the first of some slots: bit i for slot i. */
INLINED void line_first_to_front(uint8_t *out, const uint8_t *line, uint32_t index, uint64_t slots,
                                 uint32_t print)
{
    line_to_front(out, line, index, (uint32_t)__builtin_ctzll(slots), print);
}

/* line_move() of the slot found (a bit of that number is set) to slot `up`, unless it is there or
 * before it; or, if there is none, from slot `last` to slot `down`. */
INLINED void line_move_found(uint8_t *out, const uint8_t *line, uint32_t index, uint64_t found,
                             uint32_t up, uint32_t last, uint32_t down, uint32_t print)
{
    uint32_t at = (uint32_t)__builtin_ctzll(found | UINT64_C(1) << 63);

    up = up < at ? up : at;
    line_move(out, line, index, (uint32_t)line_one_of(found, at, last),
              (uint32_t)line_one_of(found, up, down), print);
}

/* Which of the first slots hold a print, cut to their width; and which are empty. */
INLINED uint64_t line_find(const uint8_t *line, uint32_t index, uint32_t slots, uint32_t print)
{
    return line_match_in(line, index, slots, line_number(index, print));
}

INLINED uint64_t line_empty(const uint8_t *line, uint32_t index, uint32_t slots)
{
    return line_match_in(line, index, slots, 0);
}
#endif

/* DO(i) for a line's index, each width compiled by itself. */
#define LINE_CASE(i, DO)                                                                           \
    case i: {                                                                                      \
        DO(i)                                                                                      \
        break;                                                                                     \
    }
/* clang-format off */
#define LINE_BY_WIDTH(index, DO)                                                                   \
    switch (index) {                                                                               \
    LINE_CASE(0, DO) LINE_CASE(1, DO) LINE_CASE(2, DO) LINE_CASE(3, DO) LINE_CASE(4, DO)           \
    LINE_CASE(5, DO) LINE_CASE(6, DO) LINE_CASE(7, DO) LINE_CASE(8, DO) LINE_CASE(9, DO)           \
    LINE_CASE(10, DO)                                                                              \
    default: {                                                                                     \
        DO(11)                                                                                     \
    }                                                                                              \
    }
/* clang-format on */

#ifdef WEIR_BASE_LINE_AVX2_H
static inline uint32_t line_cut_by_width(uint8_t *line, uint32_t index, uint32_t used,
                                         uint32_t room, bool may_drop, struct line_rounds *r)
{
    /* clang-format off */
    switch (index) {
#define CASE(i) case i: return line_cut_in(line, i, used, room, may_drop, r);
    CASE(0) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9)
#undef CASE
    default: return line_cut_in(line, 10, used, room, may_drop, r);
    }
    /* clang-format on */
}
#endif

/* Cut the numbers in use to the next width; of those that become equal the first stays. Tells how
 * many are left: 0 if some become equal and may not be dropped; then nothing is done. `index` is
 * the line's: what its last byte says does not count. */
INLINED uint32_t line_cut(uint8_t *line, uint32_t index, uint32_t used, uint32_t room,
                          bool may_drop, struct line_rounds *r)
{
#ifdef WEIR_BASE_LINE_AVX2_H
    if (processor_has_quick_pext())
        return line_cut_by_width(line, index, used, room, may_drop, r);
#endif
    uint32_t bits = line_width[index + 1], values[LINE_SLOTS_MOST + 1];

#ifdef WEIR_BASE_LINE_AVX512_H
    if (index >= WIDE)
        return line_cut_bit(line, index, used, room, may_drop, r);
    if (index == 0 ? line_cut_widest(line, used, room) : line_cut_wide(line, index, used, room))
        return used;
#endif
    line_read(line, index, used, line_width[index] - bits, values);
    uint32_t kept = line_unlike(values, used, bits, r);
    if (kept < used && !may_drop)
        return 0;
    values[kept] = 0;
    line_pack(line, index + 1, values, kept, room);
    return kept;
}

#endif
