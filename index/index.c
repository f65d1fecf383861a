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
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "index/internal.h"

#define BLOCK 64 /* keys that are looked up in a run at once, to prefetch */
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

struct candidate {
    uint32_t key, page;
    struct index_run *run;
    struct index_range range; /* of the page, if not whole */
    bool whole;
};

bool index_start_lookups(struct index *x)
{
    x->candidate = malloc(INDEX_CHUNK * sizeof *x->candidate);
    return x->candidate;
}

static bool is_cached(const struct index *x, struct digest key)
{
    return key_equal(x->cache[key.lo & x->cache_mask], key);
}

enum found { FOUND, ABSENT, LATER, BROKEN };

/* Reads only what is in the page cache, unless wait. */
static enum found look_in_page(struct index *x, struct candidate c, struct digest key, bool wait)
{
    uint64_t at = (uint64_t)c.page * PAGE_BYTES + PAGE_HEAD + c.range.from * sizeof key;
    uint32_t n = c.range.to - c.range.from;
    int flags = wait ? 0 : RWF_NOWAIT;

    x->figures.reads++;
    if (!(c.whole ? index_run_read(c.run, c.page, &x->page, flags)
                  : disk_read(c.run->fd, x->page.key, n * sizeof key, at, flags)))
        return !wait && (errno == EAGAIN || errno == EOPNOTSUPP) ? LATER : BROKEN;
    if (c.whole)
        return index_page_has(&x->page, key) ? FOUND : ABSENT;
    index_keys_swap(x->page.key, n);
    for (uint32_t i = 0; i < n; i++)
        if (key_equal(x->page.key[i], key))
            return FOUND;
    return ABSENT;
}

/* The same, and in the preceding pages, as long as they may contain keys with the same hi. */
static enum found look_in_run(struct index *x, struct candidate c, struct digest key, bool wait)
{
    enum found is = look_in_page(x, c, key, wait);

    while (is == ABSENT && c.page > 0 && c.run->fence[c.page] == key.hi) {
        c.page--;
        c.whole = true;
        is = look_in_page(x, c, key, true);
    }
    return is;
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
            if (is_cached(x, key)) { /* the batch has it twice */
                verdicts[c.key] = WEIR_SEEN;
                continue;
            }
            switch (look_in_run(x, c, key, pass > 0)) {
            case FOUND:
                verdicts[c.key] = WEIR_SEEN;
                x->cache[key.lo & x->cache_mask] = key;
                break;
            case LATER:
                (void)posix_fadvise(c.run->fd, (off_t)c.page * PAGE_BYTES, PAGE_BYTES,
                                    POSIX_FADV_WILLNEED);
                x->candidate[cold++] = c;
                break;
            case BROKEN:
                return index_fail_file(x, "read", disk_name("run", c.run->id), errno);
            case ABSENT:
                break;
            }
        }
    }
    x->candidates = 0;
    return true;
}

/* A key with the same hi as the first one of the page may also be in the page before it. */
static void consider(struct index *x, struct index_run *r, uint32_t key, uint64_t hi, uint32_t page)
{
    struct candidate c = {.key = key, .run = r, .page = page, .whole = true};
    uint64_t first = r->fence[page];

    if (r->filter && r->filter[page].ready && first != hi) {
        c.range = index_filter_find(&r->filter[page], hi, first, index_run_next(r, page));
        c.whole = c.range.to - c.range.from == PAGE_KEYS;
        if (c.range.from == c.range.to)
            return;
    }
    x->candidate[x->candidates++] = c;
}

static void prefetch(const struct index_run *r, uint32_t page)
{
    if (!r->filter)
        return;
    for (uint32_t line = 0; line < 3; line++)
        __builtin_prefetch((const char *)&r->filter[page] + 64 * line);
}

/* Look up n keys, those with the indexes in x->wanted, in all runs. */
static bool look_in_runs(struct index *x, uint32_t n, uint8_t *verdicts)
{
    const struct digest *keys = x->key;
    const uint16_t *wanted = x->wanted;

    for (uint32_t i = 0; i < x->runs; i++) {
        struct index_run *r = x->run[i];

        for (uint32_t from = 0; from < n && !index_is_expired(x, r->expires); from += BLOCK) {
            uint32_t to = from + BLOCK < n ? from + BLOCK : n, page[BLOCK];

            if (x->candidates + BLOCK > INDEX_CHUNK && !resolve(x, verdicts))
                return false;
            for (uint32_t j = from; j < to; j++) {
                page[j - from] = UINT32_MAX;
                if (index_run_page(r, keys[wanted[j]].hi, &page[j - from]))
                    prefetch(r, page[j - from]);
            }
            for (uint32_t j = from; j < to; j++)
                if (page[j - from] != UINT32_MAX && verdicts[wanted[j]] != WEIR_SEEN)
                    consider(x, r, wanted[j], keys[wanted[j]].hi, page[j - from]);
        }
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
    struct index_pages *log = &x->log;

    if (!memtable_add(x->active, key)) {
        if (!index_freeze(x))
            return false;
        (void)memtable_add(x->active, key);
    }
    x->uncommitted++;
    index_pages_last(log)->key[log->keys++] = key;
    return log->keys < PAGE_KEYS || index_pages_seal(log) ||
           index_fail_file(x, "write", disk_name("log", log->id), errno);
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

/* The number of first keys that belong to the same bucket, at most INDEX_CHUNK. */
static uint32_t chunk(const struct index *x, const uint64_t *times, size_t n)
{
    uint32_t most = n < INDEX_CHUNK ? (uint32_t)n : INDEX_CHUNK, i = 1;
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

        if (r == x->merger.out)
            continue;
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
