/* line_list.h - a line as an array of fingerprints, for rare operations: merging and checking
 * lines, and truncating lines whose slots carry more than a fingerprint. Slow and simple; line.h
 * is fast.
 *
 * A slot may carry a small number. In verdict lines (lib/screen) it is a bit, and the bits of all
 * slots are at the end of the line, slot 0 last:
 *
 *   bit 0                                   448          503     511
 *   | slot 0 | slot 1 | ... | slot n-1 | 0 | ... b1  b0 | width | */
#ifndef WEIR_BASE_LINE_LIST_H
#define WEIR_BASE_LINE_LIST_H

#include "base/line.h"

#define LINE_BIT(slot) (55 - (slot)) /* of the last word: the bit of a slot */

struct line_list {
    uint32_t n;
    uint32_t value[2 * LINE_SLOTS_MAX];
    uint8_t extra[2 * LINE_SLOTS_MAX];
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

static inline void line_list_read(struct line_list *list, const uint8_t *line, uint32_t slots)
{
    list->n = line_in_use(line, slots);
    for (uint32_t i = 0; i < list->n; i++) {
        list->value[i] = line_get(line, line_width[line_index(line)], i);
        list->extra[i] = line_bit(line, i);
    }
}

/* Replace the slots of a line, and their bits. */
static inline void line_list_write(const struct line_list *list, uint8_t *line, uint32_t index)
{
    uint64_t bits = (uint64_t)index << 56;

    memset(line, 0, LINE_BYTES);
    for (uint32_t i = 0; i < list->n; i++) {
        line_put(line, line_width[index], i, list->value[i]);
        bits |= (uint64_t)list->extra[i] << LINE_BIT(i);
    }
    bits_store64(line + LINE_BYTES - 8, bits_load64(line + LINE_BYTES - 8) | bits);
}

/* Drop low bits of all values. Of those that become equal the first stays, with the number of the
 * one that is better, if there is such an order. */
static inline void line_list_shorten(struct line_list *list, uint32_t bits,
                                     bool (*better)(const void *context, uint32_t a, uint32_t b),
                                     const void *context)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t value = list->value[i] >> bits, j = 0;

        while (j < kept && list->value[j] != value)
            j++;
        if (j == kept || (better && better(context, list->extra[i], list->extra[j])))
            list->extra[j] = list->extra[i];
        list->value[j] = value;
        kept += j == kept;
    }
    list->n = kept;
}

#endif
