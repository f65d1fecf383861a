/* lock.c - see lock.h.
 *
 * An advisory lock on NAME.lock: not on NAME, which is replaced, nor on
 * NAME.tmp, which becomes it. The lock ends with the process however that ends;
 * a NAME.lock that a crash leaves behind stops nobody. */
#include "state/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/messages.h"

static char locked[PATH_MAX]; /* the lock; a run replaces one file */

/* The same name whether the file is there yet or not, and through links. */
static bool name_lock(const char *path, char lock[PATH_MAX])
{
    char whole[PATH_MAX], folder[PATH_MAX], file[PATH_MAX];
    struct stat st;

    if (stat(path, &st) == 0)
        return S_ISREG(st.st_mode) && realpath(path, whole) &&
               snprintf(lock, PATH_MAX, "%s.lock", whole) < PATH_MAX;
    snprintf(folder, sizeof folder, "%s", path);
    snprintf(file, sizeof file, "%s", path);
    return realpath(dirname(folder), whole) &&
           snprintf(lock, PATH_MAX, "%s/%s.lock", whole, basename(file)) < PATH_MAX;
}

/* The one before us may have removed the lock between our opening and locking it. */
static bool still_named(int fd, const char *lock)
{
    struct stat held, named;

    return fstat(fd, &held) == 0 && stat(lock, &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

bool lock_file(const char *path)
{
    char lock[PATH_MAX];
    int fd;

    if (!name_lock(path, lock) || strcmp(lock, locked) == 0)
        return true;
    for (;;) {
        fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0)
            return true; /* then neither can the file be replaced, and saving says why */
        if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
            close(fd);
            return errno != EWOULDBLOCK ||
                   fail("%s is in use by another run that will replace it; wait until that has "
                        "ended, or name another file",
                        path) == 0;
        }
        if (still_named(fd, lock))
            break;
        close(fd);
    }
    memcpy(locked, lock, sizeof locked);
    return true;
}

void lock_end(void)
{
    if (*locked)
        unlink(locked);
    *locked = '\0';
}
