/* position.h - a place in the inputs, as the reader returns it and a state file keeps it, and
 * the trace by which a file is known again: its place on the disk, and the first and the last
 * bytes that were read of it. Kept while reading, since by the time they are asked for the
 * file may have been cut short, and its name may be another's. */
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
    char tail[TRACE_BYTES]; /* those before the place where reading is */
};

/* How its bytes are hashed where a hash of them is kept: see <weir/hash.h>. */
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

/* At a place of an open file; what lies before it is read once more. False if that
 * failed; errno says why. */
bool trace_start(struct trace *t, int fd, uint64_t offset);

/* These bytes were read, or left out. */
void trace_add(struct trace *t, const char *data, size_t size);
void trace_gap(struct trace *t);

#endif
