/* cmd_filter.c - weir filter: pass the records whose key is in a set. */
#include <string.h>

#include "commands.h"
#include "keyset.h"
#include "say.h"

/* Build the filter from the keys of a file, one per line. */
static bool build(const struct options *o, struct shards *shards)
{
    struct options plain = *o;
    char *file = (char *)(uintptr_t)o->keys;
    struct job job = {.options = &plain,
                      .files = &file,
                      .count = 1,
                      .shards = shards,
                      .judge = weir_observe_many,
                      .mute = true};

    plain.format = FORMAT_LINES;
    plain.key = plain.importance = plain.output = NULL;
    plain.header = plain.count_only = plain.resume = false;
    plain.stats = STATS_NONE;
    plain.quiet = true;
    return keyset_open(o, &file, 1, shards) && flow_run(&job, NULL) == EXIT_FINE;
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
    return path && store_load(stored, path);
}

static int run(const struct options *o, struct shards *shards)
{
    struct exact *exact = o->strict ? exact_open(o->strict, o) : NULL;
    int from = o->keys ? 0 : 1;
    struct job job = {.options = o,
                      .files = o->operand + from,
                      .count = o->operands - from,
                      .shards = shards,
                      .judge = judge_by_asking,
                      .exact = exact,
                      .passes = o->invert ? WEIR_NEW : WEIR_SEEN};
    int status = o->strict && !exact ? EXIT_ERROR : flow_run(&job, NULL);

    exact_close(exact);
    return status;
}

int cmd_filter(const struct options *o)
{
    static struct stored stored;
    int status = open_set(o, &stored) ? run(o, &stored.shards) : EXIT_ERROR;

    shards_close(&stored.shards);
    return status;
}
