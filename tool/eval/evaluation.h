/* evaluation.h - an evaluation as a whole: arrivals, their truth, the filters. */
#ifndef WEIR_EVAL_EVALUATION_H
#define WEIR_EVAL_EVALUATION_H

#include "eval/entrants.h"
#include "cli/progress.h"
#include "eval/arrivals.h"

struct evaluation {
    const struct eval_request *request;
    struct arrivals arrivals;
    struct truth truth;
    struct entrants entrants;
    struct progress progress;
    struct tally tally; /* of all orders; seen: truly */
    uint64_t records;   /* of what is kept, before any were left out */

    const struct shards *hashes; /* who hashes: the first entrant, or */
    struct shards hasher;
};

/* False after a message. */
bool evaluation_open(struct evaluation *ev, const struct eval_request *o);
bool evaluation_run(struct evaluation *ev);
void evaluation_close(struct evaluation *ev);

/* In two steps: first take the arrivals into memory, at most so many (see
 * replay.h); then, with entrants that the caller has opened for that seed, run,
 * and again with another. */
bool evaluation_gather(struct evaluation *ev, const struct eval_request *o, uint64_t most);

/* On standard error, as --stats asks: what went by and what the truth cost. */
void evaluation_report(const struct evaluation *ev);

#endif
