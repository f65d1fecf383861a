/* commit.c - opening, recovery, commits (internal.h).
 *
 * A commit is a new manifest: it names the runs, the logs with their committed sizes, and the
 * caller's note. A thread of its own syncs the logs, replaces the manifest, and then deletes the
 * files that it does not name any more.
 *
 * Recovery reads the manifest, and the logs up to their committed sizes. Keys observed after that
 * are discarded, because the caller's output for them is truncated. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "index/internal.h"

#define LOG_SPARSE 4 /* times the pages of a full table: more are from commits of few keys */

/* ---- the directory ---- */

static bool is_run_or_log(const char *name)
{
    return (strncmp(name, "run-", 4) == 0 || strncmp(name, "log-", 4) == 0) && strlen(name) >= 14 &&
           strspn(name + 4, "0123456789") == strlen(name + 4);
}

static bool is_named(const struct index_manifest *m, const char *name)
{
    uint64_t id = strtoull(name + 4, NULL, 10);
    bool named = *name == 'l' && id != 0 && (m->log[0].id == id || m->log[1].id == id);

    for (uint32_t i = 0; *name == 'r' && i < m->runs; i++)
        named |= m->run[i].id == id;
    return named;
}

/* Delete runs and logs that are left over from a crash. m is NULL if there is no manifest: it is
 * written before all other files, so with any of them this is no index, or a damaged one. */
