/* pipe.h - the pipe as a whole: what every command that works on records
 * runs. */
#ifndef WEIR_PIPE_PIPE_H
#define WEIR_PIPE_PIPE_H

#include "verdict/ask_store.h"
#include "verdict/by_filter.h"
#include "state/state.h"

struct job {
    const char *command;
    struct inputs inputs;
    const struct records *records;
    struct verbosity verbosity;
    uint32_t threads;
    double linger; /* seconds to wait for more records, once there are some */
    struct judge judge;
    struct consult *store; /* confirms what was said to be seen, if not NULL */

    const struct output *output;
    uint8_t passes; /* verdicts of records that are passed on: see write.h */
    bool mute;      /* nothing is written */

    const char *save;                  /* file to replace at the end, or NULL */
    const char *note;                  /* with this note; not for a state, which has its own */
    const struct state_options *state; /* save is a state file, or NULL */
    const char *keys;                  /* how they are made, for the state */
    const struct state *resume;        /* where to go on, or NULL */
};

/* The verdicts with which records pass; for struct job. */
uint8_t passing(const struct output *o, enum weir_verdict verdict, enum silence silence);

/* Run it; the exit status, after a sentence if it is EXIT_ERROR. */
int flow_run(const struct job *job, struct tally *tally);

#endif
