/* filter.c - weir filter: pass the records whose key is in a set. */
#include <string.h>

#include "cmd/commands.h"
#include "cmd/sets.h"
#include "cli/messages.h"
#include "state/files.h"

/* Build the filter from the keys of a file, one per line. */
static bool build(const struct options *o, struct shards *shards)
{
    char *file = (char *)(uintptr_t)o->set.keys;
    struct inputs inputs = {&file, 1};
    struct records keys = records_of_keys(&o->records);

    keys.skip = o->records.skip;
    return keyset_open(o, inputs, shards) &&
           flow_run(&(struct job){.command = o->command,
                                  .inputs = inputs,
                                  .records = &keys,
                                  .verbosity = {.quiet = true, .stats = STATS_NONE},
                                  .threads = o->threads,
                                  .judge = judge_filter(shards, weir_observe_many),
                                  .output = &(struct output){0},
                                  .mute = true},
                    NULL) == EXIT_FINE;
}

static bool open_set(const struct options *o, struct stored *stored)
{
    const char *path;

    if (o->set.keys)
        return build(o, &stored->shards);
    if (wanted_anything(&o->wanted) || o->shards)
        return fail("the filter file says what the filter is like; -a, -m, -e, -S, --seed and "
                    "--shards go with --keys") == 0;
    path = keyset_file(o);
    return path && file_load(stored, path);
}

static int run(const struct options *o, struct shards *shards)
{
    const char *url = o->set.strict;
    struct consult *store =
        url ? consult_open(url, &o->patience, o->records.nul, o->records.ignore_case) : NULL;
    struct job job = {
        .command = o->command,
        .inputs = options_inputs(o, o->set.keys ? 0 : 1),
        .records = &o->records,
        .verbosity = o->verbosity,
        .threads = o->threads,
        .judge = judge_filter(shards, judge_by_asking),
        .store = store,
        .output = &o->output,
        .passes = passing(&o->output, o->set.invert ? WEIR_NEW : WEIR_SEEN, o->patience.silence)};
    struct tally tally = {0};
    int status = url && !store ? EXIT_ERROR : flow_run(&job, &tally);

    if (store)
        consult_tell(store, tally.unanswered);
    consult_close(store);
    return status;
}

int cmd_filter(const struct options *o)
{
    static struct stored stored;
    int status = open_set(o, &stored) ? run(o, &stored.shards) : EXIT_ERROR;

    shards_close(&stored.shards);
    return status;
}
