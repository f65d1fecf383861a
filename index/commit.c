/* commit.c - opening, recovery, commits (inside.h).
 *
 * If only the log changed, a commit is one record at its end. Otherwise it is a new manifest: the
 * runs, the logs with their sizes, and the note. Files that the manifest does not name are then
 * deleted.
 *
 * Recovery reads the manifest, and the last log up to its last commit record. Keys observed after
 * it are discarded, because the caller's output for them is truncated. */
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

#include "index/disk.h"
#include "index/inside.h"

/* ---- the directory ---- */

static bool is_run_or_log(const char *name)
{
    return (strncmp(name, "run-", 4) == 0 || strncmp(name, "log-", 4) == 0) && strlen(name) >= 14 &&
           strspn(name + 4, "0123456789") == strlen(name + 4);
}

/* Is it in the manifest, or being written? */
static bool is_used(const struct index *x, const struct index_manifest *m, const char *name)
{
    uint64_t id = strtoull(name + 4, NULL, 10);
    bool used = false;

    if (*name == 'l') {
        for (uint32_t i = 0; i < m->head.logs; i++)
            used |= m->log[i].id == id;
        return used;
    }
    for (uint32_t i = 0; i < m->head.runs; i++)
        used |= m->run[i].id == id;
    return used || (x->writer.out && x->writer.out->id == id) ||
           (x->merger.out && x->merger.out->id == id);
}

/* Delete runs and logs that are not used. m is NULL if there is no manifest: it is written before
 * all other files, so with any of them this is no index, or a damaged one. */