static bool clean(struct index *x, const struct index_manifest *m)
{
    int fd = openat(x->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    bool ok = list || index_fail(x, "cannot read the directory: %s", strerror(errno));

    while (ok && (entry = readdir(list))) {
        const char *name = entry->d_name;
        bool is_data = is_run_or_log(name);

        if (m && is_data && !is_named(m, name) && unlinkat(x->dir, name, 0) != 0)
            ok = index_fail(x, "cannot delete %s: %s", name, strerror(errno));
        if (!m && is_data)
            ok = index_fail(x, "damaged: the file manifest is missing; restore the directory from "
                               "a copy, or name a new one");
        else if (!m && *name != '.' && strcmp(name, "lock") != 0 &&
                 strcmp(name, "manifest.new") != 0)
            ok = index_fail(x, "not an exact index: it has a file %s; name a new directory", name);
    }
    if (list)
        closedir(list);
    return ok;
}

static bool open_directory(struct index *x)
{
    bool read_only = x->options.read_only;

    if (!read_only && mkdir(x->path, 0777) != 0 && errno != EEXIST)
        return index_fail(x, "cannot create the directory: %s", strerror(errno));
    x->dir = open(x->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (x->dir < 0)
        return index_fail(x, "%s", strerror(errno));
    if (read_only)
        return true;
    if (faccessat(x->dir, "manifest", F_OK, 0) != 0 && !clean(x, NULL))
        return false;
    x->lock = openat(x->dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (x->lock < 0)
        return index_fail(x, "cannot create the file lock: %s", strerror(errno));
    if (flock(x->lock, LOCK_EX | LOCK_NB) == 0)
        return true;
    return errno == EWOULDBLOCK
               ? index_fail(x, "in use by another process; one at a time can write")
               : index_fail(x, "cannot lock it: %s", strerror(errno));
}

/* ---- memory ---- */

/* A table that can hold the keys of a log. */
static bool open_reader_table(struct memtable *t, uint64_t pages)
{
    size_t bytes = 65536;

    while (bytes * 3 / 4 < pages * PAGE_BYTES)
        bytes *= 2;
    return memtable_open(t, bytes);
}

static bool allocate(struct index *x, const struct index_manifest *m)
{
    size_t memory = x->options.memory, table = memory / 8, cache = 1024;
    bool ok = true;

    while (cache * 2 * sizeof *x->cache <= memory / 32)
        cache *= 2;
    x->cache_mask = cache - 1;
    x->cache = calloc(cache, sizeof *x->cache);
    x->active = &x->table[1];
    for (uint32_t i = 0; ok && i < 2; i++)
        ok = x->options.read_only ? open_reader_table(&x->table[i], m->log[i].pages)
                                  : memtable_open(&x->table[i], table);
    if (!x->cache || !ok)
        return index_fail(x, "out of memory");
    x->cleaner.table = &x->table[0];
    if (!x->options.read_only) /* a pause here instead of at the first key */
        memset(x->active->slot, 0, x->active->slots * sizeof(struct digest));
    if (x->options.disk && x->options.disk < 16 * table)
        return index_fail(x,
                          "a limit of %" PRIu64
                          " bytes of disk is too small for %zu bytes of memory; "
                          "at least %zu, or less memory",
                          x->options.disk, memory, 16 * table);
    return true;
}

/* ---- recovery ---- */

static bool open_runs(struct index *x, const struct index_manifest *m)
{
    for (uint32_t i = 0; i < m->runs; i++) {
        uint64_t keys = m->run[i].keys;
        struct index_run *r = index_run_new(m->run[i].id, keys, index_make_room(x, keys));
        const char *why;

        if (!r)
            return index_fail(x, "out of memory");
        x->run[x->runs++] = r;
        r->level = (uint32_t)m->run[i].level;
        r->bucket = m->run[i].bucket;
        r->expires = m->run[i].expires;
        r->fence_sum = m->run[i].fence_sum;
        why = index_run_open(r, x->dir);
        if (why)
            return index_fail(x, "%s: %s", file_name("run", r->id).text, why);
    }
    return true;
}

static void *copy_of(const void *note, size_t size)
{
    void *copy = malloc(size + 1);

    if (copy && size > 0)
        memcpy(copy, note, size);
    return copy;
}

static bool set_note(struct index *x, const void *note, size_t size)
{
    uint8_t *copy = copy_of(note, size);

    if (!copy)
        return index_fail(x, "out of memory");
    free(x->note);
    x->note = copy;
    x->note_size = size;
    return true;
}

/* Add the keys of a page of a log. full: the table is full, so it is written as a run. */
static bool replay_page(struct index *x, const struct index_page *page, struct memtable *t,
                        bool *full)
{
    for (uint32_t i = 0; i < page->keys; i++) {
        struct digest key = page->key[i];

        if (key_is_free(key) || memtable_has(t, key))
            return index_fail(x, "damaged: a log has a key twice");
        if (memtable_add(t, key))
            continue;
        *full = true;
        if (x->options.read_only || !index_freeze(x) || !index_finish_flush(x))
            return index_fail(x, "out of memory");
        t = x->active;
        (void)memtable_add(t, key);
    }
    return true;
}

/* Add the keys of a log to a table, up to its committed size. */
static bool replay_log(struct index *x, struct memtable *t, struct file_name name, uint64_t id,
                       uint32_t pages, bool *full)
{
    int fd = openat(x->dir, name.text, O_RDONLY | O_CLOEXEC);
    struct index_page page;
    bool ok = fd >= 0 || index_fail(x, "cannot open %s: %s", name.text, strerror(errno));

    for (uint32_t i = 0; ok && i < pages; i++) {
        ok = (page_read(fd, id, i, &page, 0) || index_fail_file(x, "read", name, errno)) &&
             replay_page(x, &page, t, full) && (x->options.read_only || index_take_over(x));
        t = x->options.read_only ? t : x->active;
    }
    file_close(fd);
    return ok;
}

/* A writer's table is full if it was larger when the log was written: the keys are then in runs,
 * partly, and the log cannot be continued. The log of a frozen table is always written as runs. */
static bool recover_log(struct index *x, const struct index_manifest *m, uint32_t i)
{
    uint64_t id = m->log[i].id;
    uint32_t pages = (uint32_t)m->log[i].pages;
    struct file_name name = file_name("log", id);
    struct memtable *t = x->options.read_only ? &x->table[i] : x->active;
    bool full = i == 0;

    if (id == 0)
        return true;
    t->bucket = m->log[i].bucket;
    t->expires = m->log[i].expires;
    if (!x->options.read_only && !index_enter_bucket(x, t->bucket, t->expires))
        return false;
    if (!replay_log(x, t, name, id, pages, &full) || x->options.read_only)
        return !*x->failure;
    if (full)
        return index_freeze(x) && index_finish_flush(x) &&
               index_discard(x, name, pages * (uint64_t)PAGE_BYTES);
    return page_file_open(&x->log, x->dir, name, id, pages) ||
           index_fail_file(x, "continue", name, errno);
}

static bool recover(struct index *x, const struct index_manifest *m)
{
    x->next_id = m->next_id;
    x->recovering = true;
    if (x->options.read_only)
        x->now = m->log[1].expires - INDEX_BUCKETS * x->width;
    bool ok = allocate(x, m) && open_runs(x, m) && recover_log(x, m, 0) && recover_log(x, m, 1);

    x->recovering = false;
    return ok && (x->options.read_only || x->log.fd >= 0 || index_next_log(x));
}

/* ---- opening and closing ---- */

/* An index without a commit is new: its settings are those of the options. */
static bool read_index(struct index *x, struct index_manifest *m)
{
    struct index_options *o = &x->options;
    bool missing = false, committed;
    const char *why = index_manifest_read(m, x->dir, &missing);

    if (missing && !o->read_only)
        why = index_manifest_write(m, x->dir) ? NULL : strerror(errno);
    if (why)
        return missing && o->read_only
                   ? index_fail(x, "not an exact index: there is no file manifest")
                   : index_fail(x, "manifest: %s", why);
    committed = m->log[1].id != 0;
    if (o->read_only && !committed)
        return index_fail(x, "not an exact index: nothing was committed");
    if (!committed) {
        m->next_id = 1;
    } else {
        o->keep = m->keep;
        o->hash = (uint32_t)m->hash;
        o->seed = m->seed;
    }
    x->width = o->keep / 32;
    return set_note(x, m->note, m->note_size) && (o->read_only || clean(x, m)) && recover(x, m);
}

static bool open_index(struct index *x)
{
    struct index_manifest *m = calloc(1, sizeof *m);
    bool ok = m ? open_directory(x) && read_index(x, m) : index_fail(x, "out of memory");

    if (m)
        free(m->note);
    free(m);
    return ok;
}

static struct index *try_to_open(const char *dir, const struct index_options *options,
                                 char why[INDEX_MESSAGE], bool *again)
{
    struct index *x = calloc(1, sizeof *x);

    *again = false;
    if (!x) {
        snprintf(why, INDEX_MESSAGE, "out of memory");
        return NULL;
    }
    x->options = *options;
    x->dir = x->lock = x->log.fd = x->full.fd = -1;
    x->committer.log[0] = x->committer.log[1] = x->next.log[0] = x->next.log[1] = -1;
    x->path = strdup(dir);
    if (!x->path)
        index_fail(x, "out of memory");
    else if (options->keep && options->keep < INDEX_KEEP_MIN)
        index_fail(x, "keeps keys for at least a minute; for less, use a filter with span=");
    else if (open_index(x))
        return x;
    *again = x->next_id > 0; /* the manifest was read, but a file that it names was not */
    snprintf(why, INDEX_MESSAGE, "%s", x->failure);
    exact_close(x);
    return NULL;
}

struct index *exact_open(const char *dir, const struct index_options *options,
                         char why[INDEX_MESSAGE])
{
    bool again;
    struct index *x = try_to_open(dir, options, why, &again);

    /* A writer may have replaced the manifest, and deleted files, since it was read. */
    for (int tries = 0; !x && again && options->read_only && tries < 10; tries++) {
        usleep(10000);
        x = try_to_open(dir, options, why, &again);
    }
    return x;
}

/* ---- commits ---- */

bool index_next_log(struct index *x)
{
    struct file_name name = file_name("log", x->next_id);

    x->full = x->log;
    return page_file_open(&x->log, x->dir, name, x->next_id++, 0) ||
           index_fail_file(x, "write", name, errno);
}

static void describe(const struct index *x, struct index_manifest *m)
{
    m->keep = x->options.keep;
    m->hash = x->options.hash;
    m->seed = x->options.seed;
    m->next_id = x->next_id;
    for (uint32_t i = 0; i < x->runs; i++) {
        const struct index_run *r = x->run[i];

        m->run[m->runs].id = r->id;
        m->run[m->runs].keys = r->keys;
        m->run[m->runs].level = r->level;
        m->run[m->runs].bucket = r->bucket;
        m->run[m->runs].expires = r->expires;
        m->run[m->runs++].fence_sum = r->fence_sum;
    }
    for (uint32_t i = 0; i < 2; i++) {
        const struct page_file *log = i ? &x->log : &x->full;
        const struct memtable *t = i ? x->active : x->frozen;

        if (log->fd < 0)
            continue;
        m->log[i].id = log->id;
        m->log[i].pages = log->pages;
        m->log[i].bucket = t->bucket;
        m->log[i].expires = t->expires;
    }
}

/* The job syncs them. */
static bool write_log(struct index *x, struct page_file *log)
{
    return log->fd < 0 || page_file_flush(log) ||
           index_fail_file(x, "write", file_name("log", log->id), errno);
}

static bool sync_log(struct commit_job *j, uint32_t i)
{
    j->job.file = file_name("log", j->manifest.log[i].id);
    return j->log[i] < 0 || fdatasync(j->log[i]) == 0;
}

static bool replace_manifest(struct commit_job *j)
{
    snprintf(j->job.file.text, sizeof j->job.file.text, "manifest");
    return index_manifest_write(&j->manifest, j->job.dir);
}

static bool delete_garbage(struct commit_job *j)
{
    j->job.verb = "delete";
    for (uint32_t i = 0; i < j->garbage_files; i++) {
        j->job.file = j->garbage[i];
        if (unlinkat(j->job.dir, j->garbage[i].text, 0) != 0 && errno != ENOENT)
            return false;
    }
    return true;
}

static void *write_commit(void *commit_job)
{
    struct commit_job *j = commit_job;

    j->job.verb = "write";
    if (!sync_log(j, 0) || !sync_log(j, 1) || !replace_manifest(j) || !delete_garbage(j))
        j->job.error = errno;
    atomic_store(&j->job.done, true);
    return NULL;
}

static void free_commit(struct commit_job *j)
{
    file_close(j->log[0]);
    file_close(j->log[1]);
    free(j->garbage);
    free(j->manifest.note);
    *j = (struct commit_job){.log = {-1, -1}};
}

/* Wait for the commit under way, and start the next one. */
static bool advance_commit(struct index *x)
{
    struct commit_job *j = &x->committer;

    index_job_wait(&j->job);
    if (j->job.error)
        (void)index_fail_file(x, j->job.verb, j->job.file, j->job.error);
    free_commit(j);
    if (*x->failure || !x->next.queued)
        return !*x->failure;
    *j = x->next;
    x->next = (struct commit_job){.log = {-1, -1}};
    return index_job_start(x, &j->job, write_commit);
}

bool index_continue_commit(struct index *x)
{
    return !x->committer.job.running || !atomic_load(&x->committer.job.done) || advance_commit(x);
}

bool exact_settle(struct index *x)
{
    while (x->committer.job.running)
        if (!advance_commit(x))
            return false;
    return !*x->failure;
}

static int another(int fd)
{
    return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* What the next commit needs. */
static bool prepare(struct index *x)
{
    struct commit_job *j = &x->next;

    *j = (struct commit_job){.queued = true,
                             .log = {another(x->full.fd), another(x->log.fd)},
                             .garbage = x->garbage,
                             .garbage_files = x->garbage_files};
    x->garbage = NULL;
    x->garbage_files = 0;
    x->garbage_bytes = x->uncommitted = 0;
    describe(x, &j->manifest);
    j->manifest.note = copy_of(x->note, x->note_size);
    j->manifest.note_size = x->note_size;
    if (!j->manifest.note)
        return index_fail(x, "out of memory");
    return (j->log[1] >= 0 && (j->log[0] >= 0 || x->full.fd < 0)) ||
           index_fail_file(x, "write", file_name("log", x->log.id), errno);
}

bool exact_commit(struct index *x, const void *note, size_t size)
{
    if (x->options.read_only)
        return index_fail(x, "opened for reading");
    if (*x->failure || !index_take_over(x) || (x->next.queued && !advance_commit(x)) ||
        !set_note(x, note, size) || !write_log(x, &x->full) || !write_log(x, &x->log))
        return false;
    if (x->log.pages > LOG_SPARSE * (x->active->limit / PAGE_KEYS + 1) && !index_freeze(x))
        return false;
    atomic_store(&x->wants_commit, false);
    return prepare(x) && (x->committer.job.running || advance_commit(x));
}

void index_check_commit(struct index *x)
{
    uint64_t garbage = x->options.disk ? x->options.disk / 16 : (uint64_t)256 << 20;

    atomic_store(&x->wants_commit, !x->next.queued && (x->garbage_bytes > garbage ||
                                                       x->uncommitted > x->active->limit));
}

bool exact_wants_commit(const struct index *x)
{
    return atomic_load(&x->wants_commit);
}

const void *exact_note(const struct index *x, size_t *size)
{
    *size = x->note_size;
    return x->note;
}

void exact_close(struct index *x)
{
    if (!x)
        return;
    (void)exact_settle(x);
    free_commit(&x->committer);
    free_commit(&x->next);
    index_cancel(&x->writer);
    index_cancel(&x->merger);
    index_job_wait(&x->cleaner.job);
    for (uint32_t i = 0; i < x->runs; i++)
        index_run_free(x->run[i]);
    page_file_close(&x->log);
    page_file_close(&x->full);
    memtable_close(&x->table[0]);
    memtable_close(&x->table[1]);
    file_close(x->lock);
    file_close(x->dir);
    free(x->path);
    free(x->cache);
    free(x->garbage);
    free(x->note);
    free(x);
}
