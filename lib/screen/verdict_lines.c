/* verdict_lines.c - see verdict_lines.h. */
#include "screen/verdict_lines.h"

#include <string.h>

#include "base/line_list.h"
#include "base/processor.h"
#include "theory/recent.h"

#define LINES_LOOKED_AT 65536 /* sampled to measure fill and error */

static uint8_t *nth_line(const struct verdict_lines *l, uint64_t i)
{
    return l->cells + i * LINE_BYTES;
}

/* ---- keys ---- */

void lines_touch(const struct verdict_lines *l, struct weir_key key)
{
    cells_fetch(lines_of_key(l, key));
}

uint8_t lines_find(const struct verdict_lines *l, struct weir_key key)
{
    return PROCESSOR_PATHS(verdict_paths)->find(l, key);
}

void lines_use(const struct verdict_lines *l, struct weir_key key)
{
    PROCESSOR_PATHS(verdict_paths)->use(l, key);
}

void lines_add(const struct verdict_lines *l, struct weir_key key, bool member)
{
    PROCESSOR_PATHS(verdict_paths)->add(l, key, member);
}

void lines_sweep(const struct verdict_lines *l, uint64_t record, uint64_t window)
{
    uint64_t from = (uint64_t)((bits_u128)(record % window) * l->n / window);
    uint64_t to = (uint64_t)((bits_u128)(record % window + 1) * l->n / window);

    memset(nth_line(l, from), 0, (size_t)(to - from) * LINE_BYTES);
}

/* ---- measuring and checking ---- */

static uint32_t used_slots(const struct verdict_lines *l, const uint8_t *line)
{
    return line_in_use(line, lines_slots(l, line_index(line)));
}

static double error_of_line(const struct verdict_lines *l, const uint8_t *line)
{
    return slots_error(line_width[line_index(line)], used_slots(l, line));
}

static double share_of_line(const struct verdict_lines *l, const uint8_t *line)
{
    double share = (double)used_slots(l, line) / (double)l->slots;

    return share < 1 ? share : 1;
}

static double mean_of_lines(const struct verdict_lines *l,
                            double (*of)(const struct verdict_lines *l, const uint8_t *line))
{
    uint64_t all = l->n, n = all < LINES_LOOKED_AT ? all : LINES_LOOKED_AT;
    double sum = 0;

    for (uint64_t i = 0; i < n; i++)
        sum += of(l, nth_line(l, n == all ? i : bits_scale(i << 48, all)));
    return sum / (double)n;
}

double lines_error(const struct verdict_lines *l)
{
    return mean_of_lines(l, error_of_line);
}

double lines_fill(const struct verdict_lines *l)
{
    return mean_of_lines(l, share_of_line);
}

/* Slots without gaps, at a width not below the floor, with zeros behind them. Writing the line's
 * list again must give the same bytes. */
static bool is_possible(const struct verdict_lines *l, const uint8_t *line)
{
    uint8_t again[LINE_BYTES] = {0};
    struct line_list list;

    if (line_index(line) >= LINE_WIDTHS || line_width[line_index(line)] < l->width)
        return false;
    line_list_read(&list, line, lines_slots(l, line_index(line)));
    for (uint32_t i = 0; i < list.n; i++)
        if (list.value[i] >> (line_width[line_index(line)] - 8) == 0)
            return false; /* it would be zero once it is truncated */
    line_list_write(&list, again, line_index(line));
    return memcmp(again, line, LINE_BYTES) == 0;
}

bool lines_possible(const struct verdict_lines *l)
{
    for (uint64_t i = 0; i < l->n; i++)
        if (!is_possible(l, nth_line(l, i)))
            return false;
    return true;
}
