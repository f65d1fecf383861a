/* resume.h - finding the input of an earlier run again, whatever has become of
 * its name meanwhile. */
#ifndef WEIR_STATE_RESUME_H
#define WEIR_STATE_RESUME_H

#include <limits.h>
#include <sys/stat.h>

#include "cli/inputs.h"
#include "state/state.h"

struct resumed {
    char older[PATH_MAX]; /* what the name meant then, if it means another file now; or empty */
    struct position position;
};

struct resume_rules {
    bool plain;                /* files are read as they are, even if they are compressed */
    bool quiet;                /* a rotation is not told */
    const struct stat *output; /* what is written is not what was read; or NULL */
};

/* What is to be read, and where from:
 *   continued  the file of that name is the one that was being read
 *   rotated    that one has another name in the same directory: it is read to its
 *              end, then the one that has the name now from its start
 * False after a message in all other cases: it is gone, cut short, or one cannot
 * tell. */
bool resume_find(struct resumed *r, const char *path, const struct state *s, struct trace_hash hash,
                 const struct inputs *inputs, struct resume_rules rules);

#endif
