/* build.c - weir build: a filter file from keys. */
#include "cmd/sets.h"
#include "cli/messages.h"

static int build(const struct options *o, struct verdict verdict)
{
    struct run r = run_asked(o, 0);

    r.verdict = verdict;
    r.save = o->output.path;
    r.output = (struct output){.mute = true};
    return run(&r, NULL);
}

static int build_fixed(const struct options *o, struct shards *shards)
{
    struct building building = {0};
    int status = EXIT_ERROR;

    if (keyset_begin(o, &building, shards))
        status = build(o, verdict_by_builder(&building));
    building_close(&building);
    return status;
}

static int build_learning(const struct options *o, struct shards *shards)
{
    int status;

    if (!keyset_open(o, options_inputs(o, 0), shards))
        return EXIT_ERROR;
    status = build(o, verdict_by_filter(&(struct filtering){shards, weir_observe_many}));
    if (status == EXIT_FINE)
        keyset_tell_fixed(o, shards);
    return status;
}

int cmd_build(const struct options *o)
{
    struct shards shards = {0};
    int status;

    if (!o->output.path)
        return fail("'weir build' needs -o FILE, the filter file to make");
    status = keyset_is_fixed(o) ? build_fixed(o, &shards) : build_learning(o, &shards);
    shards_close(&shards);
    return status;
}
