/* side_by_side.h - two filters on the same records: another, and the filter recent with
 * its ceiling (fpr=) at the false-positive rate that the other came to there.
 *
 * Truth is exact: a record is repeated if an earlier one has its key. */
#ifndef WEIR_TESTS_RIVALS_SIDE_BY_SIDE_H
#define WEIR_TESTS_RIVALS_SIDE_BY_SIDE_H

#include "papers/stream.h"

struct record {
    const char *key;
    uint32_t size;
    uint32_t importance;
    bool repeated;
};

struct trace {
    char name[64];
    struct record *record;
    size_t n;
    size_t distinct;
    uint32_t least, top; /* importance: the lowest, and the one that 30 % of records reach */
};

/* Fill in what follows from the records' keys and importance. */
void trace_complete(struct trace *t);

struct score {
    double fpr, fnr;     /* of the truly new, of the truly seen */
    double top_fnr;      /* of the truly seen among the top 30 % of importance */
    double weighted_fnr; /* of the truly seen, each counted by its importance */
    double error;        /* as the filter itself states it at the end */
    uint64_t fresh;      /* truly new records */
};

struct score score_of(const struct trace *t, const char *spec);

struct comparison {
    const struct trace *trace;
    const char *other; /* "NAME parameter=value ..." without memory and seed */
    size_t memory;
    const char *importance; /* for both, or NULL */
    uint64_t seed;
    double most; /* what the other's rate must be at most for a comparison */
    struct score its, ours;
};

/* Let the other run, and if its rate is above 0 and in reach, weir too: false
 * if it is not. With WEIR_SHOW=1 the scores go to standard error, as TSV. */
bool comparison_made(struct comparison *c);

/* Under the other's rate? The error it states must be. So must what it came to, but
 * where the rate means only a few records, chance may add three sigma. */
bool stays_under(const struct comparison *c);

/* Under it, and better at what matters, in both ways of counting. */
void assert_important_kept(const struct comparison *c);

#endif
