/* expiry.h - lines of the filter recent whose slots expire, each at a time of its own (ttl=).
 *
 * A line has the prints of its slots from the front on, and a code for each from the end on:
 *
 *   bit 0                                               488            504       511
 *   +---------+---------+--   --+   +--   --+----+----+---------------+---------+
 *   | print 0 | print 1 |  ...  | 0 |  ...  | c1 | c0 | clock         | width   |
 *   +---------+---------+--   --+   +--   --+----+----+---------------+---------+
 *
 * So prints are found, moved and truncated as in every line, and truncation leaves codes alone. The
 * print of an empty slot is 0, and its code has no meaning. Used slots may follow it, because a
 * slot becomes empty when its key expires. A new key takes the first empty slot behind the depth at
 * which it enters, or else the last one before it.
 *
 * Times are counted in units of the filter: a quarter of the shortest TTL. Level k of the expiry
 * grid has the multiples of 2^k units. A key's expiry time is rounded to the finest level at which
 * it is at most R steps ahead of the clock: down with expire=early (R = 8), up with expire=late (R
 * = 9). Then a step is less than a quarter of the TTL. The code is k R + (step modulo R). It never
 * changes, so nothing is rounded twice, and it is the same in all filters.
 *
 * The line's clock is the time, modulo 2^16, at which it was last observed. All its slots were
 * alive then, at most R steps ahead, so the remainder identifies the step. A line is cleaned when
 * it is observed in a later unit: slots that expired meanwhile become empty. Before a clock is 2^16
 * units behind, all lines are cleaned.
 *
 * Included by recent_paths.h; rare operations are in expiry.c. */
#ifndef WEIR_FILTER_RECENT_EXPIRY_H
#define WEIR_FILTER_RECENT_EXPIRY_H

#include "filter/recent/recent.h"

#define NOT_KEPT 255 /* instead of a code: the key is looked up, not recorded */

#define CODES 128

/* The expiry grid at one time. */
struct expiry_clock {
    const struct ttl *ttl;
    uint64_t now;                                   /* units */
    uint8_t longest;                                /* code of the longest TTL */
    _Alignas(LINE_BYTES) uint8_t ahead[CODES + 16]; /* of each code: the step's distance from the
                                                     * next one */
};

/* The level of each code. */
#define LEVELS8(at, R)                                                                             \
    (at) / (R), ((at) + 1) / (R), ((at) + 2) / (R), ((at) + 3) / (R), ((at) + 4) / (R),            \
        ((at) + 5) / (R), ((at) + 6) / (R), ((at) + 7) / (R)
#define LEVELS32(at, R)                                                                            \
    LEVELS8(at, R), LEVELS8((at) + 8, R), LEVELS8((at) + 16, R), LEVELS8((at) + 24, R)
#define LEVELS(R)                                                                                  \
    {                                                                                              \
        LEVELS32(0, R), LEVELS32(32, R), LEVELS32(64, R), LEVELS32(96, R)                          \
    }
static const _Alignas(LINE_BYTES) uint8_t expiry_levels[2][CODES] = {LEVELS(8), LEVELS(9)};

static inline const uint8_t *expiry_levels_of(const struct ttl *t)
{
    return expiry_levels[t->residues == 9];
}

INLINED uint32_t expiry_modulo(const struct ttl *t, uint64_t step)
{
    return (uint32_t)(t->residues == 8 ? step % 8 : step % 9);
}

INLINED uint64_t expiry_step(uint64_t units, uint32_t k, bool late)
{
    return (late ? units + (UINT64_C(1) << k) - 1 : units) >> k;
}

/* The code of an expiry time in milliseconds; 0: do not record. */
INLINED uint8_t expiry_code(const struct expiry_clock *c, uint64_t expires, bool late)
{
    const struct ttl *t = c->ttl;
    uint64_t units = expires / t->unit;

    if (expires == 0)
        return NOT_KEPT;
    units += late && units * t->unit != expires;
    /* of 8 to 15 steps at level k, there are at most R, or at most R at the level above */
    uint32_t k = 60 - (uint32_t)__builtin_clzll((units - c->now) | 8);
    k += expiry_step(units, k, late) - (c->now >> k) > t->residues;
    uint64_t step = expiry_step(units, k, late), ahead = step - (c->now >> k);
    if (ahead - 1 >= t->residues || k >= t->levels) /* the clock is at its end */
        return NOT_KEPT;
    return (uint8_t)(k * t->residues + expiry_modulo(t, step));
}

