/* background.h - write and merge runs in separate threads.
 *
 * A job owns its inputs when it starts, and hands over its run when it is done. In between, the
 * caller only reads the table or the inputs. A worker executes one job at a time. */
#ifndef WEIR_INDEX_BACKGROUND_H
#define WEIR_INDEX_BACKGROUND_H

#include <pthread.h>

#include "index/run.h"
#include "index/table.h"

#define INDEX_FANOUT                                                                               \
    6 /* runs of one level that are merged; chosen: few levels, at most five runs of each */
#define INDEX_INPUTS 64

struct index_job {
    int dir;
    struct index_run *out;
    const struct index_table *table; /* to write; or NULL: merge these */
    struct index_run *input[INDEX_INPUTS];
    uint32_t inputs;
    _Atomic uint32_t pages; /* of the output that can be read */
    atomic_bool cancel;     /* stop as soon as possible, with ECANCELED */
    int error;              /* errno, if it failed; EBADMSG: input damaged is damaged */
    const struct index_run *damaged;
};

struct index_worker {
    pthread_t thread;
    bool running;
    atomic_bool done; /* the thread has ended: waiting returns at once */
    struct index_job job;
};

/* Start w->job, filled in by the caller. False if no thread can be created. */
bool index_worker_start(struct index_worker *w);

/* Wait until the job is done. */
void index_worker_wait(struct index_worker *w);

/* The same, but ask it to stop as soon as possible. */
void index_worker_cancel(struct index_worker *w);

#endif
