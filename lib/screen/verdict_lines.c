/* verdict_lines.c - see verdict_lines.h. */
#include "screen/verdict_lines.h"

#include <string.h>

#include "base/processor.h"
#include "theory/recent.h"

#define LINES_LOOKED_AT 65536 /* to measure fill and error */

static uint8_t *nth_line(const struct lines *l, uint64_t i)
{
    return l->cells + i * LINE_BYTES;
}

/* ---- lines as lists ---- */

struct verdict_list {
    uint32_t n;
    uint32_t value[LINES_SLOTS_MOST];
    bool member[LINES_SLOTS_MOST];
};

static void read_list(const uint8_t *line, uint32_t slots, struct verdict_list *list)
{
    uint32_t bits = line_width[line_index(line)];

    for (list->n = 0; list->n < slots; list->n++) {
        list->value[list->n] = line_get(line, bits, list->n);
        list->member[list->n] = line_verdict(line, list->n);
        if (list->value[list->n] == 0)
            return;
    }
}

static void write_list(uint8_t *line, uint32_t index, const struct verdict_list *list)
{
    memset(line, 0, LINE_BYTES);
    line[LINE_BYTES - 1] = (uint8_t)index;
    for (uint32_t i = list->n; i-- > 0;)
        line_move_verdict(line, list->n - 1, 0, list->value[i] << (32 - line_width[index]),
                          list->member[i]);
}

void lines_cut(const struct lines *l, uint8_t *line)
{
    uint32_t index = line_index(line), kept = 0;
    uint32_t bits = (uint32_t)line_width[index] - line_width[index + 1];
    struct verdict_list list;

    read_list(line, lines_slots(l, index), &list);
    for (uint32_t i = 0, j; i < list.n; i++) {
        for (j = 0; j < kept && list.value[j] != list.value[i] >> bits;)
            j++;
        if (j < kept)
            continue;
        list.value[kept] = list.value[i] >> bits;
        list.member[kept++] = list.member[i];
    }
    list.n = kept;
    write_list(line, index + 1, &list);
}

/* ---- keys ---- */

void lines_touch(const struct lines *l, struct weir_key key)
{
    cells_fetch(lines_of_key(l, key));
}

uint8_t lines_find(const struct lines *l, struct weir_key key)
{
    return PROCESSOR_PATHS(verdict_paths)->find(l, key);
}

void lines_use(const struct lines *l, struct weir_key key)
{
    PROCESSOR_PATHS(verdict_paths)->use(l, key);
}

void lines_add(const struct lines *l, struct weir_key key, bool member)
{
    PROCESSOR_PATHS(verdict_paths)->add(l, key, member);
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
    uint32_t slots = lines_slots(l, line_index(line)), used = 0;

    while (used < slots && line_get(line, line_width[line_index(line)], used) != 0)
        used++;
    return used;
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
    uint8_t again[LINE_BYTES];
    struct verdict_list list;

    if (line_index(line) >= LINE_WIDTHS || line_width[line_index(line)] < l->width)
        return false;
    read_list(line, lines_slots(l, line_index(line)), &list);
    for (uint32_t i = 0; i < list.n; i++)
        if (list.value[i] >> (line_width[line_index(line)] - 8) == 0)
            return false; /* it would be nothing once it is cut */
    write_list(again, line_index(line), &list);
    return memcmp(again, line, LINE_BYTES) == 0;
}

bool lines_possible(const struct lines *l)
{
    for (uint64_t i = 0; i < l->n; i++)
        if (!is_possible(l, nth_line(l, i)))
            return false;
    return true;
}
