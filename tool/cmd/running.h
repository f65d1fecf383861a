/* running.h - the state of a run, for run.c (drives and ends it) and running.c (opens its stages,
 * saves state and metrics between two batches). */
#ifndef WEIR_CMD_RUNNING_H
#define WEIR_CMD_RUNNING_H

#include "cmd/audit.h"
#include "cmd/commands.h"
#include "cmd/run.h"
#include "pipe/write.h"

struct running {
    const struct run *run;
    struct pipe pipe;
    struct file_source source;
    struct writer writer[2]; /* the output; rejected records */
    uint32_t writers;
    struct audit audit;
    bool ended;   /* the pipe is */
    bool resumes; /* starts in the middle of the input: the output has its header */
    struct progress progress;

    struct position position; /* after the last record written; where a failed run ends */
    uint64_t unsaved;         /* records since the last checkpoint */
    double next_save;
    double next_metrics;
    bool metrics_failed; /* and was reported */

    double past_since; /* the filter is full; 0: it is not */
    bool told;         /* and was reported */

    struct networks networks; /* among the keys of a list */
};

/* Open all stages, with this sink at the end, at the position where an earlier run stopped. False
 * after a message. */
bool run_open(struct running *r, struct sink sink);

/* ---- while no batch is under way ---- */

bool run_wants_checkpoint(const struct running *r);
bool run_checkpoint(struct running *r);

/* After SIGUSR1: open outputs that were renamed again, and save the state. False after a message,
 * or if a writer has an error. */
bool run_reopen(struct running *r);

/* At the end: is there something to save in a state or filter file? */
bool run_is_to_be_saved(const struct running *r);

/* Save the state or the filter. All records that were read are written. Returns false if that or
 * the saving failed. */
bool run_save(struct running *r);

bool run_wants_metrics(const struct running *r);

/* Returns false if the file cannot be written, which ends a run only at its start. */
bool run_write_metrics(struct running *r, bool ended);

#endif
