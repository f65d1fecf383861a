/* trial.h - an evaluation as a whole: arrivals, their truth, the filters. */
#ifndef WEIR_TRIAL_H
#define WEIR_TRIAL_H

#include "contest.h"
#include "progress.h"
#include "supply.h"

struct trial {
    const struct options *options;
    struct supply supply;
    struct contest contest;
    struct progress progress;
    struct tally tally; /* of all orders; seen: truly */
    bool gathered;      /* arrivals are in memory: */
    uint64_t records;   /* of so many, before any were left out */
    struct shards hasher;
    bool failed;
    char failure[512];
};

/* False after a sentence. */
bool trial_open(struct trial *t, const struct options *o);
bool trial_run(struct trial *t);
void trial_close(struct trial *t);

/* In two steps: first take the arrivals into memory, at most so many (see
 * supply.h); then, with a contest that the caller has opened for that seed, run,
 * and again with another. */
bool trial_gather(struct trial *t, const struct options *o, uint64_t most);

/* On standard error, as --stats asks: what went by and what the truth cost. */
void trial_report(const struct trial *t);

#endif
