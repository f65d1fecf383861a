/* verdict_lines.h - the store's verdicts by fingerprint, one cache line per key.
 *
 * Lines are those of the filter recent (base/line.h; filter/recent/recent.c explains the adaptive
 * width), and each slot has one bit more (base/line_list.h): whether the store called the key a
 * member.
 *
 * A verdict that is used moves to the front. A new one enters at two fifths of the way, because
 * most keys of most streams never occur again and must not push out those that do. The last one of
 * a full line is evicted. */
#ifndef WEIR_SCREEN_VERDICT_LINES_H
#define WEIR_SCREEN_VERDICT_LINES_H

#include "base/line.h"
#include "screen/screen.h"

#define LINES_SLOTS_MAX 56

struct verdict_lines {
    uint8_t *cells;
    uint64_t n;
    uint32_t width, slots; /* of a full line */
};

/* The lines in an area of a screen. */
static inline struct verdict_lines lines_in(const weir_screen *s, uint32_t area, uint64_t width,
                                            uint64_t slots)
{
    const struct cells *bytes = &s->area[area];

    return (struct verdict_lines){bytes->bytes, bytes->n / LINE_BYTES, (uint32_t)width,
                                  (uint32_t)slots};
}

/* Round bits up to bytes of whole lines. */
static inline uint64_t lines_bytes(uint64_t bits)
{
    return (bits + 8 * LINE_BYTES - 1) / (8 * LINE_BYTES) * LINE_BYTES;
}

/* The slots of this width in a line, each with its verdict. */
static inline uint32_t lines_room(uint64_t width)
{
    return LINE_ROOM / ((uint32_t)width + 1);
}

void lines_touch(const struct verdict_lines *l, struct weir_key key);

/* The verdict, or WEIR_UNANSWERED if there is none. */
uint8_t lines_find(const struct verdict_lines *l, struct weir_key key);

/* Mark a cached verdict as used. */
void lines_use(const struct verdict_lines *l, struct weir_key key);

/* Cache a verdict that is not cached. */
void lines_add(const struct verdict_lines *l, struct weir_key key, bool member);

/* Clear the lines that are due at this record, if all are cleared once per window. */
void lines_sweep(const struct verdict_lines *l, uint64_t record, uint64_t window);

/* The share of slots in use, and the probability of a false match. Samples at most 65536 evenly
 * spaced lines. */
double lines_fill(const struct verdict_lines *l);
double lines_error(const struct verdict_lines *l);

/* Are the loaded lines possible? */
bool lines_possible(const struct verdict_lines *l);

/* ---- what verdict_lines.c and verdict_paths.c share ---- */

struct verdict_paths {
    uint8_t (*find)(const struct verdict_lines *l, struct weir_key key);
    void (*use)(const struct verdict_lines *l, struct weir_key key);
    void (*add)(const struct verdict_lines *l, struct weir_key key, bool member);
};

extern const struct verdict_paths verdict_paths_plain, verdict_paths_avx2, verdict_paths_avx512;

/* The slots that a line may use at one of the widths. */
#define ROOM(width) LINE_ROOM / ((width) + 1)
static const uint8_t lines_rooms[LINE_INDEXES] = {LINE_EACH_WIDTH(ROOM), LINE_REST(ROOM(8))};

static inline uint32_t lines_slots(const struct verdict_lines *l, uint32_t index)
{
    return lines_rooms[index] < l->slots ? lines_rooms[index] : l->slots;
}

static inline uint8_t *lines_of_key(const struct verdict_lines *l, struct weir_key key)
{
    return l->cells + place(key, 0, l->n) * LINE_BYTES;
}

#endif
