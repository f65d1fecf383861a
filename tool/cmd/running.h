/* running.h - a run under way, for the files that make it: run.c drives and ends it, run_open.c
 * opens its stages, run_save.c saves and tells its figures between two batches. */
#ifndef WEIR_CMD_RUNNING_H
#define WEIR_CMD_RUNNING_H

#include "cmd/networks.h"
#include "cmd/run.h"
#include "pipe/write.h"

struct running {
    const struct run *run;
    struct pipe pipe;
    struct file_source source;
    struct writer writer;
    struct progress progress;
    bool headed; /* the output has its header, or is to have none */

    struct position position; /* behind the last record written; where a failed run ends */
    uint64_t unsaved;         /* records since the last checkpoint */
    double next_save;
    double next_metrics;
    bool metrics_failed; /* that was told */

    double past_since; /* the filter is full; 0: it is not */
    bool told;         /* and that was said */

    struct networks networks; /* among the keys of a list */
};

/* ---- run_open.c ---- */

/* All stages, with this sink at the end, and at the place where an earlier run stopped. False after
 * a message. */
bool run_open(struct running *r, struct sink sink);

/* ---- run_save.c: while no batch is under way ---- */

bool run_wants_checkpoint(const struct running *r);
bool run_checkpoint(struct running *r);

/* The state, or the filter. What was read is written; false if that or the saving failed. */
bool run_save(struct running *r);

bool run_wants_metrics(const struct running *r);

/* False if the file cannot be written; that ends a run only where it begins. */
bool run_write_metrics(struct running *r, bool ended);

#endif
