/* recent.h - what the files of the filter recent share. Read them in this order:
 *
 *   recent.c         the idea; plans, measures, merges, checks
 *   recent_lines.h   what one key does to its line
 *   window.h         lines with a window (window=, span=)
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

#include "filter/filter.h"
#include "filter/recent/window.h"

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
#define EPOCH 0     /* the number of the current part of the window */
#define ARRIVED 1   /* with window=: arrivals since the last part that is a multiple of PARTS */
#define OVERFLOW 2  /* keys evicted from a full line before their window ended */
#define BEGINNING 3 /* with span=: the first time, plus one; else 0 */
#define LAYOUT 4    /* 0; not in files of before 1.0, whose lines have four parts */
#define WINDOW_REGISTERS 5

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

/* How many slots of each width fit into a line: without times, with a window, and with a code of so
 * many bits for each slot. */
#define ROOM(w) LINE_ROOM / (w)
#define ROOM_WINDOW(w)                                                                             \
    (LINE_ROOM_WINDOW / (w) < WINDOW_SLOTS_MAX ? LINE_ROOM_WINDOW / (w) : WINDOW_SLOTS_MAX)
#define ROOM_TTL3(w) LINE_ROOM_TTL / ((w) + 3)
#define ROOM_TTL4(w) LINE_ROOM_TTL / ((w) + 4)
#define ROOM_TTL5(w) LINE_ROOM_TTL / ((w) + 5)
#define ROOM_TTL6(w) LINE_ROOM_TTL / ((w) + 6)
#define ROOM_TTL7(w) LINE_ROOM_TTL / ((w) + 7)
#define ROOMS(room)                                                                                \
    {                                                                                              \
        LINE_EACH_WIDTH(room), LINE_REST(room(8))                                                  \
    }
static const uint8_t line_rooms[2][LINE_INDEXES] = {ROOMS(ROOM), ROOMS(ROOM_WINDOW)};
static const uint8_t line_rooms_ttl[EXPIRY_BITS_MAX - EXPIRY_BITS_MIN + 1][LINE_INDEXES] = {
    ROOMS(ROOM_TTL3), ROOMS(ROOM_TTL4), ROOMS(ROOM_TTL5), ROOMS(ROOM_TTL6), ROOMS(ROOM_TTL7)};

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

/* With ttl= (expiry.c). Returns false if the range is too wide. */
bool expiry_plan(struct config *c);
void expiry_advance(weir_filter *w, uint64_t now);
size_t expiry_stamp(weir_filter *w, const uint64_t *times, const uint64_t *ttls, size_t n,
                    uint64_t *expires);
uint64_t expiry_of_longest(const weir_filter *w);

/* What it remembers (expiry_predict.c). Returns false if there are far too many keys. */
bool expiry_predict(const struct config *c, const struct shape *s, const struct ttl_load *load,
                    struct ttl_prediction *p);

/* Drop slots that are too old, and update the map. */
void recent_age(const weir_filter *w, uint8_t *line);

/* Cut a line. Slower than line_cut(), but updates the map. */
void recent_cut(const weir_filter *w, uint8_t *line);

/* How many of the next n arrivals may be observed before a part of window= ends; and what is to be
 * done when they have been. */
size_t recent_until_turn(const weir_filter *w, size_t n);
void recent_turn(weir_filter *w, size_t n);

#endif
