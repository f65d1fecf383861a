/* verdict.h - who gives the records of a batch their verdicts: a filter in shards
 * (by_filter.h), a screen before a store (by_screen.h), a filter whose hits a
 * store confirms (ask_store.h). The pipe knows no more of them than this. */
#ifndef WEIR_VERDICT_VERDICT_H
#define WEIR_VERDICT_VERDICT_H

#include <jansson.h>

#include "cli/progress.h"
#include "pipe/batch.h"

#define VERDICT_MESSAGE 480

/* What one kind of verdict adds to the summary of a run: text on standard error, or members of
 * a JSON object (NULL: out of memory). run_summary.c writes the rest, which is the same for all. */
struct verdict_summary {
    bool passes;     /* records are passed on or dropped: JSON has passed, late and latest */
    bool rates_both; /* the text has bytes per second, too */
    /* How many records got which verdict, after the number of records. NULL: new and seen. */
    void (*report_counts)(void *context, const struct tally *t);
    json_t *(*describe_counts)(void *context, const struct tally *t);
    /* Its own figures, after those of the run. */
    void (*report)(void *context, const struct tally *t);
    json_t *(*describe)(void *context, const struct tally *t);
};

struct verdict {
    void *context;
    uint32_t parts;   /* that may work at once, each on one batch after the other */
    bool first_leads; /* the other parts of a batch wait for the first */

    /* When a batch has been read; batches come in order. NULL: nothing goes by it. */
    uint64_t (*ticket)(void *context);
    /* Before the parts; any thread. NULL: nothing is to be done. */
    void (*prepare)(void *context, struct batch *b);
    /* After that, when it is known which records are bad; any thread. NULL: likewise. */
    void (*sort)(void *context, struct batch *b);
    /* One part of the verdicts; batches come in order. May fail the batch if it is
     * the only part, or the first and leads. */
    void (*give)(void *context, struct batch *b, uint32_t part);
    /* When all parts have given theirs; batches come in order. From here on the
     * verdicts are final. May fail the batch. NULL: nothing is left to do. */
    void (*complete)(void *completer, struct batch *b);
    void *completer;

    /* Is it past what was asked of it: fuller, or forgetting? Asked by the writer;
     * last: no part is at work any more. And what to say then. NULL: it cannot be. */
    bool (*is_past)(void *context, bool last);
    void (*tell_past)(void *context, char text[VERDICT_MESSAGE]);

    double (*fill)(void *context, uint32_t part); /* NULL: nothing fills */
    bool (*save)(void *context, const char *path, const char *note);
    const struct verdict_summary *summary;

    const char *const *words;  /* by verdict, for tags */
    const char *seen, *filled; /* for the bar: what is seen, and what fills */
    const char *config;        /* for the state file */
    struct trace_hash hash;    /* the same: of the bytes by which the input is known again */
};

/* The records that were late, if any, to standard error: a line of a report. */
void verdict_report_late(const struct tally *t);

/* What a run did, to standard error. */
void verdict_report(const struct verdict *v, const struct tally *t, enum stats_style style);

/* The same figures in the text format of Prometheus, each labelled with the name of the run; and
 * whether that has ended. To be freed; NULL if memory is short. */
char *metrics_text(const struct verdict *v, const struct tally *t, const char *run, bool ended,
                   size_t *size);

#endif
