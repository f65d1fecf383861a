/* build.c - weir build: a filter file from keys. */
#include "cmd/commands.h"
#include "cmd/sets.h"
#include "cli/messages.h"

int cmd_build(const struct options *o)
{
    struct shards shards = {0};
    int status = EXIT_ERROR;

    if (!o->output.path)
        return fail("'weir build' needs -o FILE, the filter file to make");
    if (keyset_open(o, options_inputs(o, 0), &shards)) {
        struct job job = {.command = o->command,
                          .inputs = options_inputs(o, 0),
                          .records = &o->records,
                          .verbosity = o->verbosity,
                          .threads = o->threads,
                          .judge = judge_filter(&shards, weir_observe_many),
                          .output = &(struct output){0},
                          .mute = true,
                          .save = o->output.path};

        status = flow_run(&job, NULL);
    }
    shards_close(&shards);
    return status;
}
