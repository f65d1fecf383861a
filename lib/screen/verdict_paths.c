/* verdict_paths.c - lookup, use and insertion of a verdict. Compiled for any processor and for
 * newer ones, which name the result: lib/meson.build. */
#include "base/line_list.h"
#include "screen/verdict_lines.h"

/* The slot that contains a key. */
static uint64_t match(const struct verdict_lines *l, const uint8_t *line, struct weir_key key)
{
    uint64_t found;

#define FIND(i) found = line_find(line, i, line_slots(i, lines_slots(l, i)), line_print(key.hi));
    LINE_BY_WIDTH(line_index(line), FIND)
#undef FIND
    return found;
}

/* line_move(), and the same with the bits. */
static void move(uint8_t *line, uint32_t from, uint32_t to, uint32_t print, bool member)
{
#define MOVE(i) line_move(line, i, from, to, print);
    LINE_BY_WIDTH(line_index(line), MOVE)
#undef MOVE
    uint64_t word = bits_load64(line + LINE_BYTES - 8);
    uint64_t moved = (UINT64_C(2) << LINE_BIT(to)) - (UINT64_C(1) << LINE_BIT(from));
    uint64_t shifted = (word & moved) >> 1 & moved;

    bits_store64(line + LINE_BYTES - 8,
                 (word & ~moved) | shifted | (uint64_t)member << LINE_BIT(to));
}

static uint8_t find(const struct verdict_lines *l, struct weir_key key)
{
    const uint8_t *line = lines_of_key(l, key);
    uint64_t found = match(l, line, key);

    if (!found)
        return WEIR_UNANSWERED;
    return line_bit(line, line_first(line_index(line), found)) ? WEIR_MEMBER : WEIR_OTHER;
}

static void use(const struct verdict_lines *l, struct weir_key key)
{
    uint8_t *line = lines_of_key(l, key);
    uint32_t at = line_first(line_index(line), match(l, line, key));

    move(line, at, 0, line_print(key.hi), line_bit(line, at));
}

static bool can_be_cut(const struct verdict_lines *l, const uint8_t *line)
{
    const uint32_t index = line_index(line), bits = line_width[index];

    return bits > l->width && line_get(line, bits, lines_slots(l, index) - 1) != 0;
}

/* Truncate a line's fingerprints to the next width. Bits stay where they are, unless fingerprints
 * become equal. */
static __attribute__((noinline)) void cut(const struct verdict_lines *l, uint8_t *line)
{
    const uint32_t index = line_index(line), slots = lines_slots(l, index);
    struct line_rounds rounds;
    struct line_list list;

    rounds.round = 0;
    if (line_cut(line, index, slots, LINE_ROOM - slots, false, &rounds))
        return;
    line_list_read(&list, line, slots);
    line_list_shorten(&list, (uint32_t)line_width[index] - line_width[index + 1], NULL, NULL);
    line_list_write(&list, line, index + 1);
}

/* How deep a new verdict enters: never behind an empty slot. */
static uint32_t depth_in(const uint8_t *line, uint32_t slots)
{
    uint32_t depth = slots * 2 / 5;

    if (depth > 0 && line_get(line, line_width[line_index(line)], depth - 1) == 0)
        depth = line_used(line, line_index(line), slots);
    return depth;
}

static void add(const struct verdict_lines *l, struct weir_key key, bool member)
{
    uint8_t *line = lines_of_key(l, key);

    while (can_be_cut(l, line))
        cut(l, line);
    uint32_t slots = lines_slots(l, line_index(line));
    move(line, slots - 1, depth_in(line, slots), line_print(key.hi), member);
}

#ifndef VERDICT_PATHS
#define VERDICT_PATHS verdict_paths_plain
#endif

const struct verdict_paths VERDICT_PATHS = {find, use, add};
