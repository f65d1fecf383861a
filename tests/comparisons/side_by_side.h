/* side_by_side.h - compares two filters on the same records: another filter, and recent with fpr=
 * at the false-positive rate that the other one had.
 *
 * Results are exact: a record is a repeat if an earlier one has its key. */
#ifndef WEIR_TESTS_COMPARISONS_SIDE_BY_SIDE_H
#define WEIR_TESTS_COMPARISONS_SIDE_BY_SIDE_H

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

/* Fill in the fields that follow from keys and importance. */
void trace_complete(struct trace *t);

struct score {
    double fpr, fnr;     /* of the new, of the repeated records */
    double top_fnr;      /* of the repeats among the top 30 % of importance */
    double weighted_fnr; /* of the repeats, weighted by importance */
    double error;        /* as reported by the filter at the end */
    uint64_t fresh;      /* new records */
};

struct score score_of(const struct trace *t, const char *spec);

struct comparison {
    const struct trace *trace;
    const char *other; /* "NAME parameter=value ..." without memory and seed */
    size_t memory;
    const char *importance; /* for both, or NULL */
    uint64_t seed;
    double most; /* the highest rate of the other filter for a comparison */
    struct score its, ours;
};

/* Run the other filter and, if its rate is above 0 and at most most_fpr, recent; otherwise returns
 * false. With WEIR_SHOW=1 the scores are printed on standard error as TSV. */
bool comparison_made(struct comparison *c);

/* Fail unless recent's reported error is below the other's rate. Its measured error must be too,
 * except that three sigma are allowed if the rate is only a few records. */
bool stays_under(const struct comparison *c);

/* Fail unless it is, and recent also keeps more important records, by both measures. */
void assert_important_kept(const struct comparison *c);

#endif
