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

/* Find out from the records of a batch which form their times have: from the first, or
 * where malformed ones are skipped from the first that can be told. */
bool pick_time_format(const struct picker *p, struct batch *b, struct time_format *f);

#endif
