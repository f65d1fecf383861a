/* part_inside.h - what the files of this folder have in common. */
#ifndef WEIR_FORMAT_PART_INSIDE_H
#define WEIR_FORMAT_PART_INSIDE_H

#include "format/part.h"

static inline uint64_t part_sums_size(const struct part_head *h)
{
    return part_lines(8 * part_blocks(h->cells));
}

/* The head as it is written: part_head_size() bytes. */
void part_encode_head(const struct part_head *h, uint8_t head[PART_HEAD_MOST]);

/* WEIR_BAD_DATA: a sum does not match; a source gives no more. */
enum weir_status part_damaged(struct weir_error *error);
enum weir_status part_cut_off(struct weir_error *error);

#endif
