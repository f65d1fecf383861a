/* build.c - weir build: a filter file from keys. */
#include "cmd/commands.h"
#include "cmd/sets.h"
#include "cli/messages.h"

int cmd_build(const struct options *o)
{
    struct shards shards = {0};
    int status = EXIT_ERROR;

    if (!o->output)
        return fail("'weir build' needs -o FILE, the filter file to make");
    if (keyset_open(o, o->operand, o->operands, &shards)) {
        struct job job = {.options = o,
                          .files = o->operand,
                          .count = o->operands,
                          .judge = judge_filter(&shards, weir_observe_many),
                          .mute = true,
                          .save = o->output};

        status = flow_run(&job, NULL);
    }
    shards_close(&shards);
    return status;
}
