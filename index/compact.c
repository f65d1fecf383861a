/* compact.c - write full tables as runs, merge runs, and forget old ones (internal.h).
 *
 * Each key is written once to the log, once to a run of level 0, and once more per level: with
 * six runs per merge, 75 tables of keys are written four times (bench/exact). When a bucket is
 * complete, its runs are merged to one whatever their size: there are 33 such buckets, and each
 * lookup reads all. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "index/internal.h"

#define FANOUT 6      /* runs of one level that are merged; chosen: few levels, few runs of each */
#define RUNS_SPARE 56 /* that the merges of a moment may add, at most */
#define FIXED (4 << 20)   /* bytes of memory besides tables, cache, fences and filters */
#define GARBAGE_BLOCK 256 /* files */

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

bool index_discard(struct index *x, struct file_name file, uint64_t bytes)
{
    if (x->garbage_files % GARBAGE_BLOCK == 0) {
        size_t files = x->garbage_files + GARBAGE_BLOCK;
        struct file_name *more = realloc(x->garbage, files * sizeof *more);

        if (!more)
            return index_fail(x, "out of memory");
        x->garbage = more;
    }
    x->garbage[x->garbage_files++] = file;
    x->garbage_bytes += bytes;
    return true;
}

static bool retire(struct index *x, struct index_run *r, bool forgotten)
{
    bool ok = index_discard(x, disk_name("run", r->id), index_run_bytes(r));
    uint32_t i = 0;

    while (x->run[i] != r)
        i++;
    x->run[i] = x->run[--x->runs];
    if (forgotten)
        x->figures.dropped += r->keys;
    index_run_free(r);
    return ok;
}

static void clear_cache(struct index *x)
{
    memset(x->cache, 0, (x->cache_mask + 1) * sizeof *x->cache);
}

/* Runs that a merge works on stay until it is done; lookups skip them. */
static bool drop_expired(struct index *x)
{
    bool ok = true;

    for (uint32_t i = x->runs; ok && i-- > 0;)
        if (index_is_expired(x, x->run[i]->expires) && !x->run[i]->busy)
            ok = retire(x, x->run[i], true);
    clear_cache(x);
    return ok;
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

/* Of runs, logs, and the runs that tables become. */
static uint64_t live_bytes(const struct index *x)
{
    uint64_t keys = x->table[0].keys + x->table[1].keys;

    return bytes_of(x, 0, true) + keys * sizeof(struct digest) +
           ((uint64_t)x->log.pages + x->full.pages) * PAGE_BYTES;
}

static bool finish_merge(struct index *x);

static bool drop_bucket(struct index *x, uint64_t bucket)
{
    bool ok = true;

    for (uint32_t i = x->runs; ok && i-- > 0;)
        if (x->run[i]->bucket == bucket)
            ok = retire(x, x->run[i], true);
    x->figures.disk_drops++;
    clear_cache(x);
    return ok;
}

/* Leave enough of the limit for the largest merge, which is that of a bucket. */
static bool stay_within_disk(struct index *x)
{
    uint64_t part = x->options.disk / 32;

    while (x->options.disk && live_bytes(x) + 2 * part > x->options.disk) {
        uint64_t oldest = x->bucket;

        if (!finish_merge(x))
            return false;
        for (uint32_t i = 0; i < x->runs; i++)
            oldest = x->run[i]->bucket < oldest ? x->run[i]->bucket : oldest;
        if (oldest == x->bucket)
            break;
        if (!drop_bucket(x, oldest))
            return false;
    }
    return true;
}

/* ---- tables to runs ---- */

static struct memtable *other_table(struct index *x)
{
    return x->active == &x->table[0] ? &x->table[1] : &x->table[0];
}

static void begin_bucket(struct index *x, uint64_t bucket, uint64_t expires)
{
    x->bucket = bucket;
    x->expires = expires;
    x->active->bucket = bucket;
    x->active->expires = expires;
    x->unsettled = true;
}

static bool start_flush(struct index *x, const struct memtable *full)
{
    struct run_job *j = &x->writer;
    bool filtered = index_make_room(x, full->keys);

    *j = (struct run_job){.table = full, .out = index_run_new(x->next_id++, full->keys, filtered)};
    if (!j->out)
        return index_fail(x, "out of memory");
    j->out->bucket = full->bucket;
    j->out->expires = full->expires;
    x->frozen = full;
    return index_job_start(x, &j->job, index_write_run);
}

bool index_freeze(struct index *x)
{
    struct memtable *full = x->active;
    uint32_t most = INDEX_RUNS - (x->recovering ? 2 : RUNS_SPARE);

    if (full->keys == 0)
        return true;
    if (!index_finish_flush(x) || (x->runs >= most && !finish_merge(x)))
        return false;
    if (x->runs >= most)
        return index_fail(x, "too many runs; give --keep a longer time, or more memory");
    if (!start_flush(x, full))
        return false;
    x->active = other_table(x);
    begin_bucket(x, x->bucket, x->expires);
    if (x->options.disk &&
        bytes_of(x, x->bucket, false) + full->keys * sizeof(struct digest) >= x->options.disk / 32)
        begin_bucket(x, x->bucket + 1, x->expires);
    return (x->recovering || index_next_log(x)) && stay_within_disk(x);
}

bool index_enter_bucket(struct index *x, uint64_t bucket, uint64_t expires)
{
    if (bucket <= x->bucket && expires <= x->expires)
        return true;
    if (!index_freeze(x))
        return false;
    begin_bucket(x, bucket > x->bucket ? bucket : x->bucket, expires);
    x->now = expires - INDEX_BUCKETS * x->width;
    return drop_expired(x);
}

/* The result of a job: it is part of the index from the next commit on. */
static bool take_run(struct index *x, struct run_job *j)
{
    struct index_run *r = j->out;

    index_job_wait(&j->job);
    if (j->job.error)
        return index_fail_file(x, j->job.verb, j->job.file, j->job.error);
    j->out = NULL;
    if (!r->busy)
        x->run[x->runs++] = r;
    r->visible = r->pages;
    r->last = UINT64_MAX;
    r->busy = false;
    x->unsettled = true;
    x->figures.written += index_run_bytes(r);
    return !index_is_expired(x, r->expires) || retire(x, r, true);
}

bool index_finish_flush(struct index *x)
{
    if (!x->writer.job.running)
        return true;
    if (!take_run(x, &x->writer))
        return false;
    memtable_clear(other_table(x));
    x->frozen = NULL;
    if (x->full.fd < 0)
        return true;
    uint64_t bytes = (uint64_t)x->full.pages * PAGE_BYTES;

    x->figures.written += bytes;
    index_pages_close(&x->full);
    x->full.pages = 0;
    return index_discard(x, disk_name("log", x->full.id), bytes);
}

/* ---- merging ---- */

/* Lookups use the output as far as it is written, and the inputs after that. */
static void follow(struct index *x)
{
    struct run_job *j = &x->merger;
    uint32_t pages = atomic_load_explicit(&j->pages, memory_order_acquire);

    if (pages <= j->out->visible || j->out->fence[pages] == 0)
        return;
    j->out->visible = pages;
    j->out->last = j->out->fence[pages] - 1;
    for (uint32_t i = 0; i < j->inputs; i++) {
        j->input[i]->first = j->out->fence[pages];
        index_run_release(j->input[i]);
    }
}

static bool finish_merge(struct index *x)
{
    struct run_job *j = &x->merger;

    if (!j->job.running)
        return true;
    if (!take_run(x, j))
        return false;
    for (uint32_t i = 0; i < j->inputs; i++)
        if (!retire(x, j->input[i], false))
            return false;
    return true;
}

/* The runs of one bucket and one level; of any level if level is UINT32_MAX. */
static uint32_t collect(const struct index *x, uint64_t bucket, uint32_t level,
                        struct index_run *found[INDEX_INPUTS])
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < x->runs && n < INDEX_INPUTS; i++)
        if (x->run[i]->bucket == bucket && (level == UINT32_MAX || x->run[i]->level == level))
            found[n++] = x->run[i];
    return n;
}

