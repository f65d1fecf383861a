/* compact.c - write full tables as runs, merge runs, and forget old ones (internal.h).
 *
 * Each key is written once to the log, once to a run of level 0, and once more per level: with
 * six runs per merge, 75 tables of keys are written four times (bench/exact). When a bucket is
 * complete, its runs are merged to one whatever their size: there are 33 such buckets, and each
 * lookup reads all. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "index/internal.h"

#define FANOUT 6      /* runs of one level that are merged; chosen: few levels, few runs of each */
#define RUNS_SPARE 56 /* that the merges of a moment may add, at most */
#define FIXED (4 << 20)   /* bytes of memory besides tables, cache, fences and filters */
#define GARBAGE_BLOCK 256 /* files */
#define READ_PAGES 32     /* of an input of a merge at a time: 128 KiB */

/* ---- threads ---- */

bool index_job_start(struct index *x, struct index_job *job, void *(*work)(void *job))
{
    sigset_t all, old;

    job->dir = x->dir;
    sigfillset(&all); /* signals are handled by the program's threads */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    job->running = pthread_create(&job->thread, NULL, work, job) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return job->running || index_fail(x, "cannot start a thread");
}

void index_job_wait(struct index_job *job)
{
    if (job->running)
        pthread_join(job->thread, NULL);
    job->running = false;
}

/* ---- memory ---- */

/* Bytes that filters and fences may still take. */
static int64_t filters_room(const struct index *x)
{
    size_t used = FIXED + 2 * x->table[0].slots * sizeof(struct digest) +
                  (x->cache_mask + 1) * sizeof *x->cache;

    for (uint32_t i = 0; i < x->runs; i++)
        used += index_run_memory(x->run[i]->keys, x->run[i]->filter);
    return (int64_t)x->options.memory - (int64_t)used;
}

bool index_make_room(struct index *x, uint64_t keys)
{
    while ((int64_t)index_run_memory(keys, true) > filters_room(x)) {
        struct index_run *largest = NULL;

        for (uint32_t i = 0; i < x->runs; i++)
            if (x->run[i]->filter && (!largest || x->run[i]->keys > largest->keys))
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
    bool ok = index_discard(x, file_name("run", r->id), index_run_bytes(r));
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
        if (x->run[i]->bucket == bucket || (and_later && x->run[i]->bucket > bucket))
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

/* ---- what the threads do that write runs ---- */

struct cursor {
    const struct index_run *run;
    uint32_t number; /* the next page */
    uint32_t at;     /* key in the page */
    struct index_page page;
};

/* The next page of an input. Its filter is not built: this thread owns only the output. */
static bool fill(struct run_job *j, struct cursor *c)
{
    errno = ECANCELED;
    c->at = 0;
    if (atomic_load_explicit(&j->job.cancel, memory_order_relaxed))
        return false;
    if (c->number % READ_PAGES == 0)
        (void)posix_fadvise(c->run->fd, (off_t)c->number * PAGE_BYTES, 2 * READ_PAGES * PAGE_BYTES,
                            POSIX_FADV_WILLNEED);
    if (page_read(c->run->fd, c->run->id, c->number++, &c->page, 0))
        return true;
    j->job.verb = "read";
    j->job.file = file_name("run", c->run->id);
    return false;
}

static struct digest first_key(const struct cursor *c)
{
    return c->page.key[c->at];
}

static bool merge(struct run_job *j, struct page_file *f, struct cursor cursor[INDEX_INPUTS])
{
    struct cursor *live[INDEX_INPUTS];
    uint32_t n = j->inputs;

    for (uint32_t i = 0; i < n; i++) {
        live[i] = &cursor[i];
        cursor[i].run = j->input[i];
        if (!fill(j, &cursor[i]))
            return false;
    }
    while (n > 0) {
        uint32_t least = 0;

        for (uint32_t i = 1; i < n; i++)
            if (key_less(first_key(live[i]), first_key(live[least])))
                least = i;
        struct cursor *c = live[least];

        if (!index_run_add(j->out, f, first_key(c)))
            return false;
        if (++c->at < c->page.keys)
            continue;
        if (c->number == c->run->pages)
            live[least] = live[--n];
        else if (!fill(j, c))
            return false;
    }
    return true;
}

static bool write_merged(struct run_job *j, struct page_file *f)
{
    struct cursor *cursor = calloc(j->inputs, sizeof *cursor);
    bool ok = cursor && merge(j, f, cursor);

    free(cursor);
    return ok;
}

static bool write_table(struct run_job *j, struct page_file *f)
{
    const struct memtable *t = j->table;

    for (size_t i = 0; i < t->slots; i++)
        if (!key_is_free(t->slot[i]) && !index_run_add(j->out, f, t->slot[i]))
            return false;
    return true;
}

static void *write_run(void *run_job)
{
    struct run_job *j = run_job;
    struct page_file f;

    j->job.verb = "write";
    j->job.file = file_name("run", j->out->id);
    if (!index_run_create(j->out, &f, j->job.dir) ||
        !(j->table ? write_table(j, &f) : write_merged(j, &f)) || !index_run_end(j->out, &f))
        j->job.error = errno;
    f.fd = -1; /* the run keeps it open */
    page_file_close(&f);
    atomic_store(&j->job.done, true);
    return NULL;
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
    return index_job_start(x, &j->job, write_run);
}

static void *clear_table(void *clear_job)
{
    struct clear_job *j = clear_job;

    memset(j->table->slot, 0, j->table->slots * sizeof *j->table->slot);
    return NULL;
}

/* Clear the other table in time, but not for a few keys. */
static bool start_clearing(struct index *x)
{
    struct clear_job *j = &x->cleaner;

    return !j->table || j->job.running || x->active->keys < x->active->limit / 2 ||
           index_job_start(x, &j->job, clear_table);
}

static void finish_clearing(struct index *x)
{
    struct clear_job *j = &x->cleaner;

    if (j->table && !j->job.running)
        (void)clear_table(j);
    index_job_wait(&j->job);
    j->table = NULL;
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
    finish_clearing(x);
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

/* The run of a job is part of the index, and of the next commit. */
static bool take_run(struct index *x, struct run_job *j)
{
    struct index_run *r = j->out;

    index_job_wait(&j->job);
    if (j->job.error)
        return index_fail_file(x, j->job.verb, j->job.file, j->job.error);
    j->out = NULL;
    x->run[x->runs++] = r;
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
    x->frozen = NULL;
    x->cleaner.table = other_table(x);
    x->cleaner.table->keys = 0;
    if (x->full.fd < 0)
        return true;
    uint64_t bytes = (uint64_t)x->full.pages * PAGE_BYTES;

    x->figures.written += bytes;
    page_file_close(&x->full);
    return index_discard(x, file_name("log", x->full.id), bytes);
}

/* ---- merging ---- */

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
    for (uint32_t i = 0; i < j->inputs; i++)
        j->input[i]->busy = true;
    return index_job_start(x, &j->job, write_run);
}

bool index_take_over(struct index *x)
{
    if (!index_continue_commit(x) || !start_clearing(x))
        return false;
    if (x->writer.job.running && atomic_load(&x->writer.job.done) && !index_finish_flush(x))
        return false;
    if (x->merger.job.running && atomic_load(&x->merger.job.done) && !finish_merge(x))
        return false;
    return x->merger.job.running || !x->unsettled || start_merge(x);
}

void index_cancel(struct run_job *j)
{
    atomic_store(&j->job.cancel, true);
    index_job_wait(&j->job);
    if (j->out)
        (void)unlinkat(j->job.dir, file_name("run", j->out->id).text, 0);
    index_run_free(j->out);
}
