/* verdict_lines.c - see verdict_lines.h. */
#include "screen/verdict_lines.h"

#include <string.h>

#include "base/line_list.h"
#include "theory/recent.h"

#define LINES_LOOKED_AT 65536 /* to measure fill and error */

static uint8_t *nth_line(const struct lines *l, uint64_t i)
{
    return l->cells + i * LINE_BYTES;
}

/* The slots that a line may use at one of the widths. */
static uint32_t slots_at(const struct lines *l, uint32_t index)
{
    uint32_t room = lines_room(line_width[index]);

    return room < l->slots ? room : l->slots;
}

static uint8_t *line_of(const struct lines *l, struct weir_key key)
{
    return nth_line(l, place(key, 0, l->n));
}

/* ---- keys ---- */

static uint64_t find(const struct lines *l, const uint8_t *line, struct weir_key key)
{
    uint64_t found;

#define FIND(i) found = line_find(line, i, slots_at(l, i), line_print(key.hi));
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

void lines_touch(const struct lines *l, struct weir_key key)
{
    cells_fetch(line_of(l, key));
}

uint8_t lines_find(const struct lines *l, struct weir_key key)
{
    const uint8_t *line = line_of(l, key);
    uint64_t found = find(l, line, key);

    if (!found)
        return WEIR_UNANSWERED;
    return line_bit(line, line_first(line_index(line), found)) ? WEIR_MEMBER : WEIR_OTHER;
}

void lines_use(const struct lines *l, struct weir_key key)
{
    uint8_t *line = line_of(l, key);
    uint32_t at = line_first(line_index(line), find(l, line, key));

    move(line, at, 0, line_print(key.hi), line_bit(line, at));
}

static bool can_be_cut(const struct lines *l, const uint8_t *line)
{
    const uint32_t index = line_index(line), bits = line_width[index];

    return bits > l->width && line_get(line, bits, slots_at(l, index) - 1) != 0;
}

/* Truncate a line's fingerprints to the next width. Bits stay where they are, unless fingerprints
 * become equal. */
static __attribute__((noinline)) void cut(const struct lines *l, uint8_t *line)
{
    const uint32_t index = line_index(line), slots = slots_at(l, index);
    struct line_rounds rounds;
    struct line_list list;

    rounds.round = 0;
    if (line_cut(line, index, slots, LINE_ROOM - slots, false, &rounds))
        return;
    line_list_read(&list, line, slots, true);
    line_list_shorten(&list, (uint32_t)line_width[index] - line_width[index + 1]);
    line_list_write(&list, line, index + 1, LINE_ROOM, true);
}

/* How deep a new verdict enters: never behind an empty slot. */
static uint32_t depth_in(const uint8_t *line, uint32_t slots)
{
    uint32_t depth = slots * 2 / 5;

    if (depth > 0 && line_get(line, line_width[line_index(line)], depth - 1) == 0)
        depth = line_used(line, line_index(line), slots);
    return depth;
}

void lines_add(const struct lines *l, struct weir_key key, bool member)
{
    uint8_t *line = line_of(l, key);

    while (can_be_cut(l, line))
        cut(l, line);
    uint32_t slots = slots_at(l, line_index(line));
    move(line, slots - 1, depth_in(line, slots), line_print(key.hi), member);
}

void lines_sweep(const struct lines *l, uint64_t record, uint64_t window)
{
    uint64_t from = (uint64_t)((bits_u128)(record % window) * l->n / window);
    uint64_t to = (uint64_t)((bits_u128)(record % window + 1) * l->n / window);

    memset(nth_line(l, from), 0, (size_t)(to - from) * LINE_BYTES);
}

/* ---- measuring and checking ---- */

static uint32_t used_slots(const struct lines *l, const uint8_t *line)
{
    return line_count(line, slots_at(l, line_index(line)));
}

static double error_of_line(const struct lines *l, const uint8_t *line)
{
    return slots_error(line_width[line_index(line)], used_slots(l, line));
}

static double share_of_line(const struct lines *l, const uint8_t *line)
{
    double share = (double)used_slots(l, line) / (double)l->slots;

    return share < 1 ? share : 1;
}

static double mean_of_lines(const struct lines *l,
                            double (*of)(const struct lines *l, const uint8_t *line))
{
    uint64_t all = l->n, n = all < LINES_LOOKED_AT ? all : LINES_LOOKED_AT;
    double sum = 0;

    for (uint64_t i = 0; i < n; i++)
        sum += of(l, nth_line(l, n == all ? i : bits_scale(i << 48, all)));
    return sum / (double)n;
}

double lines_error(const struct lines *l)
{
    return mean_of_lines(l, error_of_line);
}

double lines_fill(const struct lines *l)
{
    return mean_of_lines(l, share_of_line);
}

/* Slots without gaps, at a width not below the floor, and zeros behind them:
 * the line that its own list would write. */
static bool is_possible(const struct lines *l, const uint8_t *line)
{
    uint8_t again[LINE_BYTES] = {0};
    struct line_list list;

    if (line_index(line) >= LINE_WIDTHS || line_width[line_index(line)] < l->width)
        return false;
    line_list_read(&list, line, slots_at(l, line_index(line)), true);
    for (uint32_t i = 0; i < list.n; i++)
        if (list.value[i] >> (line_width[line_index(line)] - 8) == 0)
            return false; /* it would be nothing once it is cut */
    line_list_write(&list, again, line_index(line), LINE_ROOM, true);
    return memcmp(again, line, LINE_BYTES) == 0;
}

bool lines_possible(const struct lines *l)
{
    for (uint64_t i = 0; i < l->n; i++)
        if (!is_possible(l, nth_line(l, i)))
            return false;
    return true;
}
