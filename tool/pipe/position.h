/* position.h - a position in the inputs, as a state file contains it, and the trace that identifies
 * a file: device and inode, and the first and the last bytes that were read. The trace is kept
 * while reading, because the file may be truncated or renamed before the state is saved. */
#ifndef WEIR_PIPE_POSITION_H
#define WEIR_PIPE_POSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_BYTES 64

struct trace {
    uint64_t device, inode;
    bool begins; /* all bytes so far are in head */
    uint8_t head_size, tail_size;
    char head[TRACE_BYTES]; /* the first bytes of the file */
    char tail[TRACE_BYTES]; /* those before the current offset */
};

/* How bytes and keys are hashed: see <weir/hash.h>. */
struct trace_hash {
    uint32_t kind;
    uint64_t seed;
};

/* Where in the inputs the next record begins. */
struct position {
    bool known;    /* only regular files have one */
    uint32_t file; /* number in the list */
    uint64_t offset, line;
    uint64_t unfinished; /* bytes before it that are a record without a delimiter; or 0 */
    struct trace trace;  /* of what was read before it */
};

/* Start at an offset of an open file: reads the bytes before it again. Returns false and errno on
 * failure. */
bool trace_start(struct trace *t, int fd, uint64_t offset);

/* Bytes were read; bytes were skipped. */
void trace_add(struct trace *t, const char *data, size_t size);
void trace_gap(struct trace *t);

#endif
