/* window.h - lines with window= or span=: in which part of the window each slot was observed.
 *
 * A window has 16 parts. A line has a map of them, the clock, which is the number of the part in
 * which it was last touched, and the width:
 *
 *   bit 432                  488            504     511
 *   | map of the parts       | clock        | width |
 *
 * The map describes the line from the front on: a 0 is a slot, and a 1 is a boundary between two
 * parts. It has 16 ones; the boundaries before a slot are the parts since it was observed. Zeros
 * behind the last boundary are slots of the oldest part, or empty ones:
 *
 *   slots in parts 0, 0, 1, 3, 3:   0 0 1 0 1 1 0 0 1 1 1 1 1 1 1 1 1 1 1 1 1 0 0 0 ...
 *
 * When a part ends, a boundary is inserted at the front, and slots behind the 17th are too old.
 * When a slot moves to the front, its 0 does, too. The lowest 16 bits are stored inverted, so that
 * a line of zeros is an empty line. */
#ifndef WEIR_FILTER_RECENT_WINDOW_H
#define WEIR_FILTER_RECENT_WINDOW_H

#include "base/line.h"

#define PARTS 16
#define MAP_BITS 56
#define LINE_ROOM_WINDOW 432
#define WINDOW_SLOTS_MAX (MAP_BITS - PARTS)
#define CLOCK_WRAP (UINT64_C(1) << 16)

#define MAP_MASK ((UINT64_C(1) << MAP_BITS) - 1)
#define MAP_EMPTY ((UINT64_C(1) << PARTS) - 1) /* all boundaries, then no slots */

/* A map one bit up, with a boundary before all slots and one behind them; XORed, because maps are
 * stored inverted. */
#define TOP_BIT (UINT64_C(1) << 63)
#define MAP_FRAME (MAP_EMPTY << 1 | 1 | TOP_BIT)

/* ---- the end of a line ---- */

static inline uint32_t line_clock(const uint8_t *line)
{
    return bits_load16(line + 61);
}

static inline void line_set_clock(uint8_t *line, uint64_t now)
{
    bits_store16(line + 61, now & (CLOCK_WRAP - 1));
}

INLINED uint64_t line_map(const uint8_t *line)
{
    return (bits_load64(line + LINE_ROOM_WINDOW / 8) & MAP_MASK) ^ MAP_EMPTY;
}

/* The last two bytes of a line: the upper half of its clock, and its width. */
INLINED uint64_t window_end(uint64_t index, uint64_t now)
{
    return index << 8 | (now >> 8 & 255);
}

/* What a map is XORed with when it is stored: the lower half of the clock is next to it. */
INLINED uint64_t window_epoch(uint64_t now)
{
    return MAP_EMPTY | now << MAP_BITS;
}

/* Write a line's map, clock and width. */
INLINED void window_write(uint8_t *line, uint64_t map, uint64_t now, uint64_t index)
{
    bits_store64(line + LINE_ROOM_WINDOW / 8, map ^ window_epoch(now));
    bits_store16(line + LINE_BYTES - 2, (uint32_t)window_end(index, now));
}

/* ---- the map ---- */

/* The k-th one of a word, from 0 on, as one bit. If there is none, any bit or 0. On processors with
 * a slow pdep, recent.c selects the path of plain C. */
INLINED uint64_t nth_one(uint64_t word, uint32_t k)
{
#ifdef __BMI2__
    return _pdep_u64(UINT64_C(1) << k, word);
#else
    const uint64_t ones = UINT64_MAX / 255, tops = ones << 7;
    uint64_t sums = word - (word >> 1 & ones * 0x55);

    /* byte i: how many ones are in bytes 0 to i. Those with at most k come before the k-th one. */
    sums = (sums & ones * 0x33) + (sums >> 2 & ones * 0x33);
    sums = ((sums + (sums >> 4)) & ones * 0x0f) * ones;
    uint32_t byte = (uint32_t)(((((k * ones | tops) - sums) & tops) >> 7) * ones >> 53) & 56;
    k -= sums << 8 >> byte & 255;

    /* the same for the first seven bits of its byte, which are spread into seven bytes */
    sums = ((word >> byte & 127) * UINT64_C(0x2040810204081) & ones) * ones;
    uint32_t bit = (uint32_t)(((((k * ones | tops) - sums) & tops >> 8) >> 7) * ones >> 56);
    return UINT64_C(1) << byte << bit;
#endif
}

/* Parts since a line was touched; at most PARTS + 1, when all its slots are too old. */
INLINED uint32_t line_age(uint64_t epoch, const uint8_t *line)
{
    const uint16_t age = (uint16_t)(epoch - line_clock(line));

    return age <= PARTS ? age : PARTS + 1;
}

/* A line's map at a later time, and how many slots are within the window then; more than there are
 * if no time has passed. */
struct window_now {
    uint64_t map;
    uint32_t live;
};

INLINED struct window_now window_now(const uint8_t *line, uint64_t epoch)
{
    const uint64_t map =
        (bits_load64(line + LINE_ROOM_WINDOW / 8) << 1 & MAP_MASK << 1) ^ MAP_FRAME;
    const uint32_t age = line_age(epoch, line);
    const uint64_t end = nth_one(map, PARTS + 1 - age);

    return (struct window_now){
        ((map & (end - 1)) << age | ((UINT64_C(1) << age) - 1)) >> 1,
        (uint32_t)__builtin_ctzll(end | TOP_BIT) + age - (PARTS + 1),
    };
}

/* A slot moves to the front. */
INLINED uint64_t map_moved(uint64_t map, uint32_t slot)
{
    return map + (map & (nth_one(~map, slot) - 1));
}

/* How many parts before the line's clock a slot was observed; in a damaged line, any number. */
static inline uint32_t map_part(uint64_t map, uint32_t slot)
{
    return (uint32_t)__builtin_ctzll(nth_one(~map, slot) | TOP_BIT) - slot;
}

/* The map of n slots in these parts, which ascend. */
static inline uint64_t map_of(const uint8_t *part, uint32_t n)
{
    uint64_t map = (UINT64_C(1) << (PARTS + n)) - 1;

    for (uint32_t i = 0; i < n; i++)
        map ^= UINT64_C(1) << (part[i] + i);
    return map;
}

/* Can this be the map of a line with so many slots in use? */
static inline bool map_is_possible(uint64_t map, uint32_t used)
{
    return used <= WINDOW_SLOTS_MAX && map >> (PARTS + used) == 0 &&
           __builtin_popcountll(map) == PARTS;
}

#endif
