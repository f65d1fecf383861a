/* compact.c - write full tables as runs, and merge runs (inside.h).
 *
 * Each key is written once to the log, once to a run of level 0, and once more per level: with
 * six runs per merge, 75 tables of keys are written four times (bench/exact). When a bucket is
 * complete, its runs are merged to one whatever their size: there are 33 such buckets, and each
 * lookup reads all. */
#include <inttypes.h>
#include <string.h>

#include "index/inside.h"

const struct index_run *index_merge_output(const struct index *x)
{
    return x->merger.job.out;
}

static bool fail_job(struct index *x, const struct index_job *j)
{
    if (j->damaged)
        return index_fail(x, "run-%010" PRIu64 " is damaged; restore the directory from a copy",
                          j->damaged->id);
    return index_fail(x, "cannot write run-%010" PRIu64 ": %s", j->out->id, strerror(j->error));
}

static void complete(struct index *x, struct index_run *r)
{
    r->visible = r->pages;
    r->last = UINT64_MAX;
    r->busy = false;
    x->stale = x->unsettled = true;
    x->figures.written += index_run_bytes(r);
}

static uint32_t position_of(const struct index *x, const struct index_run *r)
{
    uint32_t i = 0;

    while (x->run[i] != r)
        i++;
    return i;
}

/* ---- tables to runs ---- */

bool index_start_flush(struct index *x, const struct index_table *full, bool filtered)
{
    struct index_job *j = &x->writer.job;

    *j = (struct index_job){.dir = x->dir, .table = full};
    j->out = index_run_new(x->next_id++, full->keys, filtered);
    if (!j->out)
        return index_fail(x, "out of memory");
    j->out->bucket = full->bucket;
    j->out->expires = full->expires;
    x->frozen = full;
    x->generation++;
    return index_worker_start(&x->writer) || index_fail(x, "cannot start a thread");
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
    struct index_job *j = &x->writer.job;
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
        index_retire(x, x->runs - 1, true);
    return true;
}

bool index_finish_flush(struct index *x)
{
    if (!x->writer.running)
        return true;
    index_worker_wait(&x->writer);
    return take_flush(x);
}

/* ---- merging ---- */

/* Lookups use the output as far as it is written, and the inputs after that. */
static void follow(struct index *x)
{
    struct index_job *j = &x->merger.job;
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
    struct index_job *j = &x->merger.job;
    struct index_run *r = j->out;

    if (j->error)
        return fail_job(x, j);
    j->out = NULL;
    complete(x, r);
    for (uint32_t i = 0; i < j->inputs; i++)
        index_retire(x, position_of(x, j->input[i]), false);
    if (index_is_expired(x, r->expires))
        index_retire(x, position_of(x, r), true);
    return true;
}

bool index_finish_merge(struct index *x)
{
    if (!x->merger.running)
        return true;
    index_worker_wait(&x->merger);
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

        if (!index_is_expired(x, r->expires) && n >= (closed ? 2 : INDEX_FANOUT))
            return n;
    }
    return 0;
}

static bool start_merge(struct index *x)
{
    struct index_job *j = &x->merger.job;
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
    return index_worker_start(&x->merger) || index_fail(x, "cannot start a thread");
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
