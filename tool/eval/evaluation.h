/* evaluation.h - an evaluation as a whole: arrivals, their truth, the filters. */
#ifndef WEIR_EVAL_EVALUATION_H
#define WEIR_EVAL_EVALUATION_H

#include "eval/entrants.h"
#include "cli/progress.h"
#include "eval/arrivals.h"

struct evaluation {
    const struct request *request;
    struct arrivals arrivals;
    struct entrants entrants;
    struct progress progress;
    struct tally tally; /* of all orders; seen: truly */
    bool gathered;      /* arrivals are in memory: */
    uint64_t records;   /* of so many, before any were left out */
    struct shards hasher;
};

/* False after a sentence. */
bool evaluation_open(struct evaluation *t, const struct request *o);
bool evaluation_run(struct evaluation *t);
void evaluation_close(struct evaluation *t);

/* In two steps: first take the arrivals into memory, at most so many (see
 * arrivals.h); then, with a entrants that the caller has opened for that seed, run,
 * and again with another. */
bool evaluation_gather(struct evaluation *t, const struct request *o, uint64_t most);

/* On standard error, as --stats asks: what went by and what the truth cost. */
void evaluation_report(const struct evaluation *t);

#endif
