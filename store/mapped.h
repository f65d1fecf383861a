/* mapped.h - read a mapped file that another program may truncate or write to. Such a change is
 * detected, and the results are then discarded. */
#ifndef WEIR_STORE_MAPPED_H
#define WEIR_STORE_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct mapped {
    char *data; /* NULL if the file is empty */
    size_t size;
    struct timespec written;
    int fd;
};

/* NULL, or why not. */
const char *mapped_open(struct mapped *m, const char *path);
void mapped_close(struct mapped *m);

/* Let act() read the data. False if the file has changed since it was opened; act()
 * may then have been left in the middle, so it must hold nothing that has to be freed. */
bool mapped_read(const struct mapped *m, void (*act)(void *context), void *context);

#endif
