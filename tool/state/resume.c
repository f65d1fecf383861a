/* resume.c - find the input file of an earlier run: see state.h.
 *
 * A file is the one that was being read if it is at least as long as the part that was read, and
 * the hashes of the start and of the end of that part match (trace in pipe/position.h). For
 * compressed files, the decompressed bytes are compared: a log that was compressed during rotation
 * is still the same log. The inode alone is not sufficient, because the next file may reuse it. It
 * decides between files with equal bytes, and it is used if nothing had been read. */
#include "state/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/inputs.h"
#include "cli/signals.h"
#include "unpack/unpack.h"

/* LIKE: equal bytes, other inode. ROTATED: also named like a rotated log. UNREAD: see errno. */
enum likeness { UNREAD = -1, OTHER, LIKE, ROTATED, SAME };

/* A candidate. */
struct looked_at {
    char path[PATH_MAX];
    struct stat st;
    enum likeness is;
    int error;   /* why it is UNREAD */
    bool packed; /* it is compressed */
};

struct search {
    const struct state *state;
    struct trace_hash hash;
    struct resume_rules rules;
    char folder[PATH_MAX], name[PATH_MAX];
    struct looked_at named; /* the file that has the name now */
    struct looked_at best, second;
    struct looked_at unread; /* a candidate that could not be read; or an empty path */
};

/* Compare the hash of `size` bytes at an offset. */
static enum likeness compare_bytes(int fd, struct trace_hash hash, uint64_t at, uint32_t size,
                                   const char *wanted)
{
    char bytes[TRACE_BYTES], text[HASH_TEXT];
    ssize_t n = size <= sizeof bytes ? read_at(fd, bytes, size, at) : 0;

    if (n < 0)
        return UNREAD;
    if (n != (ssize_t)size)
        return OTHER;
    state_hash(hash, bytes, size, text);
    return size == 0 || strcmp(text, wanted) == 0 ? LIKE : OTHER;
}

/* Without decompression. */
static enum likeness compare_plain(int fd, const struct stat *st, const struct search *s)
{
    const struct input_mark *m = &s->state->mark;
    uint64_t offset = s->state->position.offset;

    if ((uint64_t)st->st_size < offset)
        return OTHER;
    enum likeness is = compare_bytes(fd, s->hash, 0, m->head_size, m->head);
    if (is != LIKE)
        return is;
    return compare_bytes(fd, s->hash, offset - m->tail_size, m->tail_size, m->tail);
}

static bool gives(struct trace_hash hash, const char *bytes, uint32_t size, const char *wanted)
{
    char text[HASH_TEXT];

    state_hash(hash, bytes, size, text);
    return size == 0 || strcmp(text, wanted) == 0;
}

/* Compare decompressed bytes up to the offset. Damaged data belongs to another file. A failed or
 * interrupted read is UNREAD. */
static enum likeness compare_unpacked(int fd, const struct search *s)
{
    static char block[UNPACK_BLOCK];
    const struct input_mark *m = &s->state->mark;
    uint64_t left = s->state->position.offset;
    struct trace t = {.begins = true};
    struct unpacked_file f;
    ssize_t n = 1;

    if (!unpacked_open(&f, fd, false))
        return UNREAD;
    while (left > 0 && n > 0) {
        n = unpacked_read(&f, block, left < sizeof block ? (size_t)left : sizeof block);
        if (n > 0)
            trace_add(&t, block, (size_t)n);
        left -= n > 0 ? (size_t)n : 0;
        if (t.head_size >= m->head_size && !gives(s->hash, t.head, m->head_size, m->head))
            n = 0; /* it differs */
    }
    int error = signals_caught() ? EINTR : n < 0 ? unpack_error(f.unpack) : 0;
    unpacked_close(&f);
    errno = error;
    if (error)
        return UNREAD;
    if (left > 0 || n <= 0 || t.head_size < m->head_size || t.tail_size < m->tail_size)
        return OTHER;
    return gives(s->hash, t.tail + t.tail_size - m->tail_size, m->tail_size, m->tail) ? LIKE
                                                                                      : OTHER;
}

static enum likeness compare(int fd, struct looked_at *c, const struct search *s)
{
    const struct input_mark *m = &s->state->mark;
    bool same = c->st.st_dev == m->device && c->st.st_ino == m->inode;
    enum file_kind kind = KIND_RECORDS;
    enum likeness is;

