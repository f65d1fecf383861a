/* index.c - see index.h: lookup, insertion, expiry, commit.
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
#include <sys/mman.h>
#include <sys/uio.h>

#include "index/disk.h"
#include "index/inside.h"

#define FIXED (4 << 20) /* bytes besides tables, cache, fences and filters */
#define BLOCK 64        /* keys that are looked up in a run at once, to prefetch */

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

bool index_fail_read(struct index *x, const struct index_run *r, int error)
{
    struct file_name name = disk_name("run", r->id);

    return error == EBADMSG
               ? index_fail(x, "%s is damaged; restore the directory from a copy", name.text)
               : index_fail(x, "cannot read %s: %s", name.text, strerror(error));
}

bool index_fail_log(struct index *x)
{
    return index_fail(x, "cannot write %s: %s", disk_name("log", x->log.id).text, strerror(errno));
}

const char *exact_failure(const struct index *x)
{
    return x->failure;
}

/* ---- memory ---- */

/* Bytes that filters and fences may still take. The output of a merge replaces its inputs. */
static int64_t filters_room(const struct index *x)
{
    size_t used = FIXED + 2 * x->table[0].slots * sizeof(struct digest) +
                  (x->cache_mask + 1) * sizeof *x->cache;

    for (uint32_t i = 0; i < x->runs; i++)
        used += x->run[i] == x->merger.out ? 0 : index_run_memory(x->run[i]);
    return (int64_t)x->options.memory - (int64_t)used;
}

/* Return whether the filters of a run of this many keys fit into memory, after dropping those of
 * larger runs. */
bool index_make_room(struct index *x, uint64_t keys)
{
    size_t page = sizeof(uint64_t) + sizeof(struct index_page_filter);

    while ((int64_t)((keys / PAGE_KEYS + 1) * page) > filters_room(x)) {
        struct index_run *largest = NULL;

        for (uint32_t i = 0; i < x->runs; i++)
            if (x->run[i]->filter && x->run[i] != x->merger.out &&
                (!largest || x->run[i]->mapped > largest->mapped))
                largest = x->run[i];
        if (!largest || largest->keys <= keys)
            return false;
        index_run_drop_filters(largest);
    }
    return true;
}

/* ---- forgetting ---- */

bool index_is_expired(const struct index *x, uint64_t expires)
{
    return expires && expires <= x->now;
}

/* Its file is deleted when no manifest names it. */
void index_retire(struct index *x, uint32_t at, bool forgotten)
{
    struct index_run *r = x->run[at];

    if (forgotten)
        x->figures.dropped += r->keys;
    x->garbage_bytes += index_run_bytes(r);
    x->stale = true;
    x->run[at] = x->run[--x->runs];
    index_run_free(r);
}

/* Runs that a merge works on stay until it is done; lookups skip them. */
static void drop_expired(struct index *x)
{
    for (uint32_t i = x->runs; i-- > 0;)
        if (index_is_expired(x, x->run[i]->expires) && !x->run[i]->busy)
            index_retire(x, i, true);
    memset(x->cache, 0, (x->cache_mask + 1) * sizeof *x->cache);
}

/* Of the runs of a bucket, or of all buckets from it on. */
static uint64_t bytes_of(const struct index *x, uint64_t bucket, bool and_later)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < x->runs; i++)
        if ((x->run[i]->bucket == bucket || (and_later && x->run[i]->bucket > bucket)) &&
            x->run[i] != x->merger.out)
            sum += index_run_bytes(x->run[i]);
    return sum;
}

static uint64_t live_bytes(const struct index *x)
{
    uint64_t keys = x->table[0].keys + x->table[1].keys; /* in a log, and soon in a run */

    return bytes_of(x, 0, true) + keys * 2 * sizeof(struct digest);
}

/* Leave enough of the limit for the largest merge, which is that of a bucket. */
static bool stay_within_disk(struct index *x)
{
    uint64_t part = x->options.disk / 32;

    while (x->options.disk && live_bytes(x) + 2 * part > x->options.disk) {
        uint64_t oldest = x->bucket;

        if (!index_finish_merge(x))
            return false;
        for (uint32_t i = 0; i < x->runs; i++)
            oldest = x->run[i]->bucket < oldest ? x->run[i]->bucket : oldest;
        if (oldest == x->bucket)
            break;
        for (uint32_t i = x->runs; i-- > 0;)
            if (x->run[i]->bucket == oldest)
                index_retire(x, i, true);
        x->figures.disk_drops++;
        memset(x->cache, 0, (x->cache_mask + 1) * sizeof *x->cache);
    }
    return true;
}

