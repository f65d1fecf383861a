/* temporary.c - see temporary.h. */
#include "state/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 100 /* a name of 64 random bits is free at once, unless someone jests */

static bool random_name(struct temporary *t)
{
    uint64_t bits;

    if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return false;
    errno = ENAMETOOLONG;
    return snprintf(t->name, sizeof t->name, "%s/.weir-%016llx", t->folder,
                    (unsigned long long)bits) < (int)sizeof t->name;
}

/* How the system calls an open file. */
static void handle(const struct temporary *t, char out[40])
{
    snprintf(out, 40, "/proc/self/fd/%d", t->fd);
}

static bool open_nameless(struct temporary *t, mode_t mode)
{
    char path[40];

    t->fd = open(t->folder, O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
    if (t->fd < 0)
        return false;
    handle(t, path);
    if (access(path, F_OK) == 0) /* else it can never be given a name */
        return true;
    close(t->fd);
    return false;
}

static bool open_named(struct temporary *t, mode_t mode)
{
    for (int i = 0; i < TRIES; i++) {
        if (!random_name(t))
            return false;
        t->fd = open(t->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (t->fd >= 0 || errno != EEXIST)
            break;
    }
    if (t->fd < 0)
        *t->name = '\0';
    return t->fd >= 0;
}

bool temporary_open(struct temporary *t, const char *folder, mode_t mode)
{
    snprintf(t->folder, sizeof t->folder, "%s", folder);
    *t->name = '\0';
    return open_nameless(t, mode) || open_named(t, mode);
}

static bool link_nameless(const struct temporary *t, const char *path)
{
    char from[40];

    handle(t, from);
    return linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

/* File systems that cannot refuse to replace are asked first. */
static bool rename_to_free(const char *from, const char *to)
{
    struct stat st;

    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS)
        return false;
    if (lstat(to, &st) == 0) {
        errno = EEXIST;
        return false;
    }
    return rename(from, to) == 0;
}

bool temporary_link(struct temporary *t, const char *path)
{
    bool done = *t->name ? rename_to_free(t->name, path) : link_nameless(t, path);

    if (done)
        *t->name = '\0';
    return done;
}

/* A file without a name can take a free name only: so it gets one for a moment. */
static bool take_name(struct temporary *t)
{
    if (*t->name)
        return true;
    for (int i = 0; i < TRIES && random_name(t); i++) {
        if (link_nameless(t, t->name))
            return true;
        if (errno != EEXIST)
            break;
    }
    *t->name = '\0';
    return false;
}

bool temporary_replace(struct temporary *t, const char *path)
{
    if (!take_name(t) || rename(t->name, path) != 0)
        return false;
    *t->name = '\0';
    return true;
}

void temporary_drop(struct temporary *t)
{
    int error = errno;

    if (*t->name)
        unlink(t->name);
    *t->name = '\0';
    errno = error;
}
