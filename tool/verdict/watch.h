/* watch.h - warn when a filter exceeds its maximum error, or begins to evict keys.
 *
 * A sample of the observed keys is looked up again from time to time, and the filter is measured.
 * This works for every filter without a model. */
#ifndef WEIR_VERDICT_WATCH_H
#define WEIR_VERDICT_WATCH_H

#include "cli/filter_request.h"
#include "state/shards.h"

#define WATCH_SPEC 480

struct key_sample;

struct watch {
    const struct shards *shards;
    double limit;      /* of the error: the given one, that of a full set, or 1 % */
    bool asked;        /* it was given */
    uint64_t capacity; /* capacity=; 0: not given */
    bool keeps;        /* it never evicts */
    bool windows;      /* it evicts on purpose: window=, span= or ttl= */
    bool expires;      /* ttl= */
    bool forgets;      /* keys may be missing, not on purpose */
    bool loaded;       /* from a file, so it may be full at the start */

    bool errs, misses;
    uint64_t errs_from, misses_from; /* records of this run that came before */
    double keys_then;                /* distinct ones, when keys began to be missing */
    struct key_sample *sample;
};

/* wanted: the options for the filter. False if out of memory. */
bool watch_open(struct watch *w, const struct shards *s, const struct filter_request *wanted,
                bool loaded);
void watch_close(struct watch *w);

/* The filter has observed these keys. Called by the writer of the run, batch by batch. */
void watch_show(struct watch *w, const struct weir_key *keys, uint32_t n);

/* Does it exceed its limit, or evict? Called by the writer. last: the run is at its end; all
 * figures are read again. */
bool watch_is_past(struct watch *w, bool last);

/* Distinct keys, estimated from a sample of at least 2,000. */
struct watch_figures {
    double keys;            /* observed, also by earlier runs if the filter was loaded */
    double capacity;        /* that the filter can hold; 0: unknown */
    double evicted;         /* of the observed ones, those the filter no longer holds */
    double needed;          /* memory that would have been enough; 0: unknown, or it is enough */
    uint64_t records_after; /* records of this run since more than 1 % of the keys were evicted */
};

/* Only while no keys are observed. Takes milliseconds. */
struct watch_figures watch_measure(struct watch *w);

/* The warning. */
void watch_describe(const struct watch *w, char text[WATCH_SPEC]);

#endif
