/* bytes.h - the bytes of one input: read, and given back by a batch that has no
 * use for them yet. */
#ifndef WEIR_PIPE_BYTES_H
#define WEIR_PIPE_BYTES_H

#include <sys/types.h>

#include "pipe/batch.h"
#include "pipe/position.h"
#include "unpack/unpack.h"

struct byte_reader {
    int fd;       /* -1: none is open */
    bool regular; /* the file is one */
    bool plain;   /* what is compressed is taken as it is */
    bool ended;   /* its end was met */
    int patience; /* milliseconds to wait for input, -1: for ever */
    char *rest;   /* bytes that were read and are in no batch: */
    size_t begin, end, room;
    bool fresh;             /* the batch under way holds bytes that are not in rest any more */
    struct trace trace;     /* of what was read; of what is decompressed, what was passed over */
    bool known;             /* what it is: */
    enum file_kind kind;    /* and if it is compressed, */
    struct unpack *unpack;  /* what it becomes: */
    bool looked;            /* its first bytes have told */
    enum file_kind within;  /* what that is */
    char head[MAGIC_BYTES]; /* its first bytes, while that is not known */
    size_t headed;
    uint64_t moved; /* bytes copied into and out of rest so far, for the tests */
};

/* Open a file, "-" being standard input. False if it failed; errno says why. */
bool bytes_open(struct byte_reader *r, const char *name);
void bytes_close_file(struct byte_reader *r); /* and keep what is allocated */
void bytes_close(struct byte_reader *r);

/* Begin a batch with what was given back: at least the first bytes of it, at most
 * those or a block. Returns how many, -1 if memory is short. */
ssize_t bytes_begin(struct byte_reader *r, struct batch *b, size_t first);

/* More bytes behind those that the batch has; how many. They must have room. */
#define BYTES_END 0
#define BYTES_FAILED (-1)  /* errno says why */
#define BYTES_NONE (-2)    /* none came in time, or a signal came */
#define BYTES_CHANGED (-3) /* the file was cut short or overwritten meanwhile */
#define BYTES_DAMAGED (-4) /* what is compressed cannot be decompressed: unpack_failure() */
#define BYTES_FOREIGN (-5) /* it is a file of a kind that holds no records */
ssize_t bytes_more(struct byte_reader *r, struct batch *b, size_t filled);

/* Go to a place of a regular file, past what was given back: a byte of what is decompressed,
 * where it is compressed. 1, 0 if the file ends before, or as bytes_more() says it. */
ssize_t bytes_seek(struct byte_reader *r, uint64_t offset);

/* Is it decompressed? Known of a regular file from the start. */
static inline bool bytes_is_unpacked(const struct byte_reader *r)
{
    return r->unpack != NULL;
}

/* Add a byte that is not in the file. */
void bytes_add(struct byte_reader *r, struct batch *b, size_t *filled, char c);

/* Give back what lies behind the first used bytes of a batch. */
bool bytes_give_back(struct byte_reader *r, struct batch *b, size_t used, size_t filled);

/* Forget what was given back. */
void bytes_forget(struct byte_reader *r);

static inline size_t bytes_left(const struct byte_reader *r)
{
    return r->end - r->begin;
}

#endif
