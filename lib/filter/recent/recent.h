/* recent.h - what the files of the filter recent share. Read them in this order:
 *
 *   recent.c         the idea; plans, measures, merges, checks
 *   recent_lines.h   what one key does to its line
 *   expiry.h         lines whose slots expire, each at a time of its own (ttl=); expiry.c,
 *                    and with AVX-512 expiry_avx512.h; expiry_predict.c predicts them
 *   recent_paths.h   one key, and batches; compiled three times, with equal results, by
 *                    recent_plain.c (any processor), recent_avx2.c and recent_avx512.c
 *   recent_steps.h   AVX-512 only: sixteen keys of a batch at a time
 *   recent_decide.h  AVX-512 only: what becomes of eight of them, in one register
 *   slot_refs.h      AVX-512 only: the lines of eight keys, in one register
 *
 * Words: a "print" is a fingerprint; to "cut" a line is to truncate its fingerprints to the next
 * narrower width; the "floor" is the narrowest width, width=. */
#ifndef WEIR_FILTER_RECENT_RECENT_H
#define WEIR_FILTER_RECENT_RECENT_H

#include "base/line.h"
#include "filter/filter.h"

struct recent_paths {
    bool (*observe)(weir_filter *w, const struct weir_key *key);
    void (*observe_many)(weir_filter *w, const struct picked *p);
    bool (*ask)(const weir_filter *w, const struct weir_key *key);
    void (*ask_many)(const weir_filter *w, const struct weir_key *keys, size_t n,
                     uint8_t *verdicts);
    void (*prefetch)(const weir_filter *w, struct weir_key key);
    bool (*locate)(const weir_filter *w, const struct weir_key *keys, size_t n,
                   uint64_t *slot_refs);
};

extern const struct recent_paths recent_paths_plain, recent_paths_avx2, recent_paths_avx512;

/* Registers of a filter with a window. */
#define EPOCH 0     /* the number of the current quarter of the window */
#define ARRIVED 1   /* arrivals in it */
#define OVERFLOW 2  /* keys evicted from a full line before their window ended */
#define BEGINNING 3 /* with span=: the first time, plus one */

#define LINE_ROOM_WINDOW 464 /* with a window: five bytes less */

/* With ttl=, lines also have codes of expiry times, and their own clock (expiry.h). */
#define NOW 1 /* register: the time in milliseconds. EPOCH is the same in units of the grid. */
#define LINE_ROOM_TTL 488
#define EXPIRY_LEVELS 14
#define EXPIRY_BITS_MIN 3
#define EXPIRY_BITS_MAX 7
#define EXPIRY_TIME_MAX (UINT64_MAX / 2)

/* Of records or of time? */
static inline bool has_window(const struct config *c)
{
    return c->window || c->span;
}

static inline bool has_ttl(const struct config *c)
{
    return c->ttl.min != 0;
}

/* How many slots of each width fit into a line, and into one with a window. */
#define ROOMS(bits)                                                                                \
    {                                                                                              \
        (bits) / 32, (bits) / 24, (bits) / 20, (bits) / 16, (bits) / 15, (bits) / 14, (bits) / 13, \
            (bits) / 12, (bits) / 11, (bits) / 10, (bits) / 9, (bits) / 8, LINE_REST((bits) / 8)   \
    }
static const uint8_t line_rooms[2][LINE_INDEXES] = {ROOMS(LINE_ROOM), ROOMS(LINE_ROOM_WINDOW)};

/* The same with a code of so many bits for each slot. */
#define ROOM_TTL(w, bits) LINE_ROOM_TTL / ((w) + (bits))
#define ROOMS_TTL(bits)                                                                            \
    {                                                                                              \
        ROOM_TTL(32, bits), ROOM_TTL(24, bits), ROOM_TTL(20, bits), ROOM_TTL(16, bits),            \
            ROOM_TTL(15, bits), ROOM_TTL(14, bits), ROOM_TTL(13, bits), ROOM_TTL(12, bits),        \
            ROOM_TTL(11, bits), ROOM_TTL(10, bits), ROOM_TTL(9, bits), ROOM_TTL(8, bits),          \
            LINE_REST(ROOM_TTL(8, bits))                                                           \
    }
static const uint8_t line_rooms_ttl[EXPIRY_BITS_MAX - EXPIRY_BITS_MIN + 1][LINE_INDEXES] = {
    ROOMS_TTL(3), ROOMS_TTL(4), ROOMS_TTL(5), ROOMS_TTL(6), ROOMS_TTL(7)};

