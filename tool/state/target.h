/* target.h - the file that a run writes: resolve its path, write a temporary file in its directory,
 * rename that to the path.
 *
 * The temporary file has no name until it is complete (O_TMPFILE), so a crash leaves nothing
 * behind. On file systems without O_TMPFILE it has an unused random name, .weir-*, and no
 * existing file is ever overwritten. */
#ifndef WEIR_STATE_TARGET_H
#define WEIR_STATE_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct target_path {
    char path[PATH_MAX];   /* absolute, without symbolic links */
    char folder[PATH_MAX]; /* the directory of the file */
    bool exists;
    bool in_place; /* a device or pipe: it is written to, not replaced */
    struct stat st;
};

/* Resolve a path. Returns false and errno if a directory of it is missing. */
bool target_resolve(struct target_path *t, const char *path);

/* The same with a message. Also rejects a symbolic link to a missing file. */
bool target_find(struct target_path *t, const char *path);

/* Do two paths name one file, which may not exist yet? */
bool target_same(const char *a, const char *b);

/* Is this the file that has this path? */
bool target_is(const char *path, const struct stat *file);

struct temporary {
    int fd;
    char folder[PATH_MAX];
    char name[PATH_MAX]; /* empty while it has no name */
};

/* These three return false and errno if they failed. */
bool temporary_open(struct temporary *t, const char *folder, mode_t mode);

/* Name it, in its directory: fails with EEXIST if the name exists, or replaces that file. */
bool temporary_link(struct temporary *t, const char *path);
bool temporary_replace(struct temporary *t, const char *path);

/* Remove the file unless it has been named; keeps errno. The caller closes fd. */
void temporary_remove(struct temporary *t);

#endif
