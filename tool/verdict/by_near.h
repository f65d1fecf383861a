/* by_near.h - verdicts of weir dedup --near: is a text similar to an earlier one? */
#ifndef WEIR_VERDICT_BY_NEAR_H
#define WEIR_VERDICT_BY_NEAR_H

#include <weir/near.h>

#include "state/state.h"
#include "verdict/flood.h"
#include "verdict/verdict.h"

struct near_run {
    weir_near *near;
    struct weir_near_options options; /* set by verdict_by_near() */
    struct weir_near_stats before;    /* when the run began */
    struct flood flood;
    bool whole;       /* records have no fields: warn if they are JSON */
    char config[120]; /* set by verdict_by_near(), for the state */
};

struct verdict verdict_by_near(struct near_run *x);

/* Load a state file; *s becomes its state. NULL after a message. */
weir_near *near_load_state(const char *path, struct state *s);

#endif
