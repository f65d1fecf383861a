/* pipe.h - the one driver: batches go from a source through a verdict into a
 * sink. Every command that works on records runs it.
 *
 *   source   reads a batch, then prepares it: files (source.h), arrivals of an
 *            evaluation
 *   clock    where records have a time: what time it is at each
 *   verdict  says of each record whether it was seen: see verdict/verdict.h
 *   sink     takes the batch: to the output, into a sketch, into memory */
#ifndef WEIR_PIPE_PIPE_H
#define WEIR_PIPE_PIPE_H

#include "pipe/clock.h"
#include "pipe/read.h"
#include "verdict/verdict.h"

struct source {
    void *context;
    /* Fill an empty batch; in order. READ_NOTHING: none came in time. */
    enum read_result (*read)(void *context, struct batch *b);
    /* Fill the columns of keys; any thread. */
    void (*prepare)(void *context, struct batch *b);
};

/* NULL: nothing is to be done. */
struct sink {
    void *context;
    bool (*take)(void *context, struct batch *b); /* in order; false: stop at once */
    void (*look)(void *context);       /* after a batch, and while none comes; no take meanwhile */
    bool (*wants_rest)(void *context); /* is something to be done while no batch is under way? */
    bool (*rest)(void *context);       /* that; false: stop at once */
};

struct pipe {
    struct source source;
    struct event_clock *clock; /* NULL: records have no time */
    struct verdict verdict;    /* without parts: none are given, all records are new */
    struct sink sink;
    uint32_t threads;
    struct progress *progress; /* NULL: no bar */

    struct tally tally; /* of what the sink took; it is added to */
    bool failed;        /* a batch did, after the sink took what was good of it: */
    char failure[512];  /* why; empty if that was said already */
};

/* Run to the end of the source, to a signal, to a failed batch or until the sink
 * says stop. False after a message: memory or threads are short. */
bool pipe_run(struct pipe *p);

#endif
