/* by_near.h - verdicts of weir dedup --near: is a text similar to an earlier one? */
#ifndef WEIR_VERDICT_BY_NEAR_H
#define WEIR_VERDICT_BY_NEAR_H

#include "near/near.h"
#include "state/state.h"
#include "verdict/flood.h"
#include "verdict/verdict.h"

struct near_run {
    struct near *near;
    struct near_figures before; /* when the run began */
    struct flood flood;
    char config[120]; /* set by verdict_by_near(), for the state */
};

struct verdict verdict_by_near(struct near_run *x);

/* Load a state file; *s becomes its state. NULL after a message. */
struct near *near_load_state(const char *path, struct state *s);

#endif
