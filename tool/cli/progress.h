/* progress.h - what a run tells of itself on standard error: a bar while it
 * works, a report at the end. */
#ifndef WEIR_CLI_PROGRESS_H
#define WEIR_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum stats_style { STATS_TEXT, STATS_JSON, STATS_NONE, STATS_DEFAULT };

/* How much a run says. */
struct verbosity {
    bool quiet;
    enum stats_style stats; /* the report at the end */
    const char *metrics;    /* file of figures to keep up to date, or NULL */
};

/* What went by so far. */
struct tally {
    uint64_t records; /* judged: seen, new and unanswered together */
    uint64_t seen;
    uint64_t unanswered; /* a store could not tell */
    uint64_t keyless;    /* passed on without a verdict */
    uint64_t skipped;    /* malformed, the first of them here: */
    const char *skipped_in;
    uint64_t skipped_line;
    uint64_t late;      /* older than one before them, */
    uint64_t most_late; /* by so many milliseconds at most */
    uint64_t passed;
    uint64_t bytes; /* read */
    double seconds;
};

struct progress {
    bool bar;
    const char *seen, *filled; /* words for what is seen, and for what fills */
    double started, drawn;
    uint64_t start, total; /* bytes already behind at the start, and of all; 0: not known */
    unsigned width;        /* of what stands on the line now */
};

double now(void);           /* seconds of a clock that never jumps */
uint64_t time_of_day(void); /* milliseconds since 1970 */

/* The same, but from the first call on only as much time passes as passes: setting the clock
 * during a run changes nothing. Filters with span= and sketches with half-life= go by it. */
uint64_t steady_time(void);

void progress_open(struct progress *p, bool quiet, uint64_t total);

/* Is it time to draw again? */
bool progress_due(const struct progress *p);
/* A fill below 0 is left out. */
void progress_draw(struct progress *p, const struct tally *t, double fill);
void progress_clear(struct progress *p);

/* How many records were left out, and where the first was; nothing if none was, or if nobody
 * wants to hear of it, or the report in JSON has it. */
void tell_skipped(const struct tally *t, const struct verbosity *v, bool several_files);

/* What --stats asks for, or the terminal. */
enum stats_style stats_style(const struct verbosity *v);

#endif
