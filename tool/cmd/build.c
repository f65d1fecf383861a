/* build.c - weir build: a filter file from keys. */
#include "cmd/sets.h"
#include "cli/messages.h"
#include "state/files.h"
#include "state/replace.h"

static struct run run_to_save(const struct options *o)
{
    static char note[NOTE_MAX];
    char keys[WEIR_KEY_DESCRIPTION_MAX];
    struct run r = run_asked(o, 0);

    records_describe_keys(&o->records, keys, sizeof keys);
    file_describe_keys(note, keys);
    r.note = note;
    r.is_list = true;
    r.save = o->output.path;
    r.output = (struct output){.mute = true};
    return r;
}

static int build_fixed(const struct options *o, struct shards *shards)
{
    struct building building = {0};
    struct run r = run_to_save(o);
    int status = EXIT_ERROR;

    if (keyset_begin(o, &building, shards)) {
        r.verdict = verdict_by_builder(&building);
        status = run(&r, NULL);
    }
    building_close(&building);
    return status;
}

static int build_learning(const struct options *o, struct shards *shards)
{
    struct run r = run_to_save(o);
    int status;

    if (!keyset_open(o, options_inputs(o, 0), shards))
        return EXIT_ERROR;
    status = run_filter(
        &r, (struct filtering){.shards = shards, .answer = weir_observe_many, .must_fit = true},
        &o->filter, false);
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
    if (!replace_spares(o->output.path, REPLACES_FILTER))
        return EXIT_ERROR;
    status = keyset_is_fixed(o) ? build_fixed(o, &shards) : build_learning(o, &shards);
    shards_close(&shards);
    return status;
}