INLINED void expiry_set_clock(struct expiry_clock *c, const struct ttl *t, uint64_t now)
{
    static const uint8_t count[2][32] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7},
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8}};
    uint32_t at = 0;

    c->ttl = t;
    c->now = now;
    for (uint32_t k = 0; k < t->levels; k++, at += t->residues)
        memcpy(c->ahead + at,
               count[t->residues == 9] + t->residues - expiry_modulo(t, (now >> k) + 1), 16);
    memset(c->ahead + at, 255, sizeof c->ahead - at);
}

/* How long a slot that is alive now stays so, in units. */
INLINED uint64_t expiry_left(const struct expiry_clock *c, uint32_t code)
{
    const uint32_t k = expiry_levels_of(c->ttl)[code];

    return ((c->ahead[code] + UINT64_C(1)) << k) - (c->now & ((UINT64_C(1) << k) - 1));
}

/* ---- codes ---- */

/* Where the code of a slot begins in the line. */
static inline uint32_t expiry_bit(uint32_t bits, uint32_t slot)
{
    return LINE_ROOM_TTL - bits * (slot + 1);
}

/* The code that begins at a bit of a line. */
static inline uint32_t code_at(const uint8_t *line, uint32_t bits, uint32_t at)
{
    return bits_load16(line + at / 8) >> at % 8 & ((1u << bits) - 1);
}

static inline uint32_t expiry_get(const uint8_t *line, uint32_t bits, uint32_t slot)
{
    return code_at(line, bits, expiry_bit(bits, slot));
}

/* Put a code where bits are zero. */
static inline void expiry_put(uint8_t *line, uint32_t bits, uint32_t slot, uint32_t code)
{
    const uint32_t at = expiry_bit(bits, slot);

    line[at / 8] |= (uint8_t)(code << at % 8);
    line[at / 8 + 1] |= (uint8_t)(code << at % 8 >> 8);
}

/* Of bits below n: those in the word that begins at bit `from`. */
INLINED uint64_t bits_below(int32_t n)
{
    return n <= 0 ? 0 : n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* Codes move as prints do: those of slots to..from-1 one slot back, and `code` to slot `to`. */
INLINED void expiry_move(uint8_t *line, uint32_t bits, uint32_t from, uint32_t to, uint32_t code)
{
    const int32_t begin = (int32_t)expiry_bit(bits, from) - 256; /* in the last four words */
    const int32_t last = (int32_t)expiry_bit(bits, to) - 256, end = last + (int32_t)bits;
    uint64_t old[5], word;

    for (int32_t i = 0; i < 4; i++)
        old[i] = bits_load64(line + 32 + 8 * i);
    old[4] = 0;
    for (int32_t i = 0; i < 4; i++) {
        const int32_t at = 64 * i;
        const uint64_t mask = bits_below(end - at) & ~bits_below(begin - at);

        word = old[i] >> bits | old[i + 1] << (64 - bits);
        word &= bits_below(last - at);
        if (last - at > -64 && last - at < 64)
            word |= last >= at ? (uint64_t)code << (last - at) : (uint64_t)code >> (at - last);
        bits_store64(line + 32 + 8 * i, (old[i] & ~mask) | (word & mask));
    }
}

/* ---- lines ---- */

/* The time at which a line was last observed, in units: before `now`, by less than 2^16. */
static inline uint64_t expiry_line_clock(const uint8_t *line, uint64_t now)
{
    return now - ((now - line_clock(line)) & (CLOCK_WRAP - 1));
}

/* Steps of a level between two times. */
static inline uint64_t expiry_passed(uint64_t then, uint64_t now, uint32_t k)
{
    return (now >> k) - (then >> k);
}

/* Was a slot with this code, in a line that was last observed at `then`, still alive at the time of
 * the clock? It is if it is at most R steps ahead of then, and of now, too. */
static inline bool expiry_is_alive(const struct expiry_clock *c, uint32_t code, uint64_t then)
{
    const uint32_t k = expiry_levels_of(c->ttl)[code];

    return c->ahead[code] + expiry_passed(then, c->now, k) < c->ttl->residues;
}

/* Empty the slots of a line that expired since it was last observed, before `then`. */
void expiry_clean(const weir_filter *w, uint8_t *line, uint64_t then, const struct expiry_clock *c);

INLINED bool is_clean(const uint8_t *line, const struct expiry_clock *c)
{
    return line_clock(line) == (c->now & (CLOCK_WRAP - 1));
}

#endif
