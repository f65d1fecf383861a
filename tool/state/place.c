/* place.c - see place.h. */
#include "state/place.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/messages.h"

#define LINKS_MAX 40 /* as many as the system follows */

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

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

/* One step along a link; false at its end, or if it cannot be taken. */
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

/* The folder without links, and the name in it, whether the file is there or not. */
static bool find_absent(struct place *p, const char *path)
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
    return realpath(dirname(copy), p->folder) && join(p->path, p->folder, basename(last));
}

static bool find_present(struct place *p, const char *path)
{
    char copy[PATH_MAX];

    p->there = true;
    p->in_place = !S_ISREG(p->st.st_mode);
    if (p->in_place ? !copy_path(p->path, path) : !realpath(path, p->path))
        return false;
    memcpy(copy, p->path, sizeof copy);
    return copy_path(p->folder, dirname(copy));
}

bool place_look(struct place *p, const char *path)
{
    *p = (struct place){.there = false};
    if (stat(path, &p->st) == 0)
        return find_present(p, path);
    return errno == ENOENT && find_absent(p, path);
}

bool place_find(struct place *p, const char *path)
{
    struct stat link;

    if (!place_look(p, path))
        return reject("cannot save %s: %s", path, strerror(errno));
    if (!p->there && lstat(path, &link) == 0 && S_ISLNK(link.st_mode))
        return reject(
            "cannot save %s: it is a link to %s, where nothing is; make that file, or remove the "
            "link",
            path, p->path);
    return true;
}

bool place_same(const char *a, const char *b)
{
    static struct place one, other;

    if (!place_look(&one, a) || !place_look(&other, b) || one.there != other.there)
        return false;
    return one.there ? same_file(&one.st, &other.st) : strcmp(one.path, other.path) == 0;
}

bool place_holds(const char *path, const struct stat *file)
{
    struct stat named;

    return lstat(path, &named) == 0 && same_file(&named, file);
}
