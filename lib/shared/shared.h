/* shared.h - a filter in shards, each with a lock of its own. */
#ifndef WEIR_SHARED_SHARED_H
#define WEIR_SHARED_SHARED_H

#include <pthread.h>
#include <stdatomic.h>
#include <weir/shared.h>

#include "base/memory.h"

/* Two cache lines, because processors fetch them in pairs: a write to one shard must not evict
 * its neighbour from another thread's cache. */
#define APART 128

struct shard {
    _Alignas(APART) pthread_mutex_t lock;
    weir_filter *filter;
    _Atomic uint64_t turn; /* the next ticket */
};

struct weir_shared {
    struct memory memory;
    void *allocation;
    uint32_t n;
    char config[WEIR_SPEC_MAX]; /* of the whole */

    _Alignas(APART) _Atomic uint64_t tickets; /* drawn so far */
    _Atomic uint32_t calls;                   /* so far; each starts at another shard */

    /* Threads that wait for their turn sleep here. */
    pthread_mutex_t line;
    pthread_cond_t moved;
    _Atomic uint32_t sleepers;

    struct shard shard[];
};

/* Process a batch. ticket: its turn; NULL: in any order. */
void shared_process(weir_shared *s, const struct weir_shared_batch *batch, const uint64_t *ticket);

#endif
