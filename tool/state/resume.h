/* resume.h - find the input file of an earlier run, also after it was rotated. */
#ifndef WEIR_STATE_RESUME_H
#define WEIR_STATE_RESUME_H

#include <limits.h>
#include <sys/stat.h>

#include "cli/inputs.h"
#include "state/state.h"

struct resumed {
    char older[PATH_MAX]; /* the file that was read, if its name belongs to another file now; or
                             empty */
    struct position position;
};

struct resume_rules {
    bool plain;                /* do not decompress files */
    bool quiet;                /* print no note about a rotation */
    const struct stat *output; /* the output, which is not an input; or NULL */
};

/* Find the file to continue in:
 *   continued  the named file is the one that was being read
 *   rotated    that file has another name in the same directory; read it to its end, then the named
 *              file from its start
 * False after a message otherwise: the file is missing, truncated or ambiguous. */
bool resume_find(struct resumed *r, const char *path, const struct state *s, struct trace_hash hash,
                 const struct inputs *inputs, struct resume_rules rules);

#endif
