/* threads.h - the stages of the pipe, and any number of threads that work on them.
 *
 * A ring of batches under one lock. A free thread takes the first of these tasks that can start:
 *
 *   write    the oldest batch, once it has its verdicts      in order, one at a time
 *   give     the verdicts of a batch                         starts in order, up to `parallel`
 *   order    what depends on the records before, such        in order, one at a time
 *            as the time of day
 *   prepare  a batch that was read                           any number at once
 *   rest     no batch is under way, and rest is wanted
 *   read     the next batch, if the ring has a free slot     in order, one at a time
 *
 * So the result does not depend on the number of threads. With one thread, a batch passes all
 * stages before the next is read. */
#ifndef WEIR_PIPE_THREADS_H
#define WEIR_PIPE_THREADS_H

#include "pipe/batch.h"
#include "pipe/read.h"

struct stages {
    enum read_result (*read)(void *context, struct batch *b);
    void (*prepare)(void *context, struct batch *b);
    void (*order)(void *context, struct batch *b); /* NULL: nothing to do */
    void (*give)(void *context, struct batch *b);
    bool (*write)(void *context, struct batch *b); /* false: stop at once */
    void (*look)(void *context);                   /* no records arrive, none are written */
    bool (*wants_rest)(void *context);             /* called while nothing is written */
    bool (*rest)(void *context);                   /* false: stop at once */
    uint32_t parallel;                             /* calls of give at once, at least 1 */
};

/* Run to the end of the input, to a failed batch, or until a stage returns false. A batch may fail
 * in any stage up to write, which reports the failure; in give only if parallel is 1. Returns false
 * if memory or threads are exhausted. */
bool threads_run(const struct stages *stages, void *context, uint32_t threads);

#endif
