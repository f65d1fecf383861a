/* compact.c - write full tables as runs, and merge runs (inside.h).
 *
 * Each key is written once to the log, once to a run of level 0, and once more per level: with
 * six runs per merge, 75 tables of keys are written four times (bench/exact). When a bucket is
 * complete, its runs are merged to one whatever their size: there are 33 such buckets, and each
 * lookup reads all. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "index/disk.h"
#include "index/inside.h"

#define FANOUT 6      /* runs of one level that are merged; chosen: few levels, few runs of each */
#define READ_PAGES 32 /* read per input at a time: 128 KiB */

/* ---- jobs, in threads of their own ---- */

struct cursor {
    struct index_run *run;
    uint32_t number; /* the next page */
    uint32_t at;     /* key in the page */
    struct index_page page;
};

/* The next page of an input. Its filter is not built: this thread owns only the output. */
static bool fill(struct index_job *j, struct cursor *c)
{
    struct index_run unfiltered = {.id = c->run->id, .fd = c->run->fd};

    c->at = 0;
    if (c->number % READ_PAGES == 0)
        (void)posix_fadvise(c->run->fd, (off_t)c->number * PAGE_BYTES, 2 * READ_PAGES * PAGE_BYTES,
                            POSIX_FADV_WILLNEED);
    if (index_run_read(&unfiltered, c->number++, &c->page, 0))
        return true;
    j->damaged = c->run;
    return false;
}

static bool merge_into(struct index_job *j, struct index_writer *w, struct cursor *cursor)
{
    uint32_t live = j->inputs;
    struct cursor *heap[INDEX_INPUTS];

    for (uint32_t i = 0; i < live; i++) {
        heap[i] = &cursor[i];
        cursor[i].run = j->input[i];
        if (!fill(j, &cursor[i]))
            return false;
    }
    while (live > 0) {
        uint32_t least = 0;

        for (uint32_t i = 1; i < live; i++)
            if (key_less(heap[i]->page.key[heap[i]->at], heap[least]->page.key[heap[least]->at]))
                least = i;
        struct cursor *c = heap[least];

        if (!index_writer_add(w, c->page.key[c->at]))
            return false;
        if (++c->at < c->page.keys)
            continue;
        if (c->number == c->run->pages)
            heap[least] = heap[--live];
        else if (!fill(j, c))
            return false;
    }
    return true;
}

static bool add_key(void *writer, struct digest key)
{
    return index_writer_add(writer, key);
}

static bool write_run(struct index_job *j)
{
    struct index_writer *w = index_writer_open(j->out, j->dir, &j->pages, &j->cancel);
    struct cursor *cursor = j->table ? NULL : calloc(j->inputs, sizeof *cursor);
    bool ok = w && (j->table ? index_table_list(j->table, add_key, w)
                             : cursor && merge_into(j, w, cursor));
    int error = errno;

    free(cursor);
    errno = error;
    return w && index_writer_close(w, ok);
}

static void *run_job(void *context)
{
    struct index_job *j = context;

    if (!write_run(j))
        j->error = errno;
    atomic_store(&j->done, true);
    return NULL;
}

static bool start(struct index *x, struct index_job *j)
{
    sigset_t all, old;

    sigfillset(&all); /* signals are handled by the program's threads */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    j->running = pthread_create(&j->thread, NULL, run_job, j) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return j->running || index_fail(x, "cannot start a thread");
}

static void wait_for(struct index_job *j)
{
    if (j->running)
        pthread_join(j->thread, NULL);
    j->running = false;
}

void index_cancel(struct index_job *j)
{
    atomic_store(&j->cancel, true);
    wait_for(j);
}

static bool fail_job(struct index *x, const struct index_job *j)
{
    return j->damaged ? index_fail_read(x, j->damaged, j->error)
                      : index_fail(x, "cannot write %s: %s", disk_name("run", j->out->id).text,
                                   strerror(j->error));
}

static void complete(struct index *x, struct index_run *r)
{
    r->visible = r->pages;
    r->last = UINT64_MAX;
    r->busy = false;
    x->stale = x->unsettled = true;
    x->figures.written += index_run_bytes(r);
}

static void retire(struct index *x, const struct index_run *r, bool forgotten)
{
    uint32_t i = 0;

    while (x->run[i] != r)
        i++;
    index_retire(x, i, forgotten);
}

/* ---- tables to runs ---- */

bool index_start_flush(struct index *x, const struct index_table *full, bool filtered)
{
    struct index_job *j = &x->writer;

    *j = (struct index_job){.dir = x->dir, .table = full};
    j->out = index_run_new(x->next_id++, full->keys, filtered);
    if (!j->out)
        return index_fail(x, "out of memory");
    j->out->bucket = full->bucket;
    j->out->expires = full->expires;
    x->frozen = full;
    x->generation++;
    return start(x, j);
}

/* The logs of the table are obsolete. */
static void drop_logs(struct index *x)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < x->logs; i++) {
        if (x->kept[i].generation >= x->generation) {
            x->kept[n++] = x->kept[i];
            continue;
        }
        x->garbage_bytes += x->kept[i].size;
        x->figures.written += x->kept[i].size;
    }
    x->logs = n;
    index_log_close(&x->full);
}

static bool take_flush(struct index *x)
{
    struct index_job *j = &x->writer;
    struct index_run *r = j->out;

    if (j->error)
        return fail_job(x, j);
    j->out = NULL;
    complete(x, r);
    x->run[x->runs++] = r;
    index_table_clear(x->active == &x->table[0] ? &x->table[1] : &x->table[0]);
    x->frozen = NULL;
    drop_logs(x);
    if (index_is_expired(x, r->expires))
        retire(x, r, true);
    return true;
}

bool index_finish_flush(struct index *x)
{
    if (!x->writer.running)
        return true;
    wait_for(&x->writer);
    return take_flush(x);
}

/* ---- merging ---- */

/* Lookups use the output as far as it is written, and the inputs after that. */
static void follow(struct index *x)
{
    struct index_job *j = &x->merger;
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

static bool take_merge(struct index *x)
{
    struct index_job *j = &x->merger;
    struct index_run *r = j->out;

    if (j->error)
        return fail_job(x, j);
    j->out = NULL;
    complete(x, r);
    for (uint32_t i = 0; i < j->inputs; i++)
        retire(x, j->input[i], false);
    if (index_is_expired(x, r->expires))
        retire(x, r, true);
    return true;
}

bool index_finish_merge(struct index *x)
{
    if (!x->merger.running)
        return true;
    wait_for(&x->merger);
    return take_merge(x);
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
    struct index_job *j = &x->merger;
    uint64_t keys = 0;
    uint32_t level = 0;
    bool filtered = true;

    *j = (struct index_job){.dir = x->dir};
    j->inputs = choose(x, j->input);
    for (uint32_t i = 0; i < j->inputs; i++) {
        struct index_run *r = j->input[i];

        keys += r->keys;
        level = r->level >= level ? r->level + 1 : level;
        filtered = filtered && r->filter;
    }
    x->unsettled = j->inputs > 0;
    if (j->inputs == 0)
        return true;
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
    return start(x, j);
}

bool index_take_over(struct index *x)
{
    if (x->writer.running && atomic_load(&x->writer.done) && !index_finish_flush(x))
        return false;
    if (x->merger.running) {
        if (!atomic_load(&x->merger.done)) {
            follow(x);
            return true;
        }
        if (!index_finish_merge(x))
            return false;
    }
    return !x->unsettled || start_merge(x);
}
