/* run_job.c - threads, and what those do that write runs (internal.h). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>

#include "index/internal.h"

#define READ_PAGES 32 /* read per input at a time: 128 KiB */

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

/* ---- merging ---- */

struct cursor {
    const struct index_run *run;
    uint32_t number; /* the next page */
    uint32_t at;     /* key in the page */
    struct index_page page;
};

/* The next page of an input. Its filter is not built: this thread owns only the output. */
static bool fill(struct run_job *j, struct cursor *c)
{
    c->at = 0;
    if (c->number % READ_PAGES == 0)
        (void)posix_fadvise(c->run->fd, (off_t)c->number * PAGE_BYTES, 2 * READ_PAGES * PAGE_BYTES,
                            POSIX_FADV_WILLNEED);
    if (index_page_read(c->run->fd, c->run->id, c->number++, &c->page, 0))
        return true;
    j->job.verb = "read";
    j->job.file = disk_name("run", c->run->id);
    return false;
}

static struct digest first_key(const struct cursor *c)
{
    return c->page.key[c->at];
}

static bool merge(struct run_job *j, struct index_writer *w, struct cursor cursor[INDEX_INPUTS])
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

        if (!index_writer_add(w, first_key(c)))
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

static bool write_merged(struct run_job *j, struct index_writer *w)
{
    struct cursor *cursor = calloc(j->inputs, sizeof *cursor);
    bool ok = cursor && merge(j, w, cursor);

    free(cursor);
    return ok;
}

static bool write_table(const struct memtable *t, struct index_writer *w)
{
    for (size_t i = 0; i < t->slots; i++)
        if (!key_is_free(t->slot[i]) && !index_writer_add(w, t->slot[i]))
            return false;
    return true;
}

void *index_write_run(void *run_job)
{
    struct run_job *j = run_job;
    struct index_writer w = {.run = j->out, .done = &j->pages, .cancel = &j->job.cancel};

    j->job.verb = "write";
    j->job.file = disk_name("run", j->out->id);
    bool ok = index_writer_open(&w, j->job.dir);

    ok = ok && (j->table ? write_table(j->table, &w) : write_merged(j, &w));
    if (!index_writer_close(&w, ok))
        j->job.error = errno;
    atomic_store(&j->job.done, true);
    return NULL;
}
