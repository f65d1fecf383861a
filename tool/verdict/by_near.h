/* by_near.h - verdicts of weir dedup --near: is a text similar to an earlier one? */
#ifndef WEIR_VERDICT_BY_NEAR_H
#define WEIR_VERDICT_BY_NEAR_H

#include "cli/option_groups.h"
#include "near/near.h"
#include "state/state.h"
#include "verdict/verdict.h"

#define FLOOD_RECORDS 100000
#define FLOOD_SLOTS 10

/* More than half of the last FLOOD_RECORDS records were dropped: probably boilerplate, or the wrong
 * field. */
struct flood {
    uint32_t dropped[FLOOD_SLOTS], in_slot, slot;
    uint64_t records;
    uint64_t candidate, votes; /* the majority's representative (Boyer and Moore) */
    bool reported;
};

struct near_run {
    struct near *near;
    bool quiet;
    enum on_full on_flood;
    struct near_figures before; /* when the run began */
    struct flood flood;
    char config[120]; /* set by verdict_by_near(), for the state */
};

struct verdict verdict_by_near(struct near_run *x);

/* Load a state file; *s becomes its state. NULL after a message. */
struct near *near_load_state(const char *path, struct state *s);

#endif
