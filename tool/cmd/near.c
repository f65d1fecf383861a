/* near.c - weir dedup --near 0.8: drop texts that are similar to an earlier one. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/units.h"
#include "cmd/run.h"
#include "state/replace.h"
#include "verdict/by_near.h"

#define MEMORY "64M"
#define SHINGLE 5

/* The options of the command line, with the defaults. */
static bool read_options(const struct options *o, struct weir_near_options *n)
{
    const char *memory = o->filter.memory ? o->filter.memory : MEMORY;

    *n = (struct weir_near_options){.size = sizeof *n,
                                    .threshold = o->near.threshold,
                                    .shingle = o->near.shingle ? o->near.shingle : SHINGLE};
    if (!read_size(memory, &n->memory) || n->memory < WEIR_NEAR_MEMORY_MIN ||
        n->memory > WEIR_NEAR_MEMORY_MAX)
        return reject("-m %s: invalid size for --near; use a size from 64K to 128G", memory);
    if (!request_seed(&o->filter, &n->seed))
        return false;
    return true;
}

/* Does an existing state have the settings of the command line? */
static bool agree(const struct options *o, const struct weir_near_options *wanted,
                  const struct weir_near_options *is)
{
    const char *path = o->state.path;

    if (fabs(wanted->threshold - is->threshold) > 1e-9)
        return reject("%s was created with --near %.9g; give the same, or name another file", path,
                      is->threshold);
    if (o->near.shingle && wanted->shingle != is->shingle)
        return reject("%s was created with --shingle %u; give the same, or name another file", path,
                      is->shingle);
    if (o->filter.memory && wanted->memory != is->memory)
        return reject("%s was created with -m %llu; remove -m, or name another file", path,
                      (unsigned long long)is->memory);
    if (o->filter.seed && wanted->seed != is->seed)
        return reject("%s was created with another seed; remove --seed, or name another file",
                      path);
    return true;
}

static bool open_state(const struct options *o, const char *keys, struct near_run *x,
                       struct state *state, bool *found)
{
    const char *path = o->state.path;
    struct weir_near_options wanted, is = {.size = sizeof is};

    *found = path && access(path, F_OK) == 0;
    if (!read_options(o, &wanted))
        return false;
    if (!*found) {
        return weir_near_open(&x->near, &wanted, NULL) == WEIR_OK ||
               reject("no memory for -m %s; give less", show_bytes((double)wanted.memory).text);
    }
    if (!state_looks_right(path) || !(x->near = near_load_state(path, state)))
        return false;
    weir_near_configuration(x->near, &is);
    return agree(o, &wanted, &is) && state_same_records(path, keys, state);
}

static int run_near(const struct options *o, struct near_run *x)
{
    static struct state state;
    char keys[1024];
    bool found;

    records_describe(&o->records, keys, sizeof keys);
    if (!open_state(o, keys, x, &state, &found))
        return EXIT_ERROR;
    struct run r = dedup_run(o, keys, found ? &state : NULL);

    r.verdict = verdict_by_near(x);
    return run(&r, NULL);
}

int dedup_near(const struct options *o)
{
    struct near_run x = {.flood = {.quiet = o->verbosity.quiet, .action = o->near.on_flood}};
    int status = EXIT_ERROR;

    if (o->records.key && strchr(o->records.key, ','))
        return fail("--near compares one text; give one field with -k, for example -k /text");
    if (!o->state.path || lock_file(o->state.path))
        status = run_near(o, &x);
    weir_near_close(x.near);
    return status;
}
