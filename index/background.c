/* background.c - see background.h. */
#include "index/background.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>

#define READ_PAGES 32 /* read per input at a time: 128 KiB */

struct listing {
    struct index_job *job;
    struct index_writer *writer;
};

static bool cancelled(struct index_job *j)
{
    if (atomic_load_explicit(&j->cancel, memory_order_relaxed))
        j->error = ECANCELED;
    return j->error;
}

static bool add(void *context, struct digest key)
{
    struct listing *l = context;

    return !cancelled(l->job) && index_writer_add(l->writer, key);
}

/* ---- merging ---- */

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

    if (cancelled(j))
        return false;
    c->at = 0;
    if (c->number % READ_PAGES == 0)
        (void)posix_fadvise(c->run->fd, (off_t)c->number * PAGE_BYTES, 2 * READ_PAGES * PAGE_BYTES,
                            POSIX_FADV_WILLNEED);
    if (index_run_read(&unfiltered, c->number++, &c->page, 0))
        return true;
    j->error = errno ? errno : EBADMSG;
    j->damaged = c->run;
    return false;
}

static struct digest key_of(const struct cursor *c)
{
    return c->page.key[c->at];
}

/* Advance to the next key. False at the end of the run, or if it cannot be read: then j->error. */
static bool advance(struct index_job *j, struct cursor *c)
{
    return ++c->at < c->page.keys || (c->number < c->run->pages && fill(j, c));
}

static bool merge_into(struct index_job *j, struct index_writer *w, struct cursor *cursor)
{
    uint32_t live = 0;
    struct cursor *heap[INDEX_INPUTS];

    for (uint32_t i = 0; i < j->inputs; i++) {
        cursor[i].run = j->input[i];
        if (!fill(j, &cursor[i]))
            return false;
        heap[live++] = &cursor[i];
    }
    while (live > 0) {
        uint32_t least = 0;

        for (uint32_t i = 1; i < live; i++)
            if (key_less(key_of(heap[i]), key_of(heap[least])))
                least = i;
        if (!index_writer_add(w, key_of(heap[least])))
            return false;
        if (!advance(j, heap[least])) {
            if (j->error)
                return false;
            heap[least] = heap[--live];
        }
    }
    return true;
}

static void work(struct index_job *j)
{
    struct index_writer *w;
    struct cursor *cursor = NULL;
    bool ok;

    j->error = 0;
    w = index_writer_open(j->out, j->dir, j->table ? NULL : &j->pages);
    if (w && !j->table)
        cursor = calloc(j->inputs, sizeof *cursor);
    if (!w) {
        j->error = errno;
        return;
    }
    ok = j->table ? index_table_list(j->table, add, &(struct listing){j, w})
                  : cursor && merge_into(j, w, cursor);
    free(cursor);
    errno = 0;
    if (!index_writer_close(w, ok) && !j->error)
        j->error = errno ? errno : ENOMEM;
}

/* ---- the thread ---- */

static void *run_job(void *context)
{
    struct index_worker *w = context;

    work(&w->job);
    atomic_store(&w->done, true);
    return NULL;
}

bool index_worker_start(struct index_worker *w)
{
    sigset_t all, old;

    atomic_store(&w->done, false);
    sigfillset(&all); /* signals are handled by the program's threads */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    w->running = pthread_create(&w->thread, NULL, run_job, w) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return w->running;
}

void index_worker_wait(struct index_worker *w)
{
    if (w->running)
        pthread_join(w->thread, NULL);
    w->running = false;
}

void index_worker_cancel(struct index_worker *w)
{
    atomic_store(&w->job.cancel, true);
    index_worker_wait(w);
}
