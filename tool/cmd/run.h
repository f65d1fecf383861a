/* run.h - run the pipe for a command: input files, a verdict, outputs, and a filter or state file
 * to save. */
#ifndef WEIR_CMD_RUN_H
#define WEIR_CMD_RUN_H

#include <weir/sketch.h>

#include "cmd/commands.h"
#include "pipe/source.h"
#include "state/state.h"
#include "verdict/by_parts.h"

struct run {
    const char *command;
    struct inputs inputs;
    struct records records;
    struct verbosity verbosity;
    uint32_t threads;
    double linger; /* seconds to wait for more records after the first */

    bool is_list; /* the records are a set's keys */

    struct verdict verdict;
    struct parts_run *parts; /* of --parts: run_filter() compares these instead of keys */
    struct output output;
    const char *const *words; /* for the verdicts in JSON; NULL: those of the verdict */
    uint8_t passes;           /* verdicts of the records that pass: see write.h */

    enum on_full on_full; /* if the filter exceeds its error rate or evicts keys */

    const char *save;           /* file to replace at the end, or NULL */
    const char *note;           /* with this note; not for a state, which has its own */
    bool is_index;              /* save is the directory of an index, which it writes itself */
    bool save_anyway;           /* also before the first record, and if none was passed */
    struct state_options state; /* if it has a path, save is a state file */
    const char *keys;           /* how keys are made, for the state */
    const struct state *resume; /* where to continue, or NULL */
    bool remembers;             /* records of an earlier run do not pass again */
    uint64_t clock;             /* event time at the end of an earlier run; 0: unknown */
};

/* The run of these options, with the operands from `from` on as files. */
struct run run_asked(const struct options *o, int from);

/* The same with --state: keys: how keys are made; before: the state of an earlier run, or NULL. */
struct run run_continued(const struct options *o, const char *keys, const struct state *before);

/* Print a note if `what` depends on the machine's clock and the records are in a file. */
void run_tell_clock(const struct run *r, const char *what);

/* Run. Returns the exit status, after a message if it is EXIT_ERROR. */
int run(const struct run *given, struct tally *tally);

/* The same with this filter, which is watched if anything reports the result. wanted: the requested
 * filter; loaded: it comes from a file. */
int run_filter(struct run *r, struct filtering filtering, const struct filter_request *wanted,
               bool loaded);

/* ---- the kinds of weir dedup ---- */

/* The run of weir dedup: run_continued(), and which records pass. */
struct run dedup_run(const struct options *o, const char *keys, const struct state *before);

int dedup_exact(struct options *o);      /* --exact, also of weir build */
int dedup_near(const struct options *o); /* --near */

int dedup_parts(struct options *o); /* --parts */

/* Without those, or with the filter of --parts; parts may be NULL. */
int dedup_by_filter(struct options *o, struct parts_run *parts);

/* Only into a sink, without verdicts or output. */
int run_into(const struct run *given, struct sink sink);

/* Save the counts of a run with this status, after its output is written, so that a failed run can
 * be repeated without counting twice. Returns the new status. */
int run_keep_counts(const char *path, const weir_sketch *sketch, int status);

#endif
