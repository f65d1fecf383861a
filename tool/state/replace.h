/* replace.h - atomic replacement of files. */
#ifndef WEIR_STATE_REPLACE_H
#define WEIR_STATE_REPLACE_H

#include <weir.h>
#include <stdbool.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Check that a file can be saved, and lock it, before the work starts. False after a message. */
bool replace_possible(const char *path);

/* May the existing file be replaced? A regular file that is not empty must start with `begin`, and
 * contain `within` (unless NULL) in its first 1024 bytes. False after a message "not `kind`". */
bool replace_spares(const char *path, const char *begin, const char *within, const char *kind);
#define REPLACES_FILTER "WEIR", NULL, "a filter file"
#define REPLACES_REPORT "<!DOCTYPE html>", "<title>weir: ", "a report of weir"
#define REPLACES_AUDIT "{\n  \"weir_audit\": ", NULL, "an audit file"
#define REPLACES_METRICS "# HELP weir_", NULL, "metrics of weir"

/* Replace a file by the output of `write`, keeping owner and mode. Devices and pipes are written
 * to. False after a message; if `write` returns WEIR_BAD_DATA, it has printed the message itself.
 */
typedef enum weir_status (*writes_to_sink)(const void *what, weir_sink sink, void *into);
bool replace_file(const char *path, writes_to_sink write, const void *what);
bool replace_file_by_text(const char *path, const char *text, size_t size);

/* Replace a file by a text, without locking. durable: fsync it first. Returns false and errno
 * without a message. */
bool replace_text(const char *path, const char *text, size_t size, bool durable);

/* ---- one writer per file: lock.c
 *
 * Two runs that continue from one state file would each save without the keys of the other. A run
 * therefore locks a file that it will replace, before reading it. ---- */

/* Lock a file, which may not exist yet. False after a message if another run has locked it, or if
 * the file was replaced since an earlier call. Devices and pipes are not locked. A run locks one
 * file. */
bool lock_file(const char *path);

/* This is the locked file now. */
void lock_move(int fd);

/* Release the lock before the process ends. */
void lock_end(void);

/* ---- the file that a run writes: target.c
 *
 * Resolve its path, write a temporary file in its directory, rename that to the path.
 *
 * The temporary file has no name until it is complete (O_TMPFILE), so a crash leaves nothing
 * behind. On file systems without O_TMPFILE it has an unused random name, .weir-*, and no
 * existing file is ever overwritten. ---- */

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
