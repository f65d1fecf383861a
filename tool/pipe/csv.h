/* csv.h - records and fields of RFC 4180: fields may be quoted, quoted fields
 * may contain delimiters, line breaks and doubled quotes. Lines end with LF or
 * CRLF. */
#ifndef WEIR_PIPE_CSV_H
#define WEIR_PIPE_CSV_H

#include <string.h>

#include "pipe/batch.h"

/* Bytes of the mark that some programs put before the first field of a file
 * (EF BB BF); 0 if there is none. */
static inline size_t csv_mark(const char *data, size_t size)
{
    return size >= 3 && *data == '\xef' && data[1] == '\xbb' && data[2] == '\xbf' ? 3 : 0;
}

struct csv_rules {
    char delimiter;   /* of fields */
    bool skip;        /* faulty records are marked, not an end */
    uint64_t longest; /* bytes of a record */
};

/* State of the search for record ends; zero at the start of a record. */
struct csv_scan {
    size_t at;         /* next byte to examine */
    size_t start;      /* of the current record */
    size_t field;      /* start of the current field */
    size_t close;      /* the quote that closed the field, if closed */
    bool quoted;       /* inside quotes */
    bool closed;       /* after the closing quote */
    bool given_up;     /* the record is faulty and ends at the next line break */
    const char *fault; /* why the record is not CSV; it ends at a line break outside quotes */
};

/* Find record ends in data[s->at .. to) and add them to the batch, until it
 * is full or failed.
 *
 * A record that does not end within the longest length is given up: its first
 * line is a malformed record, and the search continues after that line. So a stray
 * quote costs one line only. */
void csv_split(struct csv_scan *s, struct batch *b, size_t to, const struct csv_rules *rules);

/* Give up the current record: its first line is malformed, for this reason. */
void csv_give_up(struct csv_scan *s, const char *fault);

/* The first bytes of the batch were removed: move all positions. */
void csv_move(struct csv_scan *s, size_t bytes);

/* A quoted field without its quotes; others as they are. False if out of memory. */
bool csv_unquote_doubled(struct arena *a, struct weir_bytes *field);

static inline bool csv_unquote(struct arena *a, struct weir_bytes *field)
{
    const char *text = field->data;

    if (field->size < 2 || *text != '"')
        return true;
    *field = (struct weir_bytes){text + 1, field->size - 2};
    return !memchr(text + 1, '"', field->size) || csv_unquote_doubled(a, field);
}

#endif
