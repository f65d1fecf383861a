/* pipe.h - the driver of every command that processes records. A batch passes
 *
 *   source   read() and prepare(): files (source.h), or the stream of an evaluation
 *   clock    if records have a time: sets the time of each verdict
 *   verdict  decides for each record (verdict/verdict.h)
 *   sink     the output, a sketch or memory
 *
 * threads.h distributes these stages over threads. */
#ifndef WEIR_PIPE_PIPE_H
#define WEIR_PIPE_PIPE_H

#include "pipe/clock.h"
#include "pipe/read.h"
#include "verdict/verdict.h"

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

#endif
