/* verdict.h - the interface of the verdict stage, which decides on the records of a batch: a filter
 * in shards (by_filter.h), many filters, an index (by_index.h), a screen in front of
 * a store or a filter whose hits a store confirms (ask_store.h), or servers
 * (by_remote.h). */
#ifndef WEIR_VERDICT_VERDICT_H
#define WEIR_VERDICT_VERDICT_H

#include <jansson.h>

#include "cli/progress.h"
#include "pipe/batch.h"

#define VERDICT_MESSAGE 480

/* What one kind of verdict adds to the summary of a run: text on standard error, or members of
 * a JSON object (NULL: out of memory). run_summary.c writes the rest, which is the same for all. */
struct verdict_summary {
    bool passes;     /* records pass or are dropped: the summary has passed, late and latest */
    bool rates_both; /* the text has bytes per second, too */
    /* How many records got which verdict, after the number of records. NULL: new and seen. */
    void (*report_counts)(void *context, const struct tally *t);
    json_t *(*describe_counts)(void *context, const struct tally *t);
    /* Its most important figures, on the only line of a brief summary. NULL: fill and error. */
    void (*brief)(void *context);
    /* Its own figures, after those of the run. */
    void (*report)(void *context, const struct tally *t);
    json_t *(*describe)(void *context, const struct tally *t);
};

/* What a summary reports of every filter and screen. */
struct summary_figures {
    const char *what, *spec; /* "filter" or "screen" */
    uint32_t shards;         /* 0: it has none */
    uint64_t memory;
    double fill, error;
};

void figures_report(const struct summary_figures *f);      /* a line on standard error */
json_t *figures_describe(const struct summary_figures *f); /* NULL: memory is exhausted */

/* A filter's false-positive rate after some new keys. */
struct error_point {
    double error, fill;
    uint64_t new_keys;
    bool grows; /* records that are new are added */
};

struct verdict {
    void *context;
    uint32_t parallel; /* calls of give at once; 0 is 1 */

    /* Return the ticket of a batch that was read, in order. NULL: batches have none. */
    uint64_t (*ticket)(void *context);
    /* Any thread, any order. NULL: nothing to do. */
    void (*prepare)(void *context, struct batch *b);
    /* One batch after the other, once it is known which records are bad. NULL: nothing to do. */
    void (*order)(void *context, struct batch *b);
    /* Fill in the verdicts. Calls start in order. May fail the batch if `parallel` is 1.
     * NULL: all records are new. */
    void (*give)(void *context, struct batch *b);
    /* One batch after the other; then the verdicts are final. May fail the batch.
     * NULL: nothing to do. */
    void (*complete)(void *completer, struct batch *b);
    void *completer;

    /* Does the filter exceed its error rate, or evict keys? Called by the writer; last: at the end
     * of the run. And the message then. NULL: it cannot. */
    bool (*is_past)(void *context, bool last);
    void (*tell_past)(void *context, char text[VERDICT_MESSAGE]);

    double (*fill)(void *context); /* called after give, by its thread; NULL: nothing fills */
    /* The error rate of the filter now. NULL: unknown, or there are no false positives. */
    struct error_point (*error)(void *context);
    /* The record of this run from which on the filter evicted keys; 0: none so far, NULL: unknown.
     * This and error are called while no batch is under way or by the writer. */
    uint64_t (*evicted_from)(void *context);
    bool (*save)(void *context, const char *path, const char *note);
    bool (*wants_save)(void *context); /* before the next checkpoint is due; NULL: never */
    const struct verdict_summary *summary;

    const char *const *words;  /* by verdict, for tags */
    const char *seen, *filled; /* words for the progress bar */
    const char *config;        /* for the state file */
    struct trace_hash hash;    /* the same: hashes the bytes that identify the input */
};

/* Print the summary of a run on standard error. */
void verdict_report(const struct verdict *v, const struct tally *t, enum stats_style style);

/* The same figures in the text format of Prometheus, each with the label run=; and whether the run
 * has ended. The caller frees it. NULL if memory is exhausted. */
char *metrics_text(const struct verdict *v, const struct tally *t, const char *run, bool ended,
                   size_t *size);

#endif
