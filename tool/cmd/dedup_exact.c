/* dedup_exact.c - weir dedup --exact DIR and weir build --exact DIR: the keys are in an index on
 * disk. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <weir/hash.h>

#include "cli/messages.h"
#include "cli/units.h"
#include "cmd/run.h"
#include "verdict/by_index.h"

#define MEMORY "256M"
#define CHECKPOINT 30.0 /* seconds, as for state files */

/* Of -S, only hash= has a meaning. */
static bool read_set(const struct filter_request *f, uint32_t *hash)
{
    for (int i = 0; i < f->sets; i++) {
        if (strcmp(f->set[i], "hash=sip") == 0)
            *hash = WEIR_HASH_SIP;
        else if (strcmp(f->set[i], "hash=xxh3") != 0)
            return reject("--exact cannot be combined with -S: an index has no parameters but "
                          "hash=sip or hash=xxh3");
    }
    return true;
}

/* Does an existing index have the requested settings? */
static bool agree(const struct options *o, const char *dir, const struct index_options *wanted,
                  struct index_figures is)
{
    if (wanted->keep && is.keep == 0)
        return reject("%s: keeps keys forever; remove --keep, or name a new directory", dir);
    if (wanted->keep && is.keep != wanted->keep)
        return reject("%s: keeps keys for %s; give the same --keep, or name a new directory", dir,
                      show_duration((double)is.keep / 1000).text);
    if (o->filter.seed && is.seed != wanted->seed)
        return reject("%s: created with another seed; remove --seed, or name a new directory", dir);
    if (o->filter.sets && is.hash != wanted->hash)
        return reject("%s: created with hash=%s; remove -S, or name a new directory", dir,
                      is.hash == WEIR_HASH_SIP ? "sip" : "xxh3");
    return true;
}

static bool open_index(const struct options *o, struct indexing *x)
{
    struct index_options wanted = {.keep = (uint64_t)(o->exact.keep * 1000), .disk = o->exact.disk};
    const char *memory = o->filter.memory ? o->filter.memory : MEMORY;
    char why[INDEX_MESSAGE];
    uint64_t bytes = 0;

    if (!read_size(memory, &bytes) || bytes < INDEX_MEMORY_MIN)
        return reject("-m %s is too little for --exact; give at least %s", memory,
                      show_bytes(INDEX_MEMORY_MIN).text);
    if (!read_set(&o->filter, &wanted.hash))
        return false;
    if (!request_seed(&o->filter, &wanted.seed))
        return false;
    wanted.memory = (size_t)bytes;
    x->dir = o->exact.dir;
    x->index = exact_open(x->dir, &wanted, why);
    return x->index ? agree(o, x->dir, &wanted, exact_figures(x->index)) : reject("%s", why);
}

/* Was the index made with the same keys? found: the state of its last commit, if there is one. */
static bool read_note(const struct options *o, const struct indexing *x, const char *keys,
                      struct state *state, bool *found)
{
    size_t size = 0;
    const char *note = exact_note(x->index, &size);

    *found = size > 0;
    if (!*found)
        return true;
    if (note[size - 1] != '\0' || !state_read(note, state))
        return reject("%s: not an index of weir dedup; name another directory", x->dir);
    return state_same_records(o->exact.dir, keys, state);
}

static int run_exact(struct options *o, struct indexing *x)
{
    static struct state state;
    uint64_t keep = exact_figures(x->index).keep;
    char keys[1024];
    bool found;

    records_describe(&o->records, keys, sizeof keys);
    if (!read_note(o, x, keys, &state, &found))
        return EXIT_ERROR;
    o->records.time.span = keep;
    if (o->records.time.field && !o->records.time.limited) { /* older ones might be forgotten */
        o->records.time.limited = true;
        o->records.time.lateness = (double)keep / 1000;
    }
    o->state.path = x->dir;
    struct run r = dedup_run(o, keys, found ? &state : NULL);

    r.is_index = true;
    r.verdict = verdict_by_index(x);
    run_tell_clock(&r, "--keep");
    return run(&r, NULL);
}

int dedup_exact(struct options *o)
{
    struct indexing x = {.index = NULL};
    int status = EXIT_ERROR;

    if (!o->state.checkpoint)
        o->state.seconds = CHECKPOINT;
    if (o->records.time.field && o->exact.keep == 0)
        return fail(
            "--time: nothing here uses time; add --keep TIME, after which keys are forgotten");
    if (open_index(o, &x))
        status = run_exact(o, &x);
    exact_close(x.index);
    return status;
}
