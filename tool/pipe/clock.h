/* clock.h - event time: what time it is when a record comes, by the records' own times.
 *
 * The clock is the newest time so far and never goes back. A record that is older
 * than that is late, and judged as of now. One that lies further ahead than a span is
 * believed if most of the few records after it lie ahead as well; alone, it is
 * malformed: a single wrong date must not make everything before it old. */
#ifndef WEIR_PIPE_CLOCK_H
#define WEIR_PIPE_CLOCK_H

#include "pipe/batch.h"

struct event_clock {
    uint64_t span;     /* milliseconds; further ahead than that is too far for one record */
    uint64_t lateness; /* that is allowed */
    bool skip;         /* malformed records, instead of stopping */
    uint64_t now;      /* the newest time so far; NO_TIME before the first */
};

/* The times of a batch become those at which its records are judged; records that are
 * too late or too far ahead are malformed. Batches come in order. */
void clock_batch(struct event_clock *c, struct batch *b);

/* ---- which records must wait for those after them ---- */

/* The times of the latest records that went on. */
struct look_behind {
    uint64_t time[LOOK_AHEAD]; /* NO_TIME: it had none */
};

/* So many times of records in a row, the latest that came: may one of the last
 * LOOK_AHEAD be too far ahead? Only then those after it must be known. */
bool clock_may_leap(const struct look_behind *l, const uint64_t *time, uint32_t n, uint64_t span);

#endif
