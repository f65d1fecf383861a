/* position.h - a place in the inputs, as the reader tells it and a state file keeps
 * it. */
#ifndef WEIR_PIPE_POSITION_H
#define WEIR_PIPE_POSITION_H

#include "pipe/trace.h"

/* Where in the inputs the next record begins. */
struct position {
    bool known;    /* only regular files have one */
    uint32_t file; /* number in the list */
    uint64_t offset, line;
    uint64_t unfinished; /* bytes before it that are a record without a delimiter; or 0 */
    struct trace trace;  /* of what was read before it */
};

#endif
