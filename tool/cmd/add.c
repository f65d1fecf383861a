/* add.c - weir add: show more keys to a filter file, or to a filter in servers. */
#include "cli/messages.h"
#include "cmd/at.h"
#include "cmd/commands.h"
#include "cmd/sets.h"

static int add_at(const struct options *o)
{
    struct run r = run_asked(o, 0);
    struct at at;
    int status = EXIT_ERROR;

    if (o->on_full == FULL_STOPS)
        return fail(AT_NOT_ON_FULL);
    r.is_list = true;
    r.output = (struct output){.mute = true};
    if (at_open(&at, o, false))
        status = at_run(&at, &r, false, NULL, NULL);
    at_close(&at);
    return status;
}

int cmd_add(const struct options *o)
{
    return o->at.url ? add_at(o) : keyset_change(o, weir_observe_many);
}
