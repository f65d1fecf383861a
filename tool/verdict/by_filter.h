/* by_filter.h - who answers for the keys of a batch: a filter in shards, or a screen
 * before a store (screening.h). The flow knows no more of them than this. */
#ifndef WEIR_VERDICT_BY_FILTER_H
#define WEIR_VERDICT_BY_FILTER_H

#include <jansson.h>

#include "cli/progress.h"
#include "verdict/shards.h"

/* How a filter answers: weir_observe_many, weir_ask_many, ... */
typedef void (*judge_keys)(weir *w, const struct weir_key *keys, size_t n, uint8_t *verdicts);

struct judge {
    void *context;
    uint32_t parts;            /* that may work at once, each on one batch after the other */
    const char *config;        /* for the state file */
    const weir *hasher;        /* the same; any that is opened the same way each time */
    judge_keys answer;         /* of filters */
    const char *const *words;  /* by verdict */
    const char *seen, *holder; /* for the bar: what is seen, and what fills */

    void (*prepare)(const struct judge *j, struct batch *b, bool important);
    void (*judge)(const struct judge *j, struct batch *b, uint32_t part); /* may fail the batch */
    double (*fill)(const struct judge *j, uint32_t part);
    bool (*save)(const struct judge *j, const char *path, const char *note);
    void (*report)(const struct judge *j, const struct tally *t);      /* in words */
    json_t *(*describe)(const struct judge *j, const struct tally *t); /* NULL: memory is short */
};

/* What a run did, to standard error. */
void judge_report(const struct judge *j, const struct tally *t, enum stats_style style);

/* A filter. */
struct judge judge_filter(struct shards *s, judge_keys answer);

/* Answers for the commands that do not observe. */
void judge_by_asking(weir *w, const struct weir_key *keys, size_t n, uint8_t *verdicts);
void judge_by_forgetting(weir *w, const struct weir_key *keys, size_t n, uint8_t *verdicts);

#endif
