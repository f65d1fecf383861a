/* clock.h - event time, from the records' own times.
 *
 * The clock is the newest time so far and never goes back. An older record is late, and gets the
 * clock's time. A record that is more than a span ahead is accepted if most of the few records
 * after it are ahead too. Otherwise it is malformed, because a single wrong date must not age all
 * keys. */
#ifndef WEIR_PIPE_CLOCK_H
#define WEIR_PIPE_CLOCK_H

#include "pipe/batch.h"

struct event_clock {
    uint64_t span;     /* milliseconds that a single record may be ahead */
    uint64_t lateness; /* milliseconds that a record may be late */
    bool skip;         /* malformed records, instead of stopping */
    uint64_t now;      /* the newest time so far; NO_TIME before the first */
};

/* Replace the times of a batch by those of its verdicts. Records that are too late or too far ahead
 * are malformed. Call for the batches in order. */
void clock_batch(struct event_clock *c, struct batch *b);

/* ---- which records must wait for those after them ---- */

/* The times of the latest records that were passed on. */
struct look_behind {
    uint64_t time[LOOK_AHEAD]; /* NO_TIME: it had none */
};

/* The latest n times of records: may one of the last LOOK_AHEAD be too far ahead? Only then the
 * records after it must be known. */
bool clock_may_leap(const struct look_behind *l, const uint64_t *time, uint32_t n, uint64_t span);

#endif