static bool clean(struct index *x, const struct index_manifest *m)
{
    int fd = openat(x->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    bool ok = list || index_fail(x, "cannot read the directory: %s", strerror(errno));

    while (ok && (entry = readdir(list))) {
        const char *name = entry->d_name;
        bool is_data = is_run_or_log(name);

        if (m && is_data && !is_used(x, m, name) && unlinkat(x->dir, name, 0) != 0)
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

static bool allocate(struct index *x, uint64_t logged)
{
    size_t memory = x->options.memory, table = memory / 8, cache = 1024;

    if (x->options.read_only)
        for (table = 65536; table * 3 / 4 < logged;)
            table *= 2;
    while (cache * 2 * sizeof *x->cache <= memory / 32)
        cache *= 2;
    x->cache_mask = cache - 1;
    x->cache = calloc(cache, sizeof *x->cache);
    x->active = &x->table[0];
    if (!x->cache || !index_start_lookups(x) || !index_table_open(&x->table[0], table) ||
        !index_table_open(&x->table[1], x->options.read_only ? 65536 : table))
        return index_fail(x, "out of memory");
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
    for (uint32_t i = 0; i < m->head.runs; i++) {
        struct index_run *r = malloc(sizeof *r);
        const char *why;

        if (!r)
            return index_fail(x, "out of memory");
        *r = (struct index_run){.id = m->run[i].id,
                                .keys = m->run[i].keys,
                                .pages = (uint32_t)((m->run[i].keys - 1) / PAGE_KEYS + 1),
                                .level = (uint32_t)m->run[i].level,
                                .bucket = m->run[i].bucket,
                                .expires = m->run[i].expires,
                                .fence_sum = m->run[i].fence_sum};
        x->run[x->runs++] = r;
        why = index_run_open(r, x->dir, index_make_room(x, r->keys));
        if (why)
            return index_fail(x, "%s: %s", disk_name("run", r->id).text, why);
    }
    return true;
}

static bool set_note(struct index *x, const void *note, size_t size)
{
    uint8_t *copy = malloc(size + 1);

    if (!copy)
        return index_fail(x, "out of memory");
    memcpy(copy, note ? note : "", size);
    free(x->note);
    x->note = copy;
    x->note_size = size;
    return true;
}

/* The end of the last commit of a log, its note, and the expiry time of its keys. */
static bool find_commit(struct index *x, struct index_log_reader *in, uint64_t *size)
{
    uint64_t expires = 0;
    bool ok = true;

    while (ok && index_log_next(in)) {
        if (!in->commit)
            expires = in->expires;
        if (in->commit && in->at > *size) {
            *size = in->at;
            x->last_expires = expires;
            ok = set_note(x, in->body, in->n);
        }
    }
    in->at = 0;
    return ok;
}

static bool replay_keys(struct index *x, const struct index_log_reader *in)
{
    if (x->options.read_only && index_is_expired(x, in->expires))
        return true;
    if (!x->options.read_only && !index_enter_bucket(x, in->bucket, in->expires))
        return false;
    for (uint32_t i = 0; i < in->n; i++) {
        struct digest key = ((const struct digest *)in->body)[i];

        if (!(key.hi | key.lo) || index_table_has(x->active, key))
            return index_fail(x, "damaged: a log has a key twice");
        if (!index_table_add(x->active, key) &&
            (x->options.read_only || !index_freeze(x) || !index_table_add(x->active, key)))
            return index_fail(x, "out of memory");
    }
    return true;
}

static bool open_log(struct index *x, struct index_log_reader *in, uint64_t id)
{
    return index_log_open(in, x->dir, id, !x->options.read_only) ||
           index_fail(x, "cannot open %s: %s", disk_name("log", id).text, strerror(errno));
}

/* The keys of a log up to its size. */
static bool replay_log(struct index *x, struct index_log_reader *in, uint64_t id, uint64_t size)
{
    while (in->at < size && index_log_next(in))
        if (!in->commit && !replay_keys(x, in))
            return false;
    if (in->at != size)
        return index_fail(x, "%s is damaged; restore the directory from a copy",
                          disk_name("log", id).text);
    x->kept[x->logs].id = id;
    x->kept[x->logs].size = size;
    x->kept[x->logs++].generation = x->generation;
    return true;
}

/* Read all logs in order. The last one is truncated after its last commit. */
static bool replay(struct index *x, const struct index_manifest *m)
{
    for (uint32_t i = 0; i < m->head.logs; i++) {
        struct index_log_reader in = {.fd = -1};
        uint64_t id = m->log[i].id, size = m->log[i].size;
        bool ok = open_log(x, &in, id), last = i + 1 == m->head.logs;

        ok = ok && (!last || find_commit(x, &in, &size)) && replay_log(x, &in, id, size);
        if (ok && last && !x->options.read_only && !index_log_continue(&x->log, &in, id, size))
            ok =
                index_fail(x, "cannot continue %s: %s", disk_name("log", id).text, strerror(errno));
        index_log_end(&in);
        if (!ok)
            return false;
    }
    return true;
}

/* A reader keeps all keys of the logs in one table, without expired ones. */
static bool find_last_bucket(struct index *x, const struct index_manifest *m)
{
    struct index_log_reader in = {.fd = -1};
    uint64_t size = m->head.logs ? m->log[m->head.logs - 1].size : 0;
    bool ok = m->head.logs == 0 ||
              (open_log(x, &in, m->log[m->head.logs - 1].id) && find_commit(x, &in, &size));

    index_log_end(&in);
    if (x->last_expires < m->head.expires)
        x->last_expires = m->head.expires;
    x->now = x->last_expires - INDEX_BUCKETS * x->width;
    return ok;
}

static bool recover(struct index *x, const struct index_manifest *m)
{
    uint64_t logged = 0;
    struct stat st;

    for (uint32_t i = 0; i < m->head.logs; i++) {
        logged += fstatat(x->dir, disk_name("log", m->log[i].id).text, &st, 0) == 0
                      ? (uint64_t)st.st_size
                      : 0;
    }
    x->next_id = m->head.next_id;
    if (!allocate(x, logged) || (x->options.read_only && !find_last_bucket(x, m)))
        return false;
    x->replaying = true;
    if (!replay(x, m) || !open_runs(x, m) ||
        (!x->options.read_only && !index_enter_bucket(x, m->head.bucket, m->head.expires)))
        return false;
    x->replaying = false;
    return true;
}

/* ---- opening and closing ---- */

/* An index without a commit is new: its settings are those of the options. */
static bool read_index(struct index *x, struct index_manifest *m)
{
    struct index_options *o = &x->options;
    bool missing = false, committed;
    const char *why = index_manifest_read(m, x->dir, &missing);

    if (missing && !o->read_only) {
        m->head.next_id = 1;
        why = index_manifest_write(m, x->dir);
    }
    if (why)
        return missing && o->read_only
                   ? index_fail(x, "not an exact index: there is no file manifest")
                   : index_fail(x, "manifest: %s", why);
    committed = m->head.note_size > 0 || m->head.logs > 0;
    if (o->read_only && !committed)
        return index_fail(x, "not an exact index: nothing was committed");
    if (committed) {
        o->keep = m->head.keep;
        o->hash = (uint32_t)m->head.hash;
        o->seed = m->head.seed;
    }
    x->width = o->keep / 32;
    return set_note(x, m->note, m->head.note_size) && (o->read_only || clean(x, m)) &&
           recover(x, m) && (o->read_only || committed || index_next_log(x));
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
    if (x->logs == INDEX_LOGS)
        return index_fail(x, "too many logs; this is a defect");
    for (uint32_t i = 0; i < x->logs; i++)
        if (x->kept[i].id == x->log.id)
            x->kept[i].size = x->log.size;
    x->full = x->log;
    x->log = (struct index_log){.fd = -1};
    if (!index_log_create(&x->log, x->dir, x->next_id++))
        return index_fail(x, "cannot write %s: %s", disk_name("log", x->next_id - 1).text,
                          strerror(errno));
    x->kept[x->logs].id = x->log.id;
    x->kept[x->logs].size = 0;
    x->kept[x->logs++].generation = x->generation;
    x->stale = true;
    return true;
}

static bool sync_logs(struct index *x)
{
    return ((x->full.fd < 0 || index_log_sync(&x->full)) && index_log_sync(&x->log)) ||
           index_fail_log(x);
}

static void describe(const struct index *x, struct index_manifest *m)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < x->runs; i++) {
        const struct index_run *r = x->run[i];

        if (r == x->merger.out)
            continue;
        m->run[n].id = r->id;
        m->run[n].keys = r->keys;
        m->run[n].level = r->level;
        m->run[n].bucket = r->bucket;
        m->run[n].expires = r->expires;
        m->run[n++].fence_sum = r->fence_sum;
    }
    for (uint32_t i = 0; i < x->logs; i++) {
        m->log[i].id = x->kept[i].id;
        m->log[i].size = x->kept[i].id == x->log.id ? x->log.size : x->kept[i].size;
    }
    m->note = x->note;
    m->head.keep = x->options.keep;
    m->head.hash = x->options.hash;
    m->head.seed = x->options.seed;
    m->head.next_id = x->next_id;
    m->head.bucket = x->bucket;
    m->head.expires = x->expires;
    m->head.runs = n;
    m->head.logs = x->logs;
    m->head.note_size = x->note_size;
}

static bool replace_manifest(struct index *x)
{
    struct index_manifest *m = calloc(1, sizeof *m);
    const char *why;
    bool ok;

    if (!m)
        return index_fail(x, "out of memory");
    describe(x, m);
    why = index_manifest_write(m, x->dir);
    ok = why ? index_fail(x, "cannot write manifest: %s", why) : clean(x, m);
    free(m);
    x->stale = !ok;
    x->garbage_bytes = 0;
    return ok;
}

bool exact_commit(struct index *x, const void *note, size_t size)
{
    if (x->options.read_only)
        return index_fail(x, "opened for reading");
    if (*x->failure || !index_take_over(x) || !set_note(x, note, size))
        return false;
    x->in_log = !x->stale;
    if (x->stale
            ? !sync_logs(x) || !replace_manifest(x)
            : !index_log_commit(&x->log, note, size) &&
                  !index_fail(x, "cannot write log-%010" PRIu64 ": %s", x->log.id, strerror(errno)))
        return false;
    x->uncommitted = 0;
    return true;
}

/* A log that ends early is what a crash leaves. After a regular end, the manifest has the sizes of
 * the logs, so that damage is recognized. */
void exact_close(struct index *x)
{
    if (!x)
        return;
    if (x->in_log && !*x->failure)
        (void)replace_manifest(x);
    index_cancel(&x->writer);
    index_cancel(&x->merger);
    index_run_free(x->writer.out);
    for (uint32_t i = 0; i < x->runs; i++)
        index_run_free(x->run[i]);
    index_log_close(&x->log);
    index_log_close(&x->full);
    index_table_close(&x->table[0]);
    index_table_close(&x->table[1]);
    if (x->lock >= 0)
        close(x->lock);
    if (x->dir >= 0)
        close(x->dir);
    free(x->path);
    free(x->candidate);
    free(x->cache);
    free(x->note);
    free(x);
}

bool exact_wants_commit(const struct index *x)
{
    uint64_t garbage = x->options.disk ? x->options.disk / 16 : (uint64_t)256 << 20;

    return x->garbage_bytes > garbage || x->logs > 64 || x->uncommitted > x->active->limit;
}

const void *exact_note(const struct index *x, size_t *size)
{
    *size = x->note_size;
    return x->note;
}
