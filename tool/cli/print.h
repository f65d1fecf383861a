/* print.h - results on standard output: lists, counts, help. Records are written by pipe/write.c.
 */
#ifndef WEIR_CLI_PRINT_H
#define WEIR_CLI_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --format */
enum print_format {
    PRINT_TEXT, /* for people: the main columns of a table, with units */
    PRINT_TSV,  /* a header line, then rows; numbers without units, texts by print_tsv_text() */
    PRINT_JSON, /* one document */
    PRINT_WIDE  /* PRINT_TEXT with all columns */
};

static inline bool print_is_text(enum print_format format)
{
    return format == PRINT_TEXT || format == PRINT_WIDE;
}

/* Make stdout wait if standard output is full and non-blocking. */
void print_open(void);

/* A cell of TSV: tab, line feed, carriage return and backslash become \t, \n, \r and \\. */
void print_tsv_text(const char *text, size_t size);

/* Rows of a key and its numbers. TSV: columns "key" and `names`. JSON: an array of objects
 * with the same names. Several fields of a key are separated by a tab (escaped in TSV), or are an
 * array of strings in JSON. */
struct key_rows {
    enum print_format format;
    const char *const *names; /* of the numbers; NULL-terminated */
    bool fields;              /* keys may have several fields */
    char end;                 /* of a line of text */
    uint64_t printed;
};

void key_rows_open(const struct key_rows *r);
void key_rows_add(struct key_rows *r, const char *key, size_t size, const char *const *numbers);
void key_rows_close(const struct key_rows *r);

/* Columns of the terminal; 0 if standard output is not a terminal. */
int print_columns(void);

/* Print text that starts at this column, wrapped to 79 columns or the width of the terminal. */
void print_wrapped(const char *text, int column);

/* Flush. False if anything printed could not be written, with a message the first time. */
bool print_flush(void);

#endif