static inline const uint8_t *rooms_of(const struct config *c)
{
    return has_ttl(c) ? line_rooms_ttl[c->ttl.bits - EXPIRY_BITS_MIN] : line_rooms[has_window(c)];
}

/* The slots that a line may use at one of the widths, and at its present one. */
static inline uint32_t slots_at(const struct config *c, uint32_t index)
{
    uint32_t room = rooms_of(c)[index];

    return room < c->slots ? room : (uint32_t)c->slots;
}

static inline uint32_t slots_of(const weir_filter *w, const uint8_t *line)
{
    return slots_at(&w->config, line_index(line));
}

/* With a window, the five bytes before the last contain four marks: how many slots, from the front
 * on, belong to the current quarter, or to it and one, two or three before. And the quarter in
 * which the line was last touched:
 *
 *   bit 464   470   476   482   488               504       511
 *   | now   | 1   | 2   | 3   | quarter (mod 2^16) | width   |   */
#define QUARTERS 4
#define CLOCK_WRAP (UINT64_C(1) << 16)

static inline uint32_t line_upto(const uint8_t *line, uint32_t i)
{
    return bits_load64(line + 56) >> (16 + 6 * i) & 63;
}

static inline uint32_t line_clock(const uint8_t *line)
{
    return bits_load64(line + 56) >> 40 & (CLOCK_WRAP - 1);
}

static inline void line_set_clock(uint8_t *line, uint64_t now)
{
    uint64_t word = bits_load64(line + 56) & ~((CLOCK_WRAP - 1) << 40);

    bits_store64(line + 56, word | (now & (CLOCK_WRAP - 1)) << 40);
}

/* How many quarters before the line's last one a slot was observed. */
static inline uint32_t line_part(const uint8_t *line, uint32_t slot)
{
    uint32_t part = 0;

    while (part < QUARTERS && slot >= line_upto(line, part))
        part++;
    return part;
}

/* Set the marks of a line from the parts of its slots. */
static inline void line_mark(uint8_t *line, const uint8_t *part, uint32_t n, uint64_t quarter)
{
    uint64_t word = 0;

    for (uint32_t i = 0; i < QUARTERS; i++) {
        uint64_t upto = 0;

        while (upto < n && part[upto] <= i)
            upto++;
        word |= upto << (16 + 6 * i);
    }
    bits_store64(line + 56, bits_load64(line + 56) | word);
    line_set_clock(line, quarter);
}

/* Quarters since a line was touched; at most QUARTERS + 1, when all its slots are too old. */
static inline uint32_t line_age(uint64_t epoch, uint64_t tail)
{
    uint64_t age = (epoch - (tail >> 40)) & (CLOCK_WRAP - 1);

    return age <= QUARTERS ? (uint32_t)age : QUARTERS + 1;
}

/* A line's marks `age` quarters later, and above them the number of slots in the window; of age
 * 0, 63. By shifting, because ages differ from line to line and a branch would be mispredicted. */
static inline uint64_t aged_marks(uint64_t tail, uint32_t age)
{
    return ((tail >> 16 & 0xffffff) | 63 << 24) << 6 * age & 0x3fffffff;
}

/* How many of a line's slots, from the front on, are in the window. */
static inline uint32_t live_slots(const weir_filter *w, const uint8_t *line, uint32_t slots)
{
    uint64_t tail = bits_load64(line + 56);
    uint32_t live = (uint32_t)(aged_marks(tail, line_age(w->reg[EPOCH], tail)) >> 24);

    return live < slots ? live : slots;
}

/* With ttl= (expiry.c). Returns false if the range is too wide. */
bool expiry_plan(struct config *c);
void expiry_advance(weir_filter *w, uint64_t now);
size_t expiry_stamp(weir_filter *w, const uint64_t *times, const uint64_t *ttls, size_t n,
                    uint64_t *expires);
uint64_t expiry_of_longest(const weir_filter *w);

/* What it remembers (expiry_predict.c). Returns false if there are far too many keys. */
bool expiry_predict(const struct config *c, const struct shape *s, const struct ttl_load *load,
                    struct ttl_prediction *p);

/* Drop slots that are too old, and update the marks. */
void recent_age(const weir_filter *w, uint8_t *line);

/* Cut a line. Slower than line_cut(), but updates the marks. */
void recent_cut(const weir_filter *w, uint8_t *line);

/* How many of the next n arrivals may be observed before a quarter of window= ends; and what is to
 * be done when they have been. */
size_t recent_until_turn(const weir_filter *w, size_t n);
void recent_turn(weir_filter *w, size_t n);

#endif
