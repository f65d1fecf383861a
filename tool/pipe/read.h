/* read.h - the first stage: files -> batches of records. */
#ifndef WEIR_PIPE_READ_H
#define WEIR_PIPE_READ_H

#include "cli/inputs.h"
#include "pipe/batch.h"
#include "pipe/bytes.h"
#include "pipe/csv.h"
#include "pipe/position.h"

/* Which records must wait for those after them. */
struct holding {
    void *context;
    bool (*wait)(void *context, struct batch *b); /* must the last LOOK_AHEAD of these? NULL: no */
    uint64_t (*time)(void *context, struct batch *b, uint32_t i);
    bool at_once; /* no record waits for one that has not arrived */
};

struct reader {
    const struct records *records;
    char *const *files; /* "-" is standard input */
    uint32_t count;
    char delimiter; /* of records */
    double linger;  /* seconds to wait for more records after the first */

    uint32_t next; /* the next file to open */
    uint32_t file; /* the file that is or was open, and its name: */
    const char *name;
    const char *older; /* a file to read before the next one; or NULL */
    struct byte_reader bytes;
    bool heads;            /* the header of the open file was not read yet */
    uint64_t offset, line; /* of the first byte that is in no batch */
    size_t scanned;        /* bytes from there on without the end of a record */
    bool dropping;         /* in a record that is too long, to be skipped */
    uint64_t dropped;      /* bytes of it that no batch has counted */
    bool padded;           /* a delimiter was added after the last byte of the file */
    bool follows;          /* the last file may grow: its last line is left if it is not complete */
    bool left;             /* such a line was left */
    bool again;            /* a line that was not complete is read again */
    uint64_t unfinished;   /* bytes of the last record, if it lacked a delimiter */
    struct trace trace;    /* of what lies before offset */
    struct holding hold;
    struct csv_rules rules;
    struct csv_scan csv;

    char *header; /* first record of the first file, with its delimiter; or NULL */
    size_t header_size;
    uint64_t total; /* bytes of all files together, 0 if not known */
};

enum read_result { READ_BATCH, READ_NOTHING, READ_END };

void read_open(struct reader *r, const struct records *records, struct inputs inputs);
void read_close(struct reader *r);

/* Fill an empty batch with the records of one read(), or those that arrive while it lingers.
 * READ_NOTHING: none arrived in time. READ_END: end of all files, or a signal. */
enum read_result read_batch(struct reader *r, struct batch *b);

/* The position of the first record that is in no batch yet; and of the first after a batch, which
 * may have been cut. */
struct position read_position(const struct reader *r);
struct position read_behind(const struct batch *b);

/* Go to the position where an earlier run stopped, after the header if there is one; in the file of
 * that index, or in `older`, which had its name then. On failure, the batch contains the reason; it
 * is also used as scratch memory. */
bool read_seek(struct reader *r, const struct position *p, const char *older, struct batch *b);

#endif