/* ---- tables ---- */

static void begin_bucket(struct index *x, uint64_t bucket, uint64_t expires)
{
    x->bucket = bucket;
    x->expires = expires;
    x->active->bucket = bucket;
    x->active->expires = expires;
    x->unsettled = true;
}

/* Freeze the active table, start writing it, and continue with the other one. */
bool index_freeze(struct index *x)
{
    struct index_table *full = x->active;

    if (full->keys == 0)
        return true;
    if (!index_finish_flush(x) || (x->runs + 56 >= INDEX_RUNS && !index_finish_merge(x)))
        return false;
    if (x->runs + 56 >= INDEX_RUNS)
        return index_fail(x, "too many runs; give --keep a longer time, or more memory");
    bool filtered = index_make_room(x, full->keys);

    if (!index_start_flush(x, full, filtered))
        return false;
    x->active = full == &x->table[0] ? &x->table[1] : &x->table[0];
    begin_bucket(x, x->bucket, x->expires);
    if (x->options.disk &&
        bytes_of(x, x->bucket, false) + full->keys * sizeof(struct digest) >= x->options.disk / 32)
        begin_bucket(x, x->bucket + 1, x->expires);
    return (x->replaying || index_next_log(x)) && stay_within_disk(x);
}

/* Keys observed from here on belong to a later bucket, which expires later, unless it is the
 * current one. */
bool index_enter_bucket(struct index *x, uint64_t bucket, uint64_t expires)
{
    if (bucket <= x->bucket && expires <= x->expires)
        return true;
    if (!index_freeze(x))
        return false;
    begin_bucket(x, bucket > x->bucket ? bucket : x->bucket, expires);
    x->now = expires - INDEX_BUCKETS * x->width;
    drop_expired(x);
    return true;
}

static bool advance(struct index *x, uint64_t time)
{
    uint64_t expires = (time / x->width + INDEX_BUCKETS) * x->width;

    return expires <= x->expires || index_enter_bucket(x, x->bucket + 1, expires);
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
static bool resolve(struct index *x, const struct digest *keys, uint8_t *verdicts)
{
    uint32_t cold = 0;

    for (uint32_t pass = 0; pass < 2; pass++) {
        uint32_t n = pass ? cold : x->candidates;

        for (uint32_t i = 0; i < n; i++) {
            struct candidate c = x->candidate[i];
            struct digest key = keys[c.key];

            if (verdicts[c.key] == WEIR_SEEN)
                continue;
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
                return index_fail_read(x, c.run, errno);
            case ABSENT:
                break;
            }
        }
    }
    x->candidates = 0;
    return true;
}