    if (!S_ISREG(c->st.st_mode) || !*m->tail)
        return OTHER;
    if (!s->rules.plain && !magic_of_file(fd, &kind))
        return UNREAD;
    c->packed = magic_is_packed(kind);
    if (m->head_size + m->tail_size == 0) /* nothing had been read */
        return same ? SAME : OTHER;
    if (m->tail_size > s->state->position.offset)
        return OTHER;
    is = c->packed ? compare_unpacked(fd, s) : compare_plain(fd, &c->st, s);
    return is == LIKE && same ? SAME : is;
}

static void look_at(struct looked_at *c, const char *path, const struct search *s)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? 0 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    c->is = fd < 0 && errno == ENOENT ? OTHER : UNREAD;
    snprintf(c->path, sizeof c->path, "%s", path);
    memset(&c->st, 0, sizeof c->st);
    c->packed = false;
    if (fd >= 0 && fstat(fd, &c->st) == 0)
        c->is = compare(fd, c, s);
    c->error = errno;
    if (fd > 0)
        close(fd);
}

/* ---- the directory ---- */

/* Keep the two best candidates. */
static void rank(struct search *s, const struct looked_at *c)
{
    if (c->is <= OTHER || (s->best.is != OTHER && same_file(&c->st, &s->best.st)))
        return;
    if (c->is > s->best.is) {
        s->second = s->best;
        s->best = *c;
    } else if (c->is > s->second.is) {
        s->second = *c;
    }
}

