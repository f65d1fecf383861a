/* flow.h - the pipe as a whole: what every command that works on records
 * runs. */
#ifndef WEIR_FLOW_H
#define WEIR_FLOW_H

#include "exact.h"
#include "progress.h"
#include "shards.h"
#include "store.h"

/* How a filter answers: weir_observe_many, weir_ask_many, ... */
typedef void (*judge_keys)(weir *w, const struct weir_key *keys, size_t n, uint8_t *verdicts);

struct job {
    const struct options *options;
    char *const *files; /* none: standard input */
    int count;
    struct shards *shards;
    judge_keys judge;
    const struct exact *exact; /* confirms what was said to be seen, if not NULL */

    bool mute;                /* records are not passed on */
    enum weir_verdict passes; /* verdict of those that are */

    const char *save;           /* file to replace at the end, or NULL */
    const char *note;           /* with this note; not for a state, which has its own */
    bool stateful;              /* save is a state file: checkpoints */
    const struct state *resume; /* where to go on, or NULL */
};

/* Run it; the exit status, after a sentence if it is EXIT_ERROR. */
int flow_run(const struct job *job, struct tally *tally);

/* Answers for the commands that do not observe. */
void judge_by_asking(weir *w, const struct weir_key *keys, size_t n, uint8_t *verdicts);
void judge_by_forgetting(weir *w, const struct weir_key *keys, size_t n, uint8_t *verdicts);

#endif
