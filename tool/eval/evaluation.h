/* evaluation.h - an evaluation: arrivals, the exact baseline, the filters. */
#ifndef WEIR_EVAL_EVALUATION_H
#define WEIR_EVAL_EVALUATION_H

#include <pthread.h>

#include "eval/entrants.h"
#include "cli/progress.h"
#include "eval/arrivals.h"

struct evaluation {
    const struct options *request;
    struct arrivals arrivals;
    struct truth truth;
    struct entrants entrants;
    struct progress progress;
    struct tally tally;               /* of all orders; `seen` by the baseline */
    uint64_t records;                 /* of the stream, before any were left out */
    uint64_t fresh[REPLAY_PARTS];     /* new keys among the kept records, by part */
    struct continuation continuation; /* for a second pass */

    struct trace_hash hash; /* of keys: that of the first entrant, or of */
    struct shards hasher;

    pthread_mutex_t line; /* threads wait for the entrants' turns */
    pthread_cond_t moved;
};

/* False after a message. */
bool evaluation_open(struct evaluation *ev, const struct options *o);
bool evaluation_run(struct evaluation *ev);
void evaluation_close(struct evaluation *ev);

/* Read the arrivals into memory, at most `most` (replay.h). Then open entrants with that seed and
 * run; this can be repeated with others. */
bool evaluation_gather(struct evaluation *ev, const struct options *o, uint64_t most);

/* Print the records and the baseline's cost on standard error, if --stats is given. */
void evaluation_report(const struct evaluation *ev);

#endif
