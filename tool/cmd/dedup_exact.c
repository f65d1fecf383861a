/* dedup_exact.c - weir dedup --exact DIR and weir build --exact DIR: the keys are in an index on
 * disk. */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <weir/hash.h>

#include "cli/messages.h"
#include "cli/units.h"
#include "cmd/commands.h"
#include "cmd/run.h"
#include "pipe/write.h"
#include "verdict/by_index.h"

#define MEMORY "256M"
#define CHECKPOINT 30.0 /* seconds, as for state files */

static bool refuse(const char *option, const char *why)
{
    return reject("--exact cannot be combined with %s: %s", option, why);
}

/* Of -S, only hash= has a meaning. */
static bool read_set(const struct filter_request *f, uint32_t *hash)
{
    for (int i = 0; i < f->sets; i++) {
        if (strcmp(f->set[i], "hash=sip") == 0)
            *hash = WEIR_HASH_SIP;
        else if (strcmp(f->set[i], "hash=xxh3") != 0)
            return refuse("-S", "an index has no parameters but hash=sip or hash=xxh3");
    }
    return true;
}

static bool check(const struct options *o)
{
    const struct filter_request *f = &o->filter;

    if (f->algorithm)
        return refuse("-a", "an index is not a filter; remove -a");
    if (f->fpr)
        return refuse("-e", "it makes no errors; remove -e");
    if (f->importance)
        return refuse("-i", "it remembers all keys, independent of importance; remove -i");
    if (o->at.url)
        return refuse("--at", "the index is in a directory of this machine; choose one");
    if (o->state.path)
        return refuse("--state", "the directory has the state; remove --state");
    if (o->once_per)
        return refuse("--once-per",
                      "give --keep TIME instead, counted from the first record of a key");
    if (o->records.ttl)
        return refuse("--ttl", "give --keep TIME instead, the same for all keys");
    if (o->shards)
        return refuse("--shards", "an index has none; remove --shards");
    if (o->on_full == FULL_STOPS)
        return refuse("--on-full", "an index does not fill up; remove --on-full");
    if (o->records.time.field && o->exact.keep == 0)
        return reject(
            "--time: nothing here uses time; add --keep TIME, after which keys are forgotten");
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
    if (o->filter.seed ? !read_whole(o->filter.seed, &wanted.seed)
                       : getrandom(&wanted.seed, sizeof wanted.seed, 0) != sizeof wanted.seed)
        return reject("--seed %s: not a number from 0 to 18446744073709551615",
                      o->filter.seed ? o->filter.seed : "");
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
    struct run r = run_asked(o, 0);

    r.passes =
        write_passes(&r.output, o->output.emit == EMIT_DUPLICATES ? WEIR_SEEN : WEIR_NEW, false);
    r.save = x->dir;
    r.is_index = true;
    r.state = o->state;
    r.state.path = x->dir;
    r.keys = keys;
    r.resume = found && o->state.resume ? &state : NULL;
    r.remembers = found;
    r.clock = found ? state.clock : 0;
    r.verdict = verdict_by_index(x);
    run_tell_clock(&r, "--keep");
    return run(&r, NULL);
}

int dedup_exact(const struct options *given)
{
    struct options o = *given;
    struct indexing x = {.index = NULL};
    int status = EXIT_ERROR;

    if (!o.state.checkpoint)
        o.state.seconds = CHECKPOINT;
    if (check(&o) && open_index(&o, &x))
        status = run_exact(&o, &x);
    if (x.index && !exact_settle(x.index) && status != EXIT_ERROR) {
        reject("%s", exact_failure(x.index));
        status = EXIT_ERROR;
    }
    exact_close(x.index);
    return status;
}

int build_exact(const struct options *given)
{
    struct options o = *given;

    if ((o.output.path && !refuse("-o", "DIR is the output; remove -o")) ||
        (o.set.fixed && !refuse("--fixed", "an index is not a filter; remove --fixed")))
        return EXIT_ERROR;
    o.output.mute = true;
    return dedup_exact(&o);
}
