/* by_filter.h - verdicts of a filter, in shards. */
#ifndef WEIR_VERDICT_BY_FILTER_H
#define WEIR_VERDICT_BY_FILTER_H

#include "verdict/deal.h"
#include "verdict/verdict.h"
#include "verdict/watch.h"

/* How a filter answers: weir_observe_many, or one of those below. */
typedef void (*answer_keys)(weir_filter *w, const struct weir_key *keys, size_t n,
                            uint8_t *verdicts);

void answer_by_asking(weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts);
void answer_by_forgetting(weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts);

struct filtering {
    struct shards *shards;
    answer_keys answer;
    struct watch *watch; /* of what it is shown; NULL: none */
    bool must_fit;       /* a key for which there is no room is an error, and nothing is saved; */
    uint64_t overflow;   /* but for so many, from before */
};

struct verdict verdict_by_filter(struct filtering *f);

#endif
