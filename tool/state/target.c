/* target.c - the file that a run writes: see replace.h. */
#include "state/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cli/inputs.h"
#include "cli/messages.h"

/* ---- paths ---- */

#define LINKS_MAX 40 /* the limit of Linux */

static bool join(char out[PATH_MAX], const char *folder, const char *name)
{
    const char *slash = strcmp(folder, "/") == 0 ? "" : "/";

    errno = ENAMETOOLONG;
    return snprintf(out, PATH_MAX, "%s%s%s", folder, slash, name) < PATH_MAX;
}

static bool copy_path(char out[PATH_MAX], const char *path)
{
    errno = ENAMETOOLONG;
    return snprintf(out, PATH_MAX, "%s", path) < PATH_MAX;
}

/* Replace a link by its target; false if the path is not a link. */
static bool follow_link(char path[PATH_MAX])
{
    char target[PATH_MAX], copy[PATH_MAX];
    ssize_t n = readlink(path, target, sizeof target - 1);

    if (n < 0)
        return false;
    target[n] = '\0';
    memcpy(copy, path, sizeof copy);
    return *target == '/' ? copy_path(path, target) : join(path, dirname(copy), target);
}

/* Follow links by hand: realpath() requires that the file exists. */
static bool resolve_missing(struct target_path *t, const char *path)
{
    char last[PATH_MAX], copy[PATH_MAX];
    int links = 0;

    if (!copy_path(last, path))
        return false;
    while (follow_link(last))
        if (++links == LINKS_MAX) {
            errno = ELOOP;
            return false;
        }
    memcpy(copy, last, sizeof copy);
    return realpath(dirname(copy), t->folder) && join(t->path, t->folder, basename(last));
}

static bool resolve_existing(struct target_path *t, const char *path)
{
    char copy[PATH_MAX];

    t->exists = true;
    t->in_place = !S_ISREG(t->st.st_mode);
    if (t->in_place ? !copy_path(t->path, path) : !realpath(path, t->path))
        return false;
    memcpy(copy, t->path, sizeof copy);
    return copy_path(t->folder, dirname(copy));
}

bool target_resolve(struct target_path *t, const char *path)
{
    *t = (struct target_path){.exists = false};
    if (stat(path, &t->st) == 0)
        return resolve_existing(t, path);
    return errno == ENOENT && resolve_missing(t, path);
}

bool target_find(struct target_path *t, const char *path)
{
    struct stat link;

    if (!target_resolve(t, path))
        return reject("cannot save %s: %s", path, strerror(errno));
    if (!t->exists && lstat(path, &link) == 0 && S_ISLNK(link.st_mode))
        return reject(
            "cannot save %s: symbolic link to missing file %s; create that file or remove the link",
            path, t->path);
    return true;
}

bool target_same(const char *a, const char *b)
{
    static struct target_path one, other;

    if (!target_resolve(&one, a) || !target_resolve(&other, b) || one.exists != other.exists)
        return false;
    return one.exists ? same_file(&one.st, &other.st) : strcmp(one.path, other.path) == 0;
}

bool target_is(const char *path, const struct stat *file)
{
    struct stat named;

    return lstat(path, &named) == 0 && same_file(&named, file);
}

/* ---- temporary files ---- */

#define TRIES 100 /* 64 random bits hardly ever collide */

static bool random_name(struct temporary *t)
{
    uint64_t bits;

    if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return false;
    errno = ENAMETOOLONG;
    return snprintf(t->name, sizeof t->name, "%s/.weir-%016llx", t->folder,
                    (unsigned long long)bits) < (int)sizeof t->name;
}

/* The path of the open file, which linkat() can use. */
static void fd_path(const struct temporary *t, char out[40])
{
    snprintf(out, 40, "/proc/self/fd/%d", t->fd);
}

static bool open_nameless(struct temporary *t, mode_t mode)
{
    char path[40];

    t->fd = open(t->folder, O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
    if (t->fd < 0)
        return false;
    fd_path(t, path);
    if (access(path, F_OK) == 0) /* without /proc it cannot be named */
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

    fd_path(t, from);
    return linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

/* Not all file systems have RENAME_NOREPLACE: check first, then. */
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

/* linkat() cannot replace a file, so give it a temporary name first. */
static bool ensure_name(struct temporary *t)
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
    if (!ensure_name(t) || rename(t->name, path) != 0)
        return false;
    *t->name = '\0';
    return true;
}

void temporary_remove(struct temporary *t)
{
    int error = errno;

    if (*t->name)
        unlink(t->name);
    *t->name = '\0';
    errno = error;
}
