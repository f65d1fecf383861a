/* by_screen.h - the judge of weir check: a screen before a store. */
#ifndef WEIR_VERDICT_BY_SCREEN_H
#define WEIR_VERDICT_BY_SCREEN_H

#include "verdict/ask_store.h"
#include "verdict/by_filter.h"

struct screening {
    struct consult *store;           /* with its screen */
    char config[CONFIG_MAX];         /* of the screen */
    struct weir_screen_stats before; /* what earlier runs did, with a state */
    weir *hasher;
};

/* Take a store and its screen into use. False after a sentence. */
bool screening_open(struct screening *s, struct consult *store);
void screening_close(struct screening *s);

struct judge judge_screening(struct screening *s);

#endif
