/* pipe.h - the driver of every command that processes records. A batch passes
 *
 *   source   read() and prepare(): files (source.h), or the stream of an evaluation
 *   clock    if records have a time: sets the time of each verdict
 *   verdict  decides for each record (verdict/verdict.h)
 *   sink     the output, a sketch or memory
 *
 * The stages are divided among any number of threads. */
#ifndef WEIR_PIPE_PIPE_H
#define WEIR_PIPE_PIPE_H

#include "pipe/read.h"
#include "verdict/verdict.h"
#include "pipe/batch.h"

struct source {
    void *context;
    /* Fill an empty batch, in order. READ_NOTHING: no record arrived in time. */
    enum read_result (*read)(void *context, struct batch *b);
    /* Fill the columns of keys; any thread. */
    void (*prepare)(void *context, struct batch *b);
};

/* Functions may be NULL. */
struct sink {
    void *context;
    bool (*take)(void *context, struct batch *b); /* in order; false: stop at once */
    void (*look)(void *context);       /* after a batch, and while none arrives; not during take */
    bool (*wants_rest)(void *context); /* must no batch be under way, so that rest is called? */
    bool (*rest)(void *context);       /* false: stop at once */
};

struct pipe {
    struct source source;
    struct event_clock *clock; /* NULL: records have no time */
    struct verdict verdict;    /* without give: all records are new */
    struct sink sink;
    uint32_t threads;
    struct progress *progress; /* NULL: no bar */

    struct tally tally; /* of what the sink took; added to the values before */
    bool failed;        /* a batch failed, after the sink took its good records */
    char failure[512];  /* why; empty if it was reported already */
};

/* Run to the end of the source, to a signal, to a failed batch or until the sink returns false.
 * Returns false after a message if memory or threads are exhausted. */
bool pipe_run(struct pipe *p);

/* ---- event time, from the times of records: clock.c
 *
 * The clock is the newest time so far and never goes back. An older record is late, and gets the
 * clock's time. A record that is more than a span ahead is accepted if most of the few records
 * after it are ahead too. Otherwise it is malformed, because a single wrong date must not age all
 * keys. ---- */

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
