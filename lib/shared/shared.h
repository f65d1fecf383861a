/* shared.h - a filter in shards, each under a lock of its own. */
#ifndef WEIR_SHARED_SHARED_H
#define WEIR_SHARED_SHARED_H

#include <pthread.h>
#include <stdatomic.h>
#include <weir/shared.h>

#include "base/memory.h"

/* Two cache lines: processors fetch them in pairs, and what one thread writes here no
 * other should miss. */
#define APART 128

struct shard {
    _Alignas(APART) pthread_mutex_t lock;
    weir_filter *filter;
    _Atomic uint64_t turn; /* the ticket that comes next */
};

struct weir_shared {
    struct memory memory;
    void *allocation;
    uint32_t n;
    char config[WEIR_SPEC_MAX]; /* of the whole */

    _Alignas(APART) _Atomic uint64_t tickets; /* drawn so far */
    _Atomic uint32_t calls;                   /* so far; each begins at another shard */

    /* Where those sleep whose turn has not come. */
    pthread_mutex_t line;
    pthread_cond_t moved;
    _Atomic uint32_t sleepers;

    struct shard shard[];
};

/* A batch on its way: what is done with the keys, and in which turn. */
struct showing {
    const struct weir_key *keys;
    const uint64_t *times; /* or NULL */
    size_t n;
    uint8_t *verdicts;
    weir_shared_answer answer; /* NULL: observe them; times is NULL then too */
    void *context;
    bool ordered;
    uint64_t ticket;
};

void shared_show(weir_shared *s, const struct showing *batch);

/* The same of a batch whose keys are all of one shard. */
void shared_show_dealt(weir_shared *s, const struct showing *batch, uint32_t shard);

#endif
