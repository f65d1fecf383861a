/* verdict_lines.h - the store's verdicts by fingerprint, in lines of 64 bytes.
 *
 * A key's hash picks a line and a fingerprint, as in the filter recent
 * (base/line.h draws the line, filter/recent/recent.c says why its widths adapt: 32 bits
 * as long as a line has room, cut to the next width when it is full, down to
 * width). Beside each fingerprint the line has one bit, whether the store called
 * it a member:
 *
 *   bit 0                                   448          503     511
 *   | slot 0 | slot 1 | ... | slot n-1 | 0 | ... v1  v0 | width |
 *
 * A verdict that is used moves to the front. A new one enters at two fifths of
 * the way: most keys of most streams never come again, and are not to push out
 * those that do. The last one of a full line falls out.
 *
 * What a key does to its line is in verdict_paths.h, compiled for plain C, AVX2 and AVX-512:
 * verdict_plain.c, verdict_avx2.c, verdict_avx512.c. */
#ifndef WEIR_SCREEN_VERDICT_LINES_H
#define WEIR_SCREEN_VERDICT_LINES_H

#include "base/line.h"
#include "screen/screen.h"

#define LINES_SLOTS_MOST 56

struct lines {
    uint8_t *cells;
    uint64_t n;
    uint32_t width, slots; /* of a line that is full */
};

/* The lines that a screen has as one of its areas, of bytes. */
static inline struct lines lines_in(const weir_screen *s, uint32_t area, uint64_t width,
                                    uint64_t slots)
{
    const struct cells *bytes = &s->area[area];

    return (struct lines){bytes->bytes, bytes->n / LINE_BYTES, (uint32_t)width, (uint32_t)slots};
}

/* Bytes of the whole lines that so many bits ask for. */
static inline uint64_t lines_bytes(uint64_t bits)
{
    return (bits + 8 * LINE_BYTES - 1) / (8 * LINE_BYTES) * LINE_BYTES;
}

/* How many slots of this width a line has, each with its verdict. */
static inline uint32_t lines_room(uint64_t width)
{
    return LINE_ROOM / ((uint32_t)width + 1);
}

void lines_touch(const struct lines *l, struct weir_key key);

/* The verdict, or WEIR_UNANSWERED if there is none. */
uint8_t lines_find(const struct lines *l, struct weir_key key);

/* A verdict that is there has been used. */
void lines_use(const struct lines *l, struct weir_key key);

/* Remember one that is not there. */
void lines_add(const struct lines *l, struct weir_key key, bool member);

/* Empty as many lines as record number `record` is due, of once round in a
 * window. */
void lines_sweep(const struct lines *l, uint64_t record, uint64_t window);

/* Shares: of slots in use, and the chance of a false match. Lines at even
 * distances are looked at, 65536 at most. */
double lines_fill(const struct lines *l);
double lines_error(const struct lines *l);

/* Could lines that were loaded have come about? */
bool lines_possible(const struct lines *l);

/* ---- inside: what verdict_lines.c and the paths share ---- */

struct verdict_paths {
    uint8_t (*find)(const struct lines *l, struct weir_key key);
    void (*use)(const struct lines *l, struct weir_key key);
    void (*add)(const struct lines *l, struct weir_key key, bool member);
};

extern const struct verdict_paths verdict_paths_plain, verdict_paths_avx2, verdict_paths_avx512;

/* Cut a full line's fingerprints to the next width; of equal ones the first
 * stays. */
void lines_cut(const struct lines *l, uint8_t *line);

/* The slots that a line may use at one of the widths. */
static inline uint32_t lines_slots(const struct lines *l, uint32_t index)
{
    uint32_t room = lines_room(line_width[index]);

    return room < l->slots ? room : l->slots;
}

static inline uint8_t *lines_of_key(const struct lines *l, struct weir_key key)
{
    return l->cells + place(key, 0, l->n) * LINE_BYTES;
}

#define VERDICTS (LINE_BYTES - 8) /* the byte from which the word with the verdicts begins */
#define FIRST_VERDICT 55          /* its bit of slot 0 */

static inline bool line_verdict(const uint8_t *line, uint32_t slot)
{
    return bits_load64(line + VERDICTS) >> (FIRST_VERDICT - slot) & 1;
}

/* line_move(), and the same with the verdicts. */
static inline void line_move_verdict(uint8_t *line, uint32_t from, uint32_t to, uint32_t print,
                                     bool member)
{
    line_move(line, line_index(line), from, to, print);
    uint64_t word = bits_load64(line + VERDICTS);
    uint64_t moved =
        (UINT64_C(2) << (FIRST_VERDICT - to)) - (UINT64_C(1) << (FIRST_VERDICT - from));
    uint64_t shifted = (word & moved) >> 1 & moved;

    bits_store64(line + VERDICTS,
                 (word & ~moved) | shifted | (uint64_t)member << (FIRST_VERDICT - to));
}

#endif
