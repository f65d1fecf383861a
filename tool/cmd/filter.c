/* filter.c - weir filter: pass the records whose key is in a set. */
#include <string.h>

#include "cmd/sets.h"
#include "cli/messages.h"
#include "cli/signals.h"
#include "pipe/write.h"
#include "state/files.h"
#include "verdict/confirm.h"

/* Read the keys of a file, one per line. */
static bool read_keys(const struct options *o, struct inputs inputs, struct verdict verdict)
{
    struct records keys = records_of_keys(&o->records);
    struct run r = {.command = o->command,
                    .inputs = inputs,
                    .verbosity = {.quiet = true, .stats = STATS_NONE},
                    .threads = o->threads,
                    .verdict = verdict,
                    .output = {.mute = true}};

    keys.skip = o->records.skip;
    r.records = keys;
    return run(&r, NULL) == EXIT_FINE;
}

/* Nothing is added to this set: unless another filter or a size is asked for, it is fixed. */
static bool is_fixed(const struct options *o)
{
    return keyset_is_fixed(o) ||
           !(o->wanted.algorithm || o->wanted.memory || o->wanted.sets || o->wanted.importance);
}

static bool build_fixed(const struct options *o, struct inputs inputs, struct shards *shards)
{
    struct building building = {0};
    bool built = keyset_begin(o, &building, shards) &&
                 read_keys(o, inputs, verdict_by_builder(&building)) && !signals_caught() &&
                 building_finish(&building);

    building_close(&building);
    return built;
}

static bool build(const struct options *o, struct shards *shards)
{
    char *file = (char *)(uintptr_t)o->set.keys;
    struct inputs inputs = {&file, 1};

    if (is_fixed(o))
        return build_fixed(o, inputs, shards);
    return keyset_open(o, inputs, shards) &&
           read_keys(o, inputs, verdict_by_filter(&(struct filtering){shards, weir_observe_many}));
}

static bool open_set(const struct options *o, struct stored *stored)
{
    const char *path;

    if (o->set.keys)
        return build(o, &stored->shards);
    if (wanted_anything(&o->wanted) || o->shards)
        return reject("the filter file says what the filter is like; -a, -m, -e, -S, --seed and "
                      "--shards go with --keys");
    path = keyset_file(o);
    return path && keyset_load(o, path, stored);
}

static int pass(const struct options *o, struct shards *shards)
{
    struct filtering filtering = {shards, keyset_answer(shards)};
    struct run r = run_asked(o, o->set.keys ? 0 : 1);

    r.verdict = verdict_by_filter(&filtering);
    r.passes = write_passes(&r.output, o->set.invert ? WEIR_NEW : WEIR_SEEN,
                            o->patience.silence == SILENCE_PASSES);
    if (!o->set.strict)
        return run(&r, NULL);

    struct confirming confirming;
    struct tally tally = {0};
    int status = EXIT_ERROR;

    if (confirming_open(&confirming, o->set.strict, &o->patience, &o->records)) {
        r.verdict = verdict_confirmed(r.verdict, &confirming);
        status = run(&r, &tally);
        asker_report(confirming.asker, tally.unanswered);
    }
    confirming_close(&confirming);
    return status;
}

int cmd_filter(const struct options *o)
{
    static struct stored stored;
    int status = open_set(o, &stored) ? pass(o, &stored.shards) : EXIT_ERROR;

    shards_close(&stored.shards);
    return status;
}
