/* mapped.h - read a mapped file that another program may truncate or write to. Such a change is
 * detected afterwards, and the results are then discarded. */
#ifndef WEIR_STORE_MAPPED_H
#define WEIR_STORE_MAPPED_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct mapped {
    struct mapped *_Atomic next; /* of those that are open */
    char *data;                  /* NULL if the file is empty */
    size_t size;
    struct timespec written;
    volatile sig_atomic_t damaged; /* a page was missing, and read as zeros */
    int fd;
};

/* NULL, or why not. The struct stays at its place until mapped_close(). */
const char *mapped_open(struct mapped *m, const char *path);
void mapped_close(struct mapped *m);

/* False if the file has changed since it was opened: then what was read may be wrong. */
bool mapped_is_unchanged(const struct mapped *m);

#endif
