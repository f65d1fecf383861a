/* confirm.c - see confirm.h. The parts of the filter give their verdicts at once;
 * the store is asked when all of a batch are there. */
#include "verdict/confirm.h"

#include "cli/messages.h"

#define NO_SCREEN "none"

bool confirming_open(struct confirming *c, const char *url, const struct store_patience *p,
                     const struct records *r)
{
    *c = (struct confirming){.asker = asker_open(url, p, r)};
    if (!c->asker)
        return false;
    return weir_screen_open(&c->screen, NO_SCREEN, NULL) == WEIR_OK || reject("memory is short");
}

void confirming_close(struct confirming *c)
{
    weir_screen_close(c->screen);
    asker_close(c->asker);
}

static void complete(void *completer, struct batch *b)
{
    const struct confirming *c = completer;

    asker_ask_seen(c->asker, c->screen, b);
}

struct verdict verdict_confirmed(struct verdict filter, struct confirming *c)
{
    filter.complete = complete;
    filter.completer = c;
    return filter;
}
