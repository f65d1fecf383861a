/* pipe.h - the pipe as a whole: what every command that works on records
 * runs. */
#ifndef WEIR_PIPE_PIPE_H
#define WEIR_PIPE_PIPE_H

#include "verdict/ask_store.h"
#include "verdict/by_filter.h"
#include "state/state.h"

struct job {
    const struct options *options;
    char *const *files; /* none: standard input */
    int count;
    struct judge judge;
    struct consult *store; /* confirms what was said to be seen, if not NULL */

    bool mute;                /* records are not passed on */
    enum weir_verdict passes; /* verdict of those that are */

    const char *save;           /* file to replace at the end, or NULL */
    const char *note;           /* with this note; not for a state, which has its own */
    bool stateful;              /* save is a state file: checkpoints */
    const struct state *resume; /* where to go on, or NULL */
};

/* Run it; the exit status, after a sentence if it is EXIT_ERROR. */
int flow_run(const struct job *job, struct tally *tally);

#endif
