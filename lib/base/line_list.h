/* line_list.h - a line as an array of fingerprints, for rare operations: merging and checking
 * lines, and truncating lines whose slots carry more than a fingerprint. Slow and simple; line.h
 * is fast.
 *
 * A slot may carry a bit. The bits of all slots are at the end of the line, slot 0 last:
 *
 *   bit 0                                   448          503     511
 *   | slot 0 | slot 1 | ... | slot n-1 | 0 | ... b1  b0 | width |
 *
 * Marks may count how many slots, from the front on, belong together: the quarters of a window. */
#ifndef WEIR_BASE_LINE_LIST_H
#define WEIR_BASE_LINE_LIST_H

#include "base/line.h"

#define LINE_MARKS 4
#define LINE_BIT(slot) (55 - (slot)) /* of the last word: the bit of a slot */

struct line_list {
    uint32_t n;
    uint32_t value[2 * LINE_SLOTS_MAX];
    bool bit[2 * LINE_SLOTS_MAX];
    uint32_t upto[LINE_MARKS]; /* slots that each mark counts */
};

static inline bool line_bit(const uint8_t *line, uint32_t slot)
{
    return bits_load64(line + LINE_BYTES - 8) >> LINE_BIT(slot) & 1;
}

/* The number of slots in use, of the first `slots`; in a damaged line, too. */
static inline uint32_t line_in_use(const uint8_t *line, uint32_t slots)
{
    uint32_t used = 0;

    while (used < slots && line_get(line, line_width[line_index(line)], used) != 0)
        used++;
    return used;
}

static inline void line_list_read(struct line_list *list, const uint8_t *line, uint32_t slots,
                                  bool has_bits)
{
    memset(list->upto, 0, sizeof list->upto);
    list->n = line_in_use(line, slots);
    for (uint32_t i = 0; i < list->n; i++) {
        list->value[i] = line_get(line, line_width[line_index(line)], i);
        list->bit[i] = has_bits && line_bit(line, i);
    }
}

/* Replace the slots of a line. The bits from `limit` on are kept. */
static inline void line_list_write(const struct line_list *list, uint8_t *line, uint32_t index,
                                   uint32_t limit, bool has_bits)
{
    uint64_t bits = 0;

    memset(line, 0, limit / 8);
    line[LINE_BYTES - 1] = (uint8_t)index;
    for (uint32_t i = 0; i < list->n; i++)
        line_put(line, line_width[index], i, list->value[i]);
    for (uint32_t i = 0; has_bits && i < list->n; i++)
        bits |= (uint64_t)list->bit[i] << LINE_BIT(i);
    bits_store64(line + LINE_BYTES - 8, bits_load64(line + LINE_BYTES - 8) | bits);
}

/* Drop low bits of all values. Of those that become equal the first stays, and its bit. */
static inline void line_list_shorten(struct line_list *list, uint32_t bits)
{
    uint32_t kept = 0, upto[LINE_MARKS] = {0};

    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t value = list->value[i] >> bits;

        if (line_is_among(list->value, kept, value))
            continue;
        list->value[kept] = value;
        list->bit[kept++] = list->bit[i];
        for (uint32_t m = 0; m < LINE_MARKS; m++)
            upto[m] += i < list->upto[m];
    }
    list->n = kept;
    memcpy(list->upto, upto, sizeof upto);
}

#endif
