/* watch.h - is a filter still what was asked for? While keys are shown to it, a few of
 * them are kept and asked for again, and its own figures are read now and then: so it is known
 * whether its error passes what was asked, and whether, and from when on, it forgets. The same for
 * every filter: it is asked, and no theory is needed. */
#ifndef WEIR_VERDICT_WATCH_H
#define WEIR_VERDICT_WATCH_H

#include <stdatomic.h>

#include "cli/filter_request.h"
#include "state/shards.h"

#define WATCH_SPEC 480

struct watched_shard;

struct watch {
    const struct shards *shards;
    double ceiling;           /* of the error: asked for, that of a full set, or 1 % */
    bool asked;               /* it is not merely taken for the most */
    uint64_t capacity;        /* keys that were planned for; 0: nobody did */
    bool keeps;               /* what is in it stays */
    bool windows;             /* it forgets on purpose */
    bool forgets;             /* it may, and not on purpose */
    bool loaded;              /* from a file: it may be full already */
    _Atomic uint32_t changes; /* figures of a shard are new */

    uint32_t known; /* as many of them are in what follows, which the writer of the run owns */
    bool errs, misses;
    uint64_t errs_from, misses_from; /* records of this run that came before */
    double keys_then;                /* different ones, when it began to forget */
    struct watched_shard *shard;
};

/* wanted: what the command line asks of the filter. False if memory is short. */
bool watch_open(struct watch *w, const struct shards *s, const struct filter_request *wanted,
                bool loaded);
void watch_close(struct watch *w);

/* These keys were shown to a shard, which belongs to this thread. */
void watch_show(struct watch *w, uint32_t shard, const struct weir_key *keys, uint32_t n);

/* Is it past what was asked for? Asked by the writer of the run. last: nobody shows keys any more,
 * and all figures are read once more. */
bool watch_is_past(struct watch *w, bool last);

/* Distinct keys, estimated from a sample of at least 2,000. */
struct watch_figures {
    double keys;            /* observed, also by earlier runs if the filter was loaded */
    double capacity;        /* that the filter can hold; 0: unknown */
    double evicted;         /* of the observed ones, those the filter no longer holds */
    uint64_t records_after; /* records of this run since more than 1 % of the keys were evicted */
};

/* Only while no keys are shown. Takes milliseconds. */
struct watch_figures watch_measure(struct watch *w);

/* What is to be said then, in one message. */
void watch_describe(const struct watch *w, char text[WATCH_SPEC]);

#endif
