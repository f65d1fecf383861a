/* place.h - where a file lies that is to be written: behind links, and there or
 * not yet. */
#ifndef WEIR_STATE_PLACE_H
#define WEIR_STATE_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct place {
    char path[PATH_MAX];   /* of the file itself: no links, from the root */
    char folder[PATH_MAX]; /* that it is or will be in */
    bool there;
    bool in_place; /* neither a file nor absent (a device, a pipe): it is not replaced */
    struct stat st;
};

/* Find it. False if a folder is missing; errno says why. */
bool place_look(struct place *p, const char *path);

/* The same with a message. False after a message: a folder is missing, or the path is a link to
 * nothing, which one would not know whether to keep. */
bool place_find(struct place *p, const char *path);

/* Do two paths name one file, or would they once it is made? */
bool place_same(const char *a, const char *b);

/* Is this the file that has this name? */
bool place_holds(const char *path, const struct stat *file);

#endif
