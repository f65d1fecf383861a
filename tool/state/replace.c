/* replace.c - see replace.h.
 *
 * Write NAME.tmp, fsync, rename over NAME, fsync the directory. A crash leaves the
 * old file or the new one, and at worst a NAME.tmp that the next run overwrites. */
#include "state/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state/lock.h"
#include "cli/messages.h"

struct sink {
    int fd, error;
    size_t used;
    uint8_t buffer[65536];
};

static bool drain(struct sink *s, const uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(s->fd, data, size);

        if (n < 0 && errno != EINTR) {
            s->error = errno;
            return false;
        }
        data += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool into_file(void *context, const void *data, size_t size)
{
    struct sink *s = context;

    if (s->used + size > sizeof s->buffer) {
        if (!drain(s, s->buffer, s->used))
            return false;
        s->used = 0;
    }
    if (size > sizeof s->buffer)
        return drain(s, data, size);
    memcpy(s->buffer + s->used, data, size);
    s->used += size;
    return true;
}

static bool write_all(struct sink *s,
                      enum weir_status (*write)(const void *what, weir_sink sink, void *into),
                      const void *what)
{
    enum weir_status status = write(what, into_file, s);

    if (status == WEIR_NO_MEMORY)
        s->error = ENOMEM;
    if (status != WEIR_OK || !drain(s, s->buffer, s->used))
        return false;
    if (fsync(s->fd) != 0 && errno != EINVAL)
        s->error = errno;
    return !s->error;
}

static void sync_directory(const char *path)
{
    char copy[PATH_MAX];
    int fd;

    snprintf(copy, sizeof copy, "%s", path);
    fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

static bool refuse(const char *path, const char *temporary, int error)
{
    if (temporary)
        unlink(temporary);
    return fail("cannot save %s: %s", path, strerror(error)) == 0;
}

/* Where a save goes. A link is followed, so that it stays one; what is neither
 * a file nor absent (a device, a pipe) is written to and not replaced. */
struct target {
    char path[PATH_MAX];
    char temporary[PATH_MAX];
    bool there, in_place;
    struct stat st;
};

static bool aim(struct target *t, const char *path)
{
    if (!realpath(path, t->path))
        snprintf(t->path, sizeof t->path, "%s", path);
    t->there = stat(path, &t->st) == 0;
    t->in_place = t->there && !S_ISREG(t->st.st_mode);
    if (t->in_place)
        snprintf(t->path, sizeof t->path, "%s", path);
    return snprintf(t->temporary, sizeof t->temporary, "%s.tmp", t->path) <
               (int)sizeof t->temporary ||
           refuse(path, NULL, ENAMETOOLONG);
}

/* The new file belongs to whom the old one did, and is as private. */
static void inherit(int fd, const struct target *t)
{
    if (!t->there || t->in_place)
        return;
    (void)!fchown(fd, t->st.st_uid, t->st.st_gid);
    (void)!fchmod(fd, t->st.st_mode & 0777);
}

bool replace_possible(const char *path)
{
    static struct target t;
    char copy[PATH_MAX];

    if (!aim(&t, path))
        return false;
    if (t.there && S_ISDIR(t.st.st_mode))
        return refuse(path, NULL, EISDIR);
    snprintf(copy, sizeof copy, "%s", t.path);
    if (access(t.in_place ? path : dirname(copy), W_OK) != 0)
        return refuse(path, NULL, errno);
    return lock_file(path);
}

bool replace_file(const char *path,
                  enum weir_status (*write)(const void *what, weir_sink sink, void *into),
                  const void *what)
{
    static struct sink s; /* one save at a time */
    static struct target t;
    const char *made = t.temporary;
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;

    if (!aim(&t, path) || !lock_file(path))
        return false;
    if (t.in_place)
        made = NULL;
    s.fd = open(made ? made : path, flags, 0666);
    if (s.fd < 0)
        return refuse(path, NULL, errno);
    s.error = 0;
    s.used = 0;
    inherit(s.fd, &t);
    bool ok = write_all(&s, write, what);
    if (!ok && !s.error)
        s.error = ENOMEM;
    if (close(s.fd) != 0 && ok)
        s.error = errno;
    if (s.error)
        return refuse(path, made, s.error);
    if (made && rename(made, t.path) != 0)
        return refuse(path, made, errno);
    if (made)
        sync_directory(t.path);
    return true;
}
