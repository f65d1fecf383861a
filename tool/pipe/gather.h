/* gather.h - bytes of the open file become records of a batch: where each ends, what
 * is too long, and how the last one ends. */
#ifndef WEIR_PIPE_GATHER_H
#define WEIR_PIPE_GATHER_H

#include "pipe/read.h"

/* Get at least one record, or to the end of the file; false if none came in
 * time. filled: bytes that the batch then has. */
bool gather_records(struct reader *r, struct batch *b, size_t *filled);

/* Take those records that must wait for others out of a batch of so many bytes, unless nothing
 * came any more. */
void gather_hold_back(struct reader *r, struct batch *b, size_t filled, bool came);

/* Take the first record out of a batch. */
void gather_drop_first(struct batch *b);

/* The name of the open file, for messages. */
const char *gather_name(const struct reader *r);

/* The run ends here: "cannot WHAT NAME: ERROR". Returns false. */
bool gather_fail(struct batch *b, const char *what, const char *name, int error);

/* The same where what is compressed is damaged, and where the file is no file of records. */
bool gather_fail_unpacked(const struct reader *r, struct batch *b);
bool gather_fail_foreign(const struct reader *r, struct batch *b);

static inline bool gather_is_csv(const struct reader *r)
{
    return r->records->format == FORMAT_CSV;
}

#endif
