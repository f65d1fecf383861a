/* confirm.h - verdicts of a filter, of which a store confirms each hit: nothing
 * false is taken for seen. */
#ifndef WEIR_VERDICT_CONFIRM_H
#define WEIR_VERDICT_CONFIRM_H

#include "verdict/ask_store.h"
#include "verdict/verdict.h"

struct confirming {
    struct asker *asker;
    weir_screen *screen; /* lets all keys through, each once per batch */
};

/* Open the store of a URL. False after a message; it is to be closed then too. */
bool confirming_open(struct confirming *c, const char *url, const struct store_patience *p,
                     const struct records *r);
void confirming_close(struct confirming *c);

/* The verdicts of a filter, confirmed. */
struct verdict verdict_confirmed(struct verdict filter, struct confirming *c);

#endif
