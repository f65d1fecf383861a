/* gather.h - fill a batch with the records of the open file: find their ends, drop or reject
 * records that are too long, and complete the last one. */
#ifndef WEIR_PIPE_GATHER_H
#define WEIR_PIPE_GATHER_H

#include "pipe/read.h"

/* Read at least one record, or to the end of the file. *filled is the bytes in the batch. Returns
 * false if nothing arrived in time. */
bool gather_records(struct reader *r, struct batch *b, size_t *filled);

/* Remove the records that must wait for others from a batch of `filled` bytes, unless the input
 * has ended or pauses. */
void gather_hold_back(struct reader *r, struct batch *b, size_t filled, bool came);

/* Remove the first record of a batch. */
void gather_drop_first(struct batch *b);

/* The name of the open file, for messages. */
const char *gather_name(const struct reader *r);

/* Fail the batch with "cannot WHAT NAME: ERROR". Returns false. */
bool gather_fail(struct batch *b, const char *what, const char *name, int error);

/* The same for damaged compressed data, and for files that are not records. */
bool gather_fail_unpacked(const struct reader *r, struct batch *b);
bool gather_fail_foreign(const struct reader *r, struct batch *b);

static inline bool gather_is_csv(const struct reader *r)
{
    return r->records->format == FORMAT_CSV;
}

#endif
