/* csv.h - records and fields of RFC 4180: fields may be quoted, quoted ones
 * may hold delimiters, line breaks and doubled quotes. Lines end with LF or
 * CRLF. */
#ifndef WEIR_PIPE_CSV_H
#define WEIR_PIPE_CSV_H

#include "pipe/batch.h"

/* Bytes of the mark that some programs put before the first field of a file
 * (EF BB BF); 0 if there is none. */
size_t csv_mark(const char *data, size_t size);

/* Where the search for record ends stands; zero at the start of a record. */
struct csv_scan {
    size_t at;         /* next byte to look at */
    size_t field;      /* start of the field that at is in */
    size_t close;      /* the quote that closed the field, if */
    bool quoted;       /* inside quotes */
    bool closed;       /* behind them */
    const char *fault; /* why the record is no CSV; it ends at the next line break */
};

/* Find record ends in data[s->at .. to) and put them into the batch, until it
 * is full or failed. */
void csv_split(struct csv_scan *s, struct batch *b, size_t to, char delimiter, bool skip);

/* The record under way will not end: take its first line for a faulty one. */
void csv_give_up(struct csv_scan *s, const struct batch *b, const char *fault);

/* The next field from *at on, as it is in the record (quotes and all); *at
 * becomes NULL after the last. The record must have passed csv_split. */
struct weir_bytes csv_field(const char **at, const char *end, char delimiter);

/* A quoted field without its quotes; others as they are. */
bool csv_unquote(struct arena *a, struct weir_bytes *field);

#endif
