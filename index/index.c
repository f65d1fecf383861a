/* index.c - see index.h: lookup and insertion.
 *
 * New keys are inserted into a hash table (the active one) and a log. A full table is frozen; one
 * thread writes it as a run, while the other table becomes active. Another thread merges six runs
 * of one level to one of the next. A lookup checks both tables, a cache of repeats that were found
 * on disk, and the filters of all runs. It reads only pages that these cannot exclude.
 *
 * Only the calling thread changes the list of runs: between two chunks of keys, it takes over the
 * runs that the threads have written. */
#include "index/index.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index/internal.h"

#define AHEAD 16 /* keys between a prefetch and its use */

/* ---- errors ---- */

bool index_fail(struct index *x, const char *format, ...)
{
    va_list list;
    size_t n;

    if (*x->failure)
        return false;
    n = (size_t)snprintf(x->failure, sizeof x->failure, "%.300s: ", x->path ? x->path : "");
    va_start(list, format);
    vsnprintf(x->failure + n, n < sizeof x->failure ? sizeof x->failure - n : 0, format, list);
    va_end(list);
    return false;
}

bool index_fail_file(struct index *x, const char *verb, struct file_name file, int error)
{
    return error == EBADMSG
               ? index_fail(x, "%s is damaged; restore the directory from a copy", file.text)
               : index_fail(x, "cannot %s %s: %s", verb, file.text, strerror(error));
}

const char *exact_failure(const struct index *x)
{
    return x->failure;
}

/* ---- looking up ---- */

static bool is_cached(const struct index *x, struct digest key)
{
    return key_equal(x->cache[key.lo & x->cache_mask], key);
}

/* Read the pages that the filters could not exclude: first those in the page cache, while the
 * kernel fetches the rest. */
static bool resolve(struct index *x, uint8_t *verdicts)
{
    uint32_t cold = 0;

    for (uint32_t pass = 0; pass < 2; pass++) {
        uint32_t n = pass ? cold : x->candidates;

        for (uint32_t i = 0; i < n; i++) {
            struct candidate c = x->candidate[i];
            struct digest key = x->key[c.key];

            if (verdicts[c.key] == WEIR_SEEN)
                continue;
            x->figures.reads++;
            switch (is_cached(x, key) ? FOUND : index_run_look(c, key, pass > 0)) {
            case FOUND:
                verdicts[c.key] = WEIR_SEEN;
                x->cache[key.lo & x->cache_mask] = key;
                break;
            case LATER:
                x->candidate[cold++] = c;
                break;
            case BROKEN:
                return index_fail_file(x, "read", file_name("run", c.run->id), errno);
            case ABSENT:
                break;
            }
        }
    }
    x->candidates = 0;
    return true;
}

/* Look up n keys, those with the indexes in x->wanted, in all runs. */
static bool look_in_runs(struct index *x, uint32_t n, uint8_t *verdicts)
{
    for (uint32_t i = 0; i < x->runs; i++) {
        if (index_is_expired(x, x->run[i]->expires))
            continue;
        if (x->candidates + n > INDEX_CHUNK && !resolve(x, verdicts))
            return false;
        x->candidates +=
            index_run_locate(x->run[i], x->key, x->wanted, n, x->candidate + x->candidates);
    }
    return resolve(x, verdicts);
}

/* A table cannot hold the digest {0, 0}. */
static struct digest digest(struct weir_key key)
{
    return (struct digest){.hi = key.hi | !(key.hi | key.lo), .lo = key.lo};
}

static void prefetch_key(const struct index *x, struct digest key)
{
    for (uint32_t i = 0; i < 2; i++)
        if (x->table[i].keys)
            memtable_prefetch(&x->table[i], key);
    __builtin_prefetch(&x->cache[key.lo & x->cache_mask]);
}

static bool is_in_table(const struct index *x, struct digest key)
{
    for (uint32_t i = 0; i < 2; i++)
        if (x->table[i].keys && !index_is_expired(x, x->table[i].expires) &&
            memtable_has(&x->table[i], key))
            return true;
    return false;
}