/* The inputs of the next merge, or 0. */
static uint32_t choose(const struct index *x, struct index_run *found[INDEX_INPUTS])
{
    for (uint32_t i = 0; i < x->runs; i++) {
        const struct index_run *r = x->run[i];
        bool closed = r->bucket != x->bucket && !(x->frozen && x->frozen->bucket == r->bucket);
        uint32_t n = collect(x, r->bucket, closed ? UINT32_MAX : r->level, found);

        if (!index_is_expired(x, r->expires) && n >= (closed ? 2 : FANOUT))
            return n;
    }
    return 0;
}

static bool start_merge(struct index *x)
{
    struct run_job *j = &x->merger;
    uint64_t keys = 0;
    uint32_t level = 0;
    bool filtered = true;

    *j = (struct run_job){.inputs = 0};
    j->inputs = choose(x, j->input);
    x->unsettled = j->inputs > 0;
    if (j->inputs == 0)
        return true;
    for (uint32_t i = 0; i < j->inputs; i++) {
        struct index_run *r = j->input[i];

        keys += r->keys;
        level = r->level >= level ? r->level + 1 : level;
        filtered = filtered && r->filter;
    }
    if (!filtered) /* otherwise the output replaces its inputs */
        filtered = index_make_room(x, keys);
    j->out = index_run_new(x->next_id++, keys, filtered);
    if (!j->out)
        return index_fail(x, "out of memory");
    j->out->level = level;
    j->out->bucket = j->input[0]->bucket;
    j->out->expires = j->input[0]->expires;
    j->out->busy = true;
    j->out->last = 0;
    for (uint32_t i = 0; i < j->inputs; i++)
        j->input[i]->busy = true;
    x->run[x->runs++] = j->out;
    return index_job_start(x, &j->job, index_write_run);
}

bool index_take_over(struct index *x)
{
    if (x->writer.job.running && atomic_load(&x->writer.job.done) && !index_finish_flush(x))
        return false;
    if (x->merger.job.running) {
        if (!atomic_load(&x->merger.job.done)) {
            follow(x);
            return true;
        }
        if (!finish_merge(x))
            return false;
    }
    return !x->unsettled || x->runs == INDEX_RUNS || start_merge(x);
}

void index_cancel(struct run_job *j)
{
    atomic_store(&j->job.cancel, true);
    index_job_wait(&j->job);
    if (j->out)
        (void)unlinkat(j->job.dir, disk_name("run", j->out->id).text, 0);
}
