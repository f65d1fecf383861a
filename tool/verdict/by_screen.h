/* by_screen.h - verdicts of a store, asked through a screen: what 'weir check'
 * runs. */
#ifndef WEIR_VERDICT_BY_SCREEN_H
#define WEIR_VERDICT_BY_SCREEN_H

#include "cli/filter_request.h"
#include "verdict/ask_store.h"
#include "verdict/verdict.h"

struct screening {
    struct asker *asker;
    weir_screen *screen;
    char config[WEIR_SPEC_MAX];      /* of the screen */
    struct weir_screen_stats before; /* counts of earlier runs, with a state */
    uint64_t loaded;                 /* keys loaded before the run */
    double loading;                  /* seconds that took */
    weir_filter *set;                /* all keys of the store, if they are stored separately */
    uint64_t span;                   /* milliseconds after which verdicts are old; 0: never */
};

/* Use both. Loads all keys of the store if the screen holds a set. False after a message. */
bool screening_open(struct screening *s, struct asker *asker, weir_screen *screen);
void screening_close(struct screening *s); /* the screen too */

/* Warn if the store refuted more hits of the set than its error rate explains. */
void screening_doubt(const struct screening *s, const struct tally *t);

struct verdict verdict_by_screen(struct screening *s);

#endif