static bool join(char out[PATH_MAX], const char *folder, const char *name)
{
    if (strcmp(folder, ".") == 0)
        return snprintf(out, PATH_MAX, "%s", name) < PATH_MAX;
    return snprintf(out, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

/* log.1, log-20251231 or log.3.gz for log. */
static bool is_rotation_of(const char *name, const char *log)
{
    static const char *const endings[] = {"", ".gz", ".bz2", ".xz", ".zst"};
    size_t n = strlen(log), digits;

    if (strncmp(name, log, n) != 0 || !strchr(".-_", name[n]) || !name[n])
        return false;
    digits = strspn(name + n, "0123456789.-_");
    if (digits > 1 && name[n + digits] && name[n + digits - 1] == '.')
        digits--; /* that of the ending */
    for (size_t i = 0; digits > 1 && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(name + n + digits, endings[i]) == 0)
            return true;
    return false;
}

/* The output is not a candidate: if all records passed, its bytes equal the log. */
static bool is_written(const struct search *s, const struct stat *st)
{
    return s->rules.output && same_file(st, s->rules.output);
}

/* Call visit() for each regular file of the directory, except the named file and the output. False
 * after a message if the directory could not be read completely. */
static bool for_each_other(struct search *s,
                           void (*visit)(struct search *s, const char *name, const char *path))
{
    DIR *folder = opendir(s->folder);
    const struct dirent *entry;
    static char path[PATH_MAX];

    while (folder && (errno = 0, entry = readdir(folder))) {
        struct stat st;

        if (!join(path, s->folder, entry->d_name) || lstat(path, &st) != 0 ||
            !S_ISREG(st.st_mode) || same_file(&st, &s->named.st) || is_written(s, &st))
            continue;
        visit(s, entry->d_name, path);
    }
    int error = errno;
    if (folder)
        closedir(folder);
    return !error || reject("cannot look for the file to resume in: cannot read directory %s: %s",
                            s->folder, strerror(error));
}

static void rank_file(struct search *s, const char *name, const char *path)
{
    static struct looked_at c;

    look_at(&c, path, s);
    if (c.is == LIKE && is_rotation_of(name, s->name))
        c.is = ROTATED;
    rank(s, &c);
    if (c.is == UNREAD && c.error != EACCES &&
        c.error != EPERM) /* files of other users are not candidates */
        s->unread = c;
}

/* ---- rotated more than once ---- */

static bool is_later(const struct stat *a, const struct stat *b)
{
    return a->st_mtim.tv_sec != b->st_mtim.tv_sec ? a->st_mtim.tv_sec > b->st_mtim.tv_sec
                                                  : a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

/* Find a log that is newer than the best candidate: it was rotated after it. */
static void find_between(struct search *s, const char *name, const char *path)
{
    struct stat st;

    if (!is_rotation_of(name, s->name) || stat(path, &st) != 0 || same_file(&st, &s->best.st) ||
        !is_later(&st, &s->best.st))
        return;
    snprintf(s->second.path, sizeof s->second.path, "%s", path);
    s->second.is = LIKE;
}

/* ---- deciding ---- */

static bool refuse(const struct search *s, const char *saved)
{
    const struct looked_at *now = &s->named;
    const char *name = input_name(now->path);
    unsigned long long offset = s->state->position.offset;

    if (s->best.is != OTHER)
        return reject(
            "%s: was read to byte %llu, and both %s and %s continue from there; remove one, or "
            "remove --resume",
            name, offset, s->best.path, s->second.path);
    if (!now->st.st_ino)
        return reject("cannot open %s, and no file in its directory is the one that %s was reading",
                      name, saved);
    if (now->st.st_ino == s->state->mark.inode && !now->packed &&
        (uint64_t)now->st.st_size < offset)
        return reject(
            "%s: was truncated: %s had read it to byte %llu, and no file in its directory "
            "contains that part; remove --resume to read it from the start",
            name, saved, offset);
    return reject(
        "%s: not the file that %s had read to byte %llu, and no file in its directory is; "
        "remove --resume to read it from the start",
        name, saved, offset);
}

static bool refuse_unread(const struct looked_at *c)
{
    return !signals_caught() && reject("cannot read %s, which may be the file to resume in: %s",
                                       input_name(c->path), strerror(c->error));
}

static bool refuse_several(const struct search *s)
{
    return reject(
        "%s: was rotated more than once: %s was being read, and %s is newer; remove --resume and "
        "give all files to read, the oldest first",
        s->named.path, s->best.path, s->second.path);
}

static bool find_older(struct resumed *r, struct search *s, const char *saved, bool quiet)
{
    if (!for_each_other(s, rank_file))
        return false;
    if (*s->unread.path)
        return refuse_unread(&s->unread);
    if (s->best.is == OTHER && s->named.is == LIKE)
        return true; /* a copy with the same name, and no better candidate */
    if (s->named.is == LIKE && s->best.is != SAME)
        return true; /* several copies, one of which has the name */
    if (s->best.is == OTHER || s->best.is == s->second.is)
        return refuse(s, saved);
    s->second.is = OTHER;
    if (!for_each_other(s, find_between))
        return false;
    if (s->second.is != OTHER)
        return refuse_several(s);
    snprintf(r->older, sizeof r->older, "%s", s->best.path);
    if (!quiet)
        note("%s was rotated: reading %s to its end, then %s from its start", s->named.path,
             s->best.path, s->named.path);
    return true;
}

/* Find the file that was being read. */
static bool find_file(struct resumed *r, const char *saved, const char *file, const struct state *s,
                      struct trace_hash hash, struct resume_rules rules)
{
    static struct search search;
    char copy[PATH_MAX];

    search = (struct search){.state = s, .hash = hash, .rules = rules};
    look_at(&search.named, file, &search);
    if (search.named.is == SAME)
        return true;
    if (search.named.is == UNREAD)
        return refuse_unread(&search.named);
    if (strcmp(file, "-") == 0)
        return search.named.is == LIKE || refuse(&search, saved);
    snprintf(copy, sizeof copy, "%s", file);
    snprintf(search.folder, sizeof search.folder, "%s", dirname(copy));
    snprintf(copy, sizeof copy, "%s", file);
    snprintf(search.name, sizeof search.name, "%s", basename(copy));
    return find_older(r, &search, saved, rules.quiet);
}

bool resume_find(struct resumed *r, const char *path, const struct state *s, struct trace_hash hash,
                 const struct inputs *inputs, struct resume_rules rules)
{
    const struct position *p = &s->position;
    const char *file = p->file < inputs->count ? inputs->file[p->file] : "-";

    *r = (struct resumed){.position = *p};
    if (!p->known)
        return reject(
            "%s: contains no place to resume, because its input was not a regular file; remove "
            "--resume to read from the start",
            path);
    if (strcmp(file, s->input) != 0 || (p->file > 0 && p->file >= inputs->count))
        return reject(
            "%s: stopped in file %u, %s, which differs now; give the same files, or remove "
            "--resume",
            path, p->file + 1, s->input);
    return find_file(r, path, file, s, hash, rules);
}
