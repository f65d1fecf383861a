/* bytes.h - the bytes of one input. A batch gives back those after its last record. */
#ifndef WEIR_PIPE_BYTES_H
#define WEIR_PIPE_BYTES_H

#include <sys/types.h>

#include "pipe/batch.h"
#include "pipe/position.h"
#include "unpack/unpack.h"

struct byte_reader {
    int fd;       /* -1: none is open */
    bool regular; /* the file is one */
    bool plain;   /* do not decompress */
    bool ended;   /* its end was met */
    int patience; /* milliseconds to wait for input; -1: no limit */
    char *rest;   /* bytes that were read and are in no batch: */
    size_t begin, end, room;
    bool fresh;             /* the current batch holds bytes that are not in rest any more */
    struct trace trace;     /* of the bytes read, or decompressed and passed on */
    bool known;             /* what it is: */
    enum file_kind kind;    /* and if it is compressed, */
    struct unpack *unpack;  /* what it becomes: */
    bool looked;            /* its first bytes were checked */
    enum file_kind within;  /* what that is */
    char head[MAGIC_BYTES]; /* its first bytes, while its type is unknown */
    size_t headed;
    uint64_t moved; /* bytes copied into and out of rest so far, for the tests */
};

/* Open a file; "-" is standard input. Returns false and errno on failure. */
bool bytes_open(struct byte_reader *r, const char *name);
void bytes_close_file(struct byte_reader *r); /* and keep what is allocated */
void bytes_close(struct byte_reader *r);

/* Begin a batch with the bytes that were given back: at least its first bytes, at most those or a
 * block. Returns their number, -1 if out of memory. */
ssize_t bytes_begin(struct byte_reader *r, struct batch *b, size_t first);

/* Read more bytes after those of the batch, which must have space. Returns how many, or: */
#define BYTES_END 0
#define BYTES_FAILED (-1)  /* errno says why */
#define BYTES_NONE (-2)    /* none arrived in time, or a signal did */
#define BYTES_CHANGED (-3) /* the file was truncated or overwritten meanwhile */
#define BYTES_DAMAGED (-4) /* the compressed data cannot be decompressed: unpack_failure() */
#define BYTES_FOREIGN (-5) /* a file type that contains no records */
ssize_t bytes_more(struct byte_reader *r, struct batch *b, size_t filled);

/* Seek in a regular file, past the bytes that were given back; in decompressed bytes if it is
 * compressed. Returns 1, 0 if the file ends before, or an error of bytes_more(). */
ssize_t bytes_seek(struct byte_reader *r, uint64_t offset);

/* Is it decompressed? Known for a regular file from the start. */
static inline bool bytes_is_unpacked(const struct byte_reader *r)
{
    return r->unpack != NULL;
}

/* Add a byte that is not in the file. */
void bytes_add(struct byte_reader *r, struct batch *b, size_t *filled, char c);

/* Give back all bytes after the first used bytes of a batch. */
bool bytes_give_back(struct byte_reader *r, struct batch *b, size_t used, size_t filled);

/* Forget what was given back. */
void bytes_forget(struct byte_reader *r);

static inline size_t bytes_left(const struct byte_reader *r)
{
    return r->end - r->begin;
}

#endif