/* Verdicts of up to INDEX_CHUNK keys, without adding them: a key is new as often as it occurs. */
static bool look_up(struct index *x, const struct weir_key *keys, uint32_t n, uint8_t *verdicts)
{
    uint32_t wanted = 0;

    for (uint32_t i = 0; i < n; i++)
        x->key[i] = digest(keys[i]);
    for (uint32_t i = 0; i < n && i < AHEAD; i++)
        prefetch_key(x, x->key[i]);
    for (uint32_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            prefetch_key(x, x->key[i + AHEAD]);
        verdicts[i] = is_in_table(x, x->key[i]) || is_cached(x, x->key[i]) ? WEIR_SEEN : WEIR_NEW;
        if (verdicts[i] == WEIR_NEW)
            x->wanted[wanted++] = (uint16_t)i;
    }
    return look_in_runs(x, wanted, verdicts);
}

/* ---- observing ---- */

static bool add(struct index *x, struct digest key)
{
    if (!memtable_add(x->active, key)) {
        if (!index_freeze(x))
            return false;
        (void)memtable_add(x->active, key);
    }
    x->uncommitted++;
    return page_file_add(&x->log, key) ||
           index_fail_file(x, "write", file_name("log", x->log.id), errno);
}

/* A key that is new and occurs again in the chunk is in a table when it is to be added again. */
static bool observe_chunk(struct index *x, const struct weir_key *keys, uint32_t n,
                          uint8_t *verdicts)
{
    if (!index_take_over(x) || !look_up(x, keys, n, verdicts))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (verdicts[i] != WEIR_NEW)
            continue;
        if (is_in_table(x, x->key[i]))
            verdicts[i] = WEIR_SEEN;
        else if (!add(x, x->key[i]))
            return false;
    }
    return true;
}

static bool advance(struct index *x, uint64_t time)
{
    uint64_t expires = (time / x->width + INDEX_BUCKETS) * x->width;

    return expires <= x->expires || index_enter_bucket(x, x->bucket + 1, expires);
}

/* The number of first keys that belong to the same bucket, at most INDEX_CHUNK. They fit into an
 * empty table, so a chunk freezes one table at most: its keys are in a table until it is done. */
static uint32_t chunk(const struct index *x, const uint64_t *times, size_t n)
{
    size_t limit = x->active->limit < INDEX_CHUNK ? x->active->limit : INDEX_CHUNK;
    uint32_t most = (uint32_t)(n < limit ? n : limit), i = 1;
    uint64_t end = x->expires - (INDEX_BUCKETS - 1) * x->width;

    if (!x->width || !times)
        return most;
    while (i < most && times[i] < end)
        i++;
    return i;
}

bool exact_observe(struct index *x, const struct weir_key *keys, const uint64_t *times,
                   uint64_t now, size_t n, uint8_t *verdicts)
{
    if (x->options.read_only)
        return index_fail(x, "opened for reading");
    for (size_t i = 0; i < n;) {
        if (*x->failure)
            return false;
        if (x->width && !advance(x, times ? times[i] : now))
            return false;
        uint32_t part = chunk(x, times ? times + i : NULL, n - i);

        if (!observe_chunk(x, keys + i, part, verdicts + i))
            return false;
        i += part;
    }
    index_check_commit(x);
    return true;
}

bool exact_ask(struct index *x, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    for (size_t i = 0; i < n; i += INDEX_CHUNK) {
        uint32_t part = n - i < INDEX_CHUNK ? (uint32_t)(n - i) : INDEX_CHUNK;

        if (*x->failure || (!x->options.read_only && !index_take_over(x)) ||
            !look_up(x, keys + i, part, verdicts + i))
            return false;
    }
    return true;
}

struct index_figures exact_figures(const struct index *x)
{
    struct index_figures f = x->figures;

    f.keys = x->table[0].keys + x->table[1].keys;
    for (uint32_t i = 0; i < x->runs; i++) {
        const struct index_run *r = x->run[i];

        f.keys += r->keys;
        f.bytes += index_run_bytes(r);
        f.unfiltered += r->filter ? 0 : r->keys;
        f.runs++;
    }
    f.bytes += ((uint64_t)x->log.pages + x->full.pages) * PAGE_BYTES;
    f.written += ((uint64_t)x->log.pages + x->full.pages) * PAGE_BYTES;
    f.keep = x->options.keep;
    f.disk = x->options.disk;
    f.hash = x->options.hash;
    f.seed = x->options.seed;
    return f;
}
