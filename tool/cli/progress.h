/* progress.h - counters of a run, the progress bar, and the clocks. */
#ifndef WEIR_CLI_PROGRESS_H
#define WEIR_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum stats_style { STATS_TEXT, STATS_JSON, STATS_NONE, STATS_DEFAULT, STATS_LINE };

struct verbosity {
    bool quiet;
    enum stats_style stats; /* the summary at the end */
    const char *metrics;    /* file for Prometheus, or NULL */
};

struct tally {
    uint64_t records; /* with a verdict: seen, new and unanswered */
    uint64_t seen;
    uint64_t unanswered; /* the store failed */
    uint64_t keyless;    /* passed without a verdict */
    uint64_t skipped;    /* malformed; file and line of the first one: */
    const char *skipped_in;
    uint64_t skipped_line;
    uint64_t unparsed; /* values that --key-as could not parse */
    uint64_t masked;   /* networks with bits after their prefix; the first one: */
    const char *masked_in;
    uint64_t masked_line;
    uint64_t late;      /* older than a record before them */
    uint64_t most_late; /* milliseconds, of the latest one */
    uint64_t passed;
    uint64_t bytes; /* read */
    double seconds;
};

struct progress {
    bool bar;
    const char *seen, *filled; /* labels: "seen", "filter" */
    double started, drawn;
    uint64_t start, total; /* bytes read before this run, and bytes of the input; 0: unknown */
    unsigned width;        /* of the line that is visible */
};

double now(void);           /* seconds, monotonic */
uint64_t time_of_day(void); /* milliseconds since 1970 */

/* Milliseconds since 1970, unaffected by changes of the clock after the first call. For span= and
 * half-life=. */
uint64_t steady_time(void);

void progress_open(struct progress *p, bool quiet, uint64_t total);

bool progress_due(const struct progress *p);
/* A negative fill is not printed. */
void progress_draw(struct progress *p, const struct tally *t, double fill);
void progress_clear(struct progress *p);

/* Print how many records were skipped, and where the first is. Prints nothing if none was, with
 * --quiet and with --stats json. */
void tell_skipped(const struct tally *t, const struct verbosity *v, bool several_files);

/* --stats; by default one line on a terminal. */
enum stats_style stats_style(const struct verbosity *v);

#endif
