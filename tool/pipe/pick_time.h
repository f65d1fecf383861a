/* pick_time.h - the time of a record (--time). */
#ifndef WEIR_PIPE_PICK_TIME_H
#define WEIR_PIPE_PICK_TIME_H

#include "pipe/pick.h"
#include "pipe/time_text.h"

/* Fill in the time of record i, whose fields were picked; or note its fault. */
void pick_time(const struct picker *p, struct batch *b, uint32_t i, const struct weir_bytes *field);

/* The same of a record that is not picked yet, without a word; NO_TIME if there is none. */
uint64_t pick_time_early(const struct picker *p, struct batch *b, uint32_t i,
                         const struct time_format *f);

/* Detect the time format from the first record that has a time. Records that the run skips
 * or passes (--on-error, --on-missing) are ignored; at one that stops it: false. */
bool pick_time_format(const struct picker *p, struct batch *b, struct time_format *f);

#endif
