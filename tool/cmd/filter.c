/* filter.c - weir filter: pass the records whose key is in a set. */
#include <string.h>

#include "cmd/at.h"
#include "cmd/networks.h"
#include "cmd/sets.h"
#include "cli/messages.h"
#include "cli/signals.h"
#include "pipe/write.h"
#include "state/files.h"
#include "verdict/ask_store.h"

/* To read the keys of a file, one per line. */
static struct run run_of_keys(const struct options *o, struct inputs inputs)
{
    struct run r = {.command = o->command,
                    .inputs = inputs,
                    .records = records_of_keys(&o->records),
                    .verbosity = {.quiet = o->verbosity.quiet, .stats = STATS_NONE},
                    .threads = o->threads,
                    .is_list = true,
                    .output = {.mute = true}};

    r.records.skip = o->records.skip;
    return r;
}

/* Nothing is added to this set: unless another filter or a size is asked for, it is fixed. */
static bool is_fixed(const struct options *o)
{
    return keyset_is_fixed(o) ||
           !(o->filter.algorithm || o->filter.memory || o->filter.sets || o->filter.importance);
}

static bool build_fixed(const struct options *o, struct inputs inputs, struct shards *shards)
{
    struct building building = {0};
    struct run r = run_of_keys(o, inputs);
    bool built = keyset_begin(o, &building, shards);

    r.verdict = verdict_by_builder(&building);
    built = built && run(&r, NULL) == EXIT_FINE && !signals_caught() && building_finish(&building);
    building_close(&building);
    return built;
}

static bool build(const struct options *o, struct shards *shards)
{
    char *file = (char *)(uintptr_t)o->set.keys;
    struct inputs inputs = {&file, 1};
    struct run r = run_of_keys(o, inputs);

    if (is_fixed(o))
        return build_fixed(o, inputs, shards);
    return keyset_open(o, inputs, shards) &&
           run_filter(&r, (struct filtering){.shards = shards, .answer = weir_observe_many},
                      &o->filter, false) == EXIT_FINE;
}

static bool open_set(const struct options *o, struct stored *stored)
{
    const char *path;

    if (o->set.keys)
        return build(o, &stored->shards);
    if (request_anything(&o->filter) || o->shards)
        return reject("the filter file says what the filter is like; -a, -m, -e, -S, --seed and "
                      "--shards go with --keys");
    path = keyset_file(o);
    return path && keyset_load(o, path, stored);
}

/* Of a set. */
static const char *const words[] = {"other", "member", [VERDICT_UNKNOWN] = "unknown"};

static int pass(const struct options *o, struct shards *shards)
{
    struct filtering filtering = {.shards = shards, .answer = keyset_answer(shards)};
    struct run r = run_asked(o, o->set.keys ? 0 : 1);

    r.verdict = verdict_by_filter(&filtering);
    r.words = words;
    r.passes = write_passes(&r.output, o->set.invert ? WEIR_NEW : WEIR_SEEN,
                            o->patience.silence == SILENCE_PASSES);
    if (!o->set.strict)
        return run(&r, NULL);

    struct confirming confirming;
    struct tally tally = {0};
    int status = EXIT_ERROR;

    if (!o->verbosity.quiet)
        networks_tell_store(o->set.strict);
    if (confirming_open(&confirming, o->set.strict, &o->patience, &o->records)) {
        r.verdict = verdict_confirmed(r.verdict, &confirming);
        status = run(&r, &tally);
        asker_report(confirming.asker, tally.unanswered);
        if (asker_refuted_most(confirming.asker))
            asker_doubt(confirming.asker, tally.records - tally.seen, file_error(shards));
    }
    confirming_close(&confirming);
    return status;
}

/* The set lives in servers. */
static int filter_at(const struct options *o)
{
    struct at at;
    int status = EXIT_ERROR;

    if (o->set.keys || o->set.strict)
        return fail("--%s does not go with --at, which says where the filter is",
                    o->set.keys ? "keys" : "strict");
    if (at_open(&at, o, false)) {
        struct run r = run_asked(o, 0);

        r.words = words;
        r.passes = write_passes(&r.output, o->set.invert ? WEIR_NEW : WEIR_SEEN, false);
        status = at_run(&at, &r, true, NULL, NULL);
    }
    at_close(&at);
    return status;
}

int cmd_filter(const struct options *o)
{
    static struct stored stored;

    if (o->at.url)
        return filter_at(o);
    int status = open_set(o, &stored) ? pass(o, &stored.shards) : EXIT_ERROR;

    shards_close(&stored.shards);
    return status;
}