static void consider(struct index *x, struct index_run *r, uint32_t key, uint64_t hi, uint32_t page)
{
    struct candidate c = {.key = key, .run = r, .page = page, .whole = true};
    uint64_t first = r->fence[page];

    if (r->filter && r->filter[page].ready) {
        c.range = index_filter_find(&r->filter[page], hi, first, index_run_next(r, page));
        c.whole = c.range.to - c.range.from == PAGE_KEYS;
        if (c.range.from == c.range.to) {
            if (first != hi || page == 0)
                return;
            c.page--;
            c.whole = true;
        }
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

/* Look up the keys with the indexes in `wanted` in all runs. */
static bool look_in_runs(struct index *x, const struct digest *keys, const uint16_t *wanted,
                         uint32_t n, uint8_t *verdicts)
{
    for (uint32_t i = 0; i < x->runs; i++) {
        struct index_run *r = x->run[i];

        for (uint32_t from = 0; from < n && !index_is_expired(x, r->expires); from += BLOCK) {
            uint32_t to = from + BLOCK < n ? from + BLOCK : n, page[BLOCK];

            if (x->candidates + BLOCK > INDEX_CHUNK && !resolve(x, keys, verdicts))
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
    return resolve(x, keys, verdicts);
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
            index_table_prefetch(&x->table[i], key);
    __builtin_prefetch(&x->cache[key.lo & x->cache_mask]);
}

static bool is_in_memory(const struct index *x, struct digest key)
{
    for (uint32_t i = 0; i < 2; i++)
        if (x->table[i].keys && !index_is_expired(x, x->table[i].expires) &&
            index_table_has(&x->table[i], key))
            return true;
    return key_equal(x->cache[key.lo & x->cache_mask], key);
}

/* Verdicts of up to INDEX_CHUNK keys, without adding them. */
static bool look_up(struct index *x, const struct digest *keys, uint32_t n, uint8_t *verdicts)
{
    uint32_t wanted = 0;

    for (uint32_t i = 0; i < n && i < 16; i++)
        prefetch_key(x, keys[i]);
    for (uint32_t i = 0; i < n; i++) {
        if (i + 16 < n)
            prefetch_key(x, keys[i + 16]);
        verdicts[i] = is_in_memory(x, keys[i]) ? WEIR_SEEN : WEIR_NEW;
        if (verdicts[i] == WEIR_NEW)
            x->wanted[wanted++] = (uint16_t)i;
    }
    return look_in_runs(x, keys, x->wanted, wanted, verdicts);
}

/* ---- observing ---- */

/* Keep the first occurrence of each key: the others are repeats. */
static uint32_t first_occurrences(struct index *x, const struct weir_key *keys, uint32_t n,
                                  struct digest *unique, uint16_t *origin, uint8_t *verdicts)
{
    uint32_t count = 0, mask = 4 * INDEX_CHUNK - 1;

    memset(x->seat, 0xff, sizeof x->seat);
    for (uint32_t i = 0; i < n; i++) {
        struct digest key = digest(keys[i]);
        uint32_t at = (uint32_t)(key.lo >> 20) & mask;

        while (x->seat[at] != UINT16_MAX && !key_equal(unique[x->seat[at]], key))
            at = (at + 1) & mask;
        verdicts[i] = WEIR_SEEN;
        if (x->seat[at] != UINT16_MAX)
            continue;
        x->seat[at] = (uint16_t)count;
        unique[count] = key;
        origin[count++] = (uint16_t)i;
    }
    return count;
}

static bool log_keys(struct index *x, uint32_t *n)
{
    uint32_t keys = *n;

    *n = 0;
    return keys == 0 ||
           index_log_keys(&x->log, x->added, keys, x->active->bucket, x->active->expires) ||
           index_fail_log(x);
}

static bool add(struct index *x, struct digest key, uint32_t *added)
{
    if (!index_table_add(x->active, key)) {
        if (!log_keys(x, added) || !index_freeze(x))
            return false;
        (void)index_table_add(x->active, key);
    }
    x->added[(*added)++] = key;
    return true;
}

static bool observe_chunk(struct index *x, const struct weir_key *keys, uint32_t n,
                          uint8_t *verdicts)
{
    uint32_t added = 0, unique = first_occurrences(x, keys, n, x->unique, x->origin, verdicts);

    if (!index_take_over(x) || !look_up(x, x->unique, unique, x->verdict))
        return false;
    for (uint32_t i = 0; i < unique; i++) {
        if (x->verdict[i] != WEIR_NEW)
            continue;
        verdicts[x->origin[i]] = WEIR_NEW;
        if (!add(x, x->unique[i], &added))
            return false;
    }
    x->uncommitted += added;
    return log_keys(x, &added);
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
    x->in_log = false;
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

        for (uint32_t j = 0; j < part; j++)
            x->unique[j] = digest(keys[i + j]);
        if (*x->failure || (!x->options.read_only && !index_take_over(x)) ||
            !look_up(x, x->unique, part, verdicts + i))
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
    for (uint32_t i = 0; i < x->logs; i++)
        f.bytes += x->kept[i].id == x->log.id ? x->log.size : x->kept[i].size;
    f.written += x->log.size;
    f.keep = x->options.keep;
    f.disk = x->options.disk;
    f.hash = x->options.hash;
    f.seed = x->options.seed;
    return f;
}
