/* run.h - the pipe as commands run it: from files, through a verdict, to the
 * output, with a filter or state file to save. */
#ifndef WEIR_CMD_RUN_H
#define WEIR_CMD_RUN_H

#include <weir/sketch.h>

#include "cmd/commands.h"
#include "pipe/source.h"
#include "state/state.h"
#include "verdict/by_filter.h"

struct run {
    const char *command;
    struct inputs inputs;
    struct records records;
    struct verbosity verbosity;
    uint32_t threads;
    double linger; /* seconds to wait for more records, once there are some */

    bool is_list; /* the records are a set's keys */

    struct verdict verdict;
    struct output output;
    const char *const *words; /* for the verdicts in JSON; NULL: those of the verdict */
    uint8_t passes;           /* verdicts of records that are passed on: see write.h */

    enum on_full on_full; /* when the filter is past what was asked of it */

    const char *save;           /* file to replace at the end, or NULL */
    const char *note;           /* with this note; not for a state, which has its own */
    bool save_anyway;           /* also before the first record, and if none was passed */
    struct state_options state; /* if it has a path, save is a state file */
    const char *keys;           /* how they are made, for the state */
    const struct state *resume; /* where to go on, or NULL */
    bool remembers;             /* records that an earlier run passed are not passed again */
    uint64_t clock;             /* what time it was at the end of an earlier run; 0: not known */
};

/* What the options say of it, with the operands from this one on as files. */
struct run run_asked(const struct options *o, int from);

/* Something goes by time: where that is the clock of the machine and records come out of a
 * file, say so. what: for the message. */
void run_tell_clock(const struct run *r, const char *what);

/* Run it; the exit status, after a message if it is EXIT_ERROR. */
int run(const struct run *given, struct tally *tally);

/* The same with keys shown to this filter, which is watched unless nobody is to be told. wanted:
 * what was asked of it; loaded: it was in a file. */
int run_filter(struct run *r, struct filtering filtering, const struct filter_request *wanted,
               bool loaded);

/* Only into a sink, without verdicts or output. */
int run_into(const struct run *given, struct sink sink);

/* Save the counts of a run that has this status, once all that it printed is written: what
 * failed can be run again without counting twice. The status then. */
int run_keep_counts(const char *path, const weir_sketch *sketch, int status);

#endif
