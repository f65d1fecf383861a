/* read.h - the first stage: files -> batches of records. */
#ifndef WEIR_PIPE_READ_H
#define WEIR_PIPE_READ_H

#include "cli/records.h"
#include "pipe/batch.h"
#include "pipe/bytes.h"
#include "pipe/csv.h"
#include "pipe/position.h"
#include "cli/inputs.h"

/* Which records must wait for those after them: see hold.h. */
struct holding {
    void *context;
    bool (*wait)(void *context, struct batch *b); /* must the last LOOK_AHEAD of these? NULL: no */
    uint64_t (*time)(void *context, struct batch *b, uint32_t i);
    bool at_once; /* none waits for what has not come yet */
};

struct reader {
    const struct records *records;
    char *const *files; /* "-" is standard input */
    uint32_t count;
    char delimiter; /* of records */
    double linger;  /* seconds to wait for more, once there is some */

    uint32_t next; /* file to open when none is */
    uint32_t file; /* the one that is or was open, and its name: */
    const char *name;
    const char *older; /* to be read before the next file; or NULL */
    struct byte_reader bytes;
    bool heads;            /* the header of the open file is to come */
    uint64_t offset, line; /* of the first byte that is in no batch */
    size_t scanned;        /* bytes from there on that hold no record end */
    bool dropping;         /* in a record that is too long, to be skipped */
    uint64_t dropped;      /* bytes of it that no batch has counted */
    bool padded;           /* the last byte of the file is a delimiter of ours */
    bool follows;          /* the last file may grow: its last line is left if it is not complete */
    bool left;             /* such a one was */
    bool again;            /* one that was not complete is read once more */
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

/* Fill an empty batch with what one read() brings, or as many as there is time to
 * linger. READ_NOTHING: patience is at an end. READ_END: all files are, or a signal came. */
enum read_result read_batch(struct reader *r, struct batch *b);

/* Where the first record lies that is in no batch yet; and the first one behind
 * a batch, which may have been cut. */
struct position read_position(const struct reader *r);
struct position read_behind(const struct batch *b);

/* Go to where an earlier run stopped, past the header if there is one; in the
 * file of that number, or before it in one that had its name once. On failure the
 * batch, which is used as working space, says why. */
bool read_seek(struct reader *r, const struct position *p, const char *older, struct batch *b);

#endif
