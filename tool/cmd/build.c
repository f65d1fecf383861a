/* build.c - weir build: a filter file from keys. */
#include "cmd/sets.h"
#include "cli/messages.h"

int cmd_build(const struct options *o)
{
    struct shards shards = {0};
    int status = EXIT_ERROR;

    if (!o->output.path)
        return fail("'weir build' needs -o FILE, the filter file to make");
    if (keyset_open(o, options_inputs(o, 0), &shards)) {
        struct run r = run_asked(o, 0);

        r.verdict = verdict_by_filter(&(struct filtering){&shards, weir_observe_many});
        r.save = o->output.path;
        r.output = (struct output){.mute = true};
        status = run(&r, NULL);
    }
    shards_close(&shards);
    return status;
}
