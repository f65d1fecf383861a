/* lock.c - one writer per file: see replace.h.
 *
 * While a run may replace a file, it has an advisory lock (flock) on a marker next to it, which
 * ends with the process, however it ends: .NAME.weir-lock. The marker is created complete and
 * locked, with a text that identifies it, and removed at the end. One left by a crash is locked and
 * used again; a file of that name with other content is not touched. A run that gets the lock of a
 * marker that was removed meanwhile starts again. */
#include "state/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/inputs.h"
#include "cli/signals.h"

static const char mark[] = "weir: while this file is locked, a run is making a file here.\n";

static struct {
    char path[PATH_MAX];   /* of the file */
    char marker[PATH_MAX]; /* of its marker */
    int fd;                /* the marker; -1: no lock */
    struct stat is;        /* identifies the marker; read when it is locked */
    bool exists;           /* the file does; then */
    struct stat file;      /* identifies it */
} held = {.fd = -1};

enum attempt { LOCKED, BUSY, CHANGED, NOT_OURS, IMPOSSIBLE };

static enum attempt try_lock(int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return LOCKED;
    return errno == EWOULDBLOCK ? BUSY : IMPOSSIBLE;
}

/* A marker of our own, locked before it can be seen. */
static enum attempt make_marker(const struct target_path *p)
{
    static struct temporary t;

    if (!temporary_open(&t, p->folder, 0666))
        return IMPOSSIBLE;
    if (fstat(t.fd, &held.is) == 0 && write_all(t.fd, mark, strlen(mark)) &&
        try_lock(t.fd) == LOCKED && temporary_link(&t, held.marker)) {
        held.fd = t.fd;
        return LOCKED;
    }
    temporary_remove(&t);
    int error = errno;
    close(t.fd);
    errno = error;
    return error == EEXIST ? CHANGED : IMPOSSIBLE;
}

static bool is_marker(int fd)
{
    char text[sizeof mark] = "";

    return read_at(fd, text, sizeof text, 0) == (ssize_t)strlen(mark) && strcmp(text, mark) == 0;
}

/* An existing marker: of another run, or left by a crash. */
static enum attempt take_marker(void)
{
    int more = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    int fd = open(held.marker, O_RDWR | more); /* some network file systems lock nothing else */

    if (fd < 0 && errno == EACCES) /* that of another user */
        fd = open(held.marker, O_RDONLY | more);
    if (fd < 0) /* a link, or no permission */
        return errno == ENOENT ? CHANGED : NOT_OURS;
    enum attempt result = fstat(fd, &held.is) == 0 ? try_lock(fd) : IMPOSSIBLE;
    if (result == LOCKED && !target_is(held.marker, &held.is))
        result = CHANGED;
    if (result == LOCKED && !is_marker(fd))
        result = NOT_OURS;
    if (result == LOCKED) {
        held.fd = fd;
        return LOCKED;
    }
    int error = errno;
    close(fd);
    errno = error;
    return result;
}

static bool refuse(enum attempt why, const char *path)
{
    return why == NOT_OURS
               ? reject(
                     "cannot save %s: %s exists and is not a lock of weir; move it, or use another "
                     "file",
                     path, held.marker)
               : reject(
                     "%s: in use by another run that will replace it; wait until that run ends, or "
                     "use another file",
                     path);
}

/* This file system has no locks, or the file is not ours to lock: saving reports the latter. Any
 * other error leaves open whether another run has the lock. */
static bool can_do_without(int error)
{
    static const int errors[] = {EACCES, EPERM,  EROFS,        ENOLCK, EOPNOTSUPP,
                                 ENOSYS, EINVAL, ENAMETOOLONG, EBADF,  ELOOP};

    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (error == errors[i])
            return true;
    return false;
}

static bool take_lock(const struct target_path *p, const char *path)
{
    struct stat st;
    enum attempt result;

    if (snprintf(held.marker, sizeof held.marker, "%s/.%s.weir-lock", p->folder,
                 strrchr(p->path, '/') + 1) >= (int)sizeof held.marker)
        return true; /* no name is left for it: without a lock, as in can_do_without() */
    do
        result = lstat(held.marker, &st) == 0 ? take_marker() : make_marker(p);
    while (result == CHANGED);
    if (result == BUSY || result == NOT_OURS)
        return refuse(result, path);
    return result == LOCKED || can_do_without(errno) ||
           reject("cannot lock %s: %s", path, strerror(errno));
}

/* Is the name still that of the file that was locked, or free? */
static bool is_unchanged(const struct target_path *p)
{
    return !p->exists || (held.exists && same_file(&p->st, &held.file));
}

bool lock_file(const char *path)
{
    static struct target_path p;

    if (!target_find(&p, path))
        return false;
    if (p.in_place)
        return true;
    if (strcmp(p.path, held.path) == 0)
        return is_unchanged(&p) ||
               reject("%s: created or replaced by another program during this run; that file is "
                      "kept, and this run is not saved",
                      path);
    lock_end();
    signals_at_end(lock_end);
    if (!take_lock(&p, path) || !target_find(&p, path)) /* it may have been saved meanwhile */
        return false;
    memcpy(held.path, p.path, sizeof held.path);
    held.exists = p.exists;
    held.file = p.st;
    return true;
}

void lock_move(int fd)
{
    held.exists = fstat(fd, &held.file) == 0;
}

void lock_end(void)
{
    if (held.fd >= 0) {
        if (target_is(held.marker, &held.is))
            unlink(held.marker);
        close(held.fd);
    }
    held.fd = -1;
    *held.path = '\0';
}
