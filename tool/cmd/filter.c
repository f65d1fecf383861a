/* filter.c - weir filter: pass the records whose key is in a set. */
#include <string.h>

#include "cmd/commands.h"
#include "cmd/sets.h"
#include "cli/messages.h"
#include "state/files.h"

/* Build the filter from the keys of a file, one per line. */
static bool build(const struct options *o, struct shards *shards)
{
    struct options plain = *o;
    char *file = (char *)(uintptr_t)o->keys;

    if (!keyset_open(o, &file, 1, shards))
        return false;
    plain.format = FORMAT_LINES;
    plain.key = plain.importance = plain.output = NULL;
    plain.header = plain.count_only = plain.resume = false;
    plain.stats = STATS_NONE;
    plain.quiet = true;
    return flow_run(&(struct job){.options = &plain,
                                  .files = &file,
                                  .count = 1,
                                  .judge = judge_filter(shards, weir_observe_many),
                                  .mute = true},
                    NULL) == EXIT_FINE;
}

static bool open_set(const struct options *o, struct stored *stored)
{
    const char *path;

    if (o->keys)
        return build(o, &stored->shards);
    if (o->algorithm || o->memory || o->fpr || o->seed || o->sets || o->shards)
        return fail("the filter file says what the filter is like; -a, -m, -e, -S, --seed and "
                    "--shards go with --keys") == 0;
    path = keyset_file(o);
    return path && file_load(stored, path);
}

static int run(const struct options *o, struct shards *shards)
{
    struct consult *store = o->strict ? consult_open(o, o->strict) : NULL;
    int from = o->keys ? 0 : 1;
    struct job job = {.options = o,
                      .files = o->operand + from,
                      .count = o->operands - from,
                      .judge = judge_filter(shards, judge_by_asking),
                      .store = store,
                      .passes = o->invert ? WEIR_NEW : WEIR_SEEN};
    struct tally tally = {0};
    int status = o->strict && !store ? EXIT_ERROR : flow_run(&job, &tally);

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
