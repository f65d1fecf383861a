/* lock.c - one writer per file: see replace.h.
 *
 * An advisory lock (flock) on the file itself ends with the process, however it ends. The file is
 * replaced when it is saved; the new file is locked before it gets the name. A waiting run that
 * then gets the lock of the old file notices that the name belongs to another file, and starts
 * again.
 *
 * If the file does not exist yet, a marker file .NAME.weir-lock is locked instead until the first
 * save. It is created complete and locked, with a text that identifies it. A marker left by a crash
 * is locked and used again; a file of that name with other content is not touched. */
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
    char marker[PATH_MAX]; /* the marker for a missing file */
    int file, stand_in;    /* locked, or -1 */
    struct stat stood_in;  /* identifies stand_in; read when it is locked */
} held = {.file = -1, .stand_in = -1};

enum attempt { LOCKED, BUSY, CHANGED, NOT_OURS, IMPOSSIBLE };

static enum attempt try_lock(int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return LOCKED;
    return errno == EWOULDBLOCK ? BUSY : IMPOSSIBLE;
}

/* Writable if possible: some network file systems lock nothing else. */
static int open_existing(const char *path)
{
    int more = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    int fd = open(path, O_RDWR | more);

    return fd < 0 && errno != ENOENT ? open(path, O_RDONLY | more) : fd;
}

/* Lock a file that is there. On success *fd stays open, and st says which it is. */
static enum attempt lock_existing(const char *path, int *fd, struct stat *st)
{
    enum attempt result;

    *fd = open_existing(path);
    if (*fd < 0)
        return errno == ENOENT ? CHANGED : IMPOSSIBLE;
    result = fstat(*fd, st) == 0 ? try_lock(*fd) : IMPOSSIBLE;
    if (result == LOCKED && !target_is(path, st))
        result = CHANGED;
    if (result != LOCKED) {
        int error = errno;

        close(*fd);
        *fd = -1;
        errno = error;
    }
    return result;
}

/* ---- missing files ---- */

static void remove_marker(void)
{
    if (held.stand_in < 0)
        return;
    if (target_is(held.marker, &held.stood_in))
        unlink(held.marker);
    close(held.stand_in);
    held.stand_in = -1;
}

static bool write_mark(int fd)
{
    size_t done = 0, size = strlen(mark);

    while (done < size) {
        ssize_t n = write(fd, mark + done, size - done);

        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* A marker of our own, locked before it can be seen. */
static enum attempt make_marker(const struct target_path *p)
{
    static struct temporary t;
    bool made;

    if (!temporary_open(&t, p->folder, 0666))
        return IMPOSSIBLE;
    made = fstat(t.fd, &held.stood_in) == 0 && write_mark(t.fd) && try_lock(t.fd) == LOCKED &&
           temporary_link(&t, held.marker);
    if (made) {
        held.stand_in = t.fd;
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
    int fd;
    enum attempt result = lock_existing(held.marker, &fd, &held.stood_in);

    if (result == IMPOSSIBLE) /* a link, or no permission */
        return NOT_OURS;
    if (result == LOCKED && !is_marker(fd)) {
        close(fd);
        return NOT_OURS;
    }
    held.stand_in = fd;
    return result;
}

static enum attempt lock_absent(const struct target_path *p)
{
    enum attempt result;
    struct stat st;
    const char *name = strrchr(p->path, '/') + 1;

    if (snprintf(held.marker, sizeof held.marker, "%s/.%s.weir-lock", p->folder, name) >=
        (int)sizeof held.marker)
        return IMPOSSIBLE;
    result = lstat(held.marker, &st) == 0 ? take_marker() : make_marker(p);
    if (result == LOCKED && lstat(p->path, &st) == 0) { /* made before we had the marker */
        remove_marker();
        return CHANGED;
    }
    return result;
}

/* ---- both ---- */

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
    enum attempt result = p->exists ? lock_existing(p->path, &held.file, &st) : lock_absent(p);

    while (result == CHANGED)
        result =
            lstat(p->path, &st) == 0 ? lock_existing(p->path, &held.file, &st) : lock_absent(p);
    if (result == BUSY || result == NOT_OURS)
        return refuse(result, path);
    if (result == IMPOSSIBLE && !can_do_without(errno))
        return reject("cannot lock %s: %s", path, strerror(errno));
    memcpy(held.path, p->path, sizeof held.path);
    return true;
}

/* Does the name still belong to the locked file? */
static bool is_held(const char *path)
{
    struct stat st;

    return held.file >= 0 && fstat(held.file, &st) == 0 && target_is(path, &st);
}

bool lock_file(const char *path)
{
    static struct target_path p;
    bool again;

    if (!target_find(&p, path))
        return false;
    again = strcmp(p.path, held.path) == 0 && (held.file >= 0 || held.stand_in >= 0);
    if (p.in_place || (again && !p.exists && held.stand_in >= 0) ||
        (again && p.exists && is_held(p.path)))
        return true;
    if (again && p.exists)
        return reject("%s: created or replaced by another program during this run; that file is "
                      "kept, and this "
                      "run is not saved",
                      path);
    lock_end();
    signals_at_end(lock_end);
    return take_lock(&p, path);
}

void lock_next(int fd)
{
    (void)try_lock(fd);
}

void lock_move(int fd)
{
    if (held.file >= 0)
        close(held.file);
    held.file = fd;
    remove_marker();
}

void lock_end(void)
{
    remove_marker();
    if (held.file >= 0)
        close(held.file);
    held.file = -1;
    *held.path = '\0';
}
