/* threads.h - who does what next: any number of threads on one pipe.
 *
 * A ring of batches under one lock. A free thread takes the first of these
 * that can be done:
 *
 *   write    the oldest batch, once all parts of its verdict are given
 *   give     one part of the verdict on a batch, once that on the batch before is given,
 *            and the first part of this batch where that one leads
 *   prepare  a batch that was read
 *   rest     nothing is under way and something wants that
 *   read     the next batch, if there is room in the ring
 *
 * Reading and writing are in order, and so is every part: the result does
 * not depend on the number of threads. With one thread, a batch goes down the
 * whole pipe before the next is read. */
#ifndef WEIR_PIPE_THREADS_H
#define WEIR_PIPE_THREADS_H

#include "pipe/batch.h"
#include "pipe/read.h"

struct threads_work {
    enum read_result (*read)(void *context, struct batch *b);
    void (*prepare)(void *context, struct batch *b);
    void (*give)(void *context, struct batch *b, uint32_t part);
    bool (*write)(void *context, struct batch *b); /* false: stop at once */
    void (*look)(void *context);                   /* nothing comes, nothing is written */
    bool (*wants_rest)(void *context);             /* asked while nothing is written */
    bool (*rest)(void *context);                   /* false: stop at once */
};

/* Run to the end of the input, to a failed batch, or to a false. The failure
 * of a batch is for write to see; give may fail one only if there is one part, or in
 * the first if that leads. False if threads or memory are short. */
bool threads_run(const struct threads_work *work, void *context, uint32_t threads, uint32_t parts,
                 bool first_leads);

#endif
