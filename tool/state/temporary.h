/* temporary.h - a file under way: written without a name, then given one.
 *
 * Nobody's file is ever touched: it has no name until it is complete (O_TMPFILE),
 * or, where the file system cannot do that, a name that nobody can have guessed
 * and that is only taken if it is free. A crash leaves nothing behind in the
 * first case, and a file .weir-* in the second. */
#ifndef WEIR_STATE_TEMPORARY_H
#define WEIR_STATE_TEMPORARY_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct temporary {
    int fd;
    char folder[PATH_MAX];
    char name[PATH_MAX]; /* empty while it has none */
};

/* All of these: false if it failed, errno says why. */
bool temporary_open(struct temporary *t, const char *folder, mode_t mode);

/* Give it a name in its folder: where there is nothing (else EEXIST), or in the
 * place of what is there. */
bool temporary_link(struct temporary *t, const char *path);
bool temporary_replace(struct temporary *t, const char *path);

/* Forget the file, keep errno. Once it has its name this does nothing; closing
 * fd is the caller's. */
void temporary_drop(struct temporary *t);

#endif
