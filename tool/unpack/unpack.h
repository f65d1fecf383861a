/* unpack.h - decompress a file or pipe as its data arrives, in constant memory. */
#ifndef WEIR_UNPACK_UNPACK_H
#define WEIR_UNPACK_UNPACK_H

#include <sys/types.h>

#include "store/magic.h"

#define UNPACK_BLOCK ((size_t)128 << 10) /* bytes per read(), and per block */

struct unpack;

/* Open a descriptor whose first `size` bytes have been read (at most UNPACK_BLOCK). waits: it is
 * not a regular file, so reading may block. thread: use a thread if the process may use more than
 * one processor. NULL if out of memory. */
struct unpack *unpack_open(int fd, bool waits, enum file_kind kind, const void *head, size_t size,
                           bool thread);
void unpack_close(struct unpack *u);

/* Read bytes. Returns their number, or */
#define UNPACK_END 0
#define UNPACK_FAILED (-1) /* unpack_failure() says why */
#define UNPACK_WAIT (-2)   /* none yet: retry when unpack_waits_for() is readable */
ssize_t unpack_read(struct unpack *u, void *to, size_t most);
int unpack_waits_for(const struct unpack *u);

/* The error, to print after the file name: "is truncated: ..." */
const char *unpack_failure(const struct unpack *u);

/* errno if reading failed; 0 if the data is damaged or truncated. */
int unpack_error(const struct unpack *u);

/* A regular file, decompressed if it is compressed, for callers that read bytes, not records. */
struct unpacked_file {
    int fd;
    struct unpack *unpack; /* NULL: not compressed */
    char failure[200];
};

/* Open a file; the caller keeps fd. plain: do not decompress. False if it cannot be read; see
 * failure. */
bool unpacked_open(struct unpacked_file *f, int fd, bool plain);
void unpacked_close(struct unpacked_file *f);

/* Read bytes; 0 at the end or after a signal; -1 after an error: print failure after the file name.
 */
ssize_t unpacked_read(struct unpacked_file *f, void *to, size_t most);

/* ---- on the calling thread: codec.c ---- */

struct packed_stream {
    int fd;
    bool waits;
    enum file_kind kind;
    const struct codec *codec;
    void *own; /* state of the codec */
    uint8_t *in;
    size_t begin, end;
    bool ended;  /* end of the descriptor */
    bool filled; /* the last step filled the output: there may be more */
    bool whole;
    bool failed; /* the data is damaged: */
    int error;   /* errno of read(); 0 if the data is damaged */
    char failure[160];
};

/* Like the functions of unpack.h. */
bool packed_open(struct packed_stream *s, int fd, bool waits, enum file_kind kind, const void *head,
                 size_t size);
void packed_close(struct packed_stream *s);
ssize_t packed_read(struct packed_stream *s, void *to, size_t most);

#endif
