/* print.h - standard output for what is printed and not passed on: lists, counts,
 * help. Records go by pipe/write.c. */
#ifndef WEIR_CLI_PRINT_H
#define WEIR_CLI_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --format */
enum print_format {
    PRINT_TEXT, /* for people: of a table the columns that matter most, with units */
    PRINT_TSV,  /* a header line, then rows; numbers without units, texts by print_tsv_text() */
    PRINT_JSON, /* one document */
    PRINT_WIDE  /* PRINT_TEXT with all columns */
};

static inline bool print_is_text(enum print_format format)
{
    return format == PRINT_TEXT || format == PRINT_WIDE;
}

/* From here on stdout waits where standard output is not blocking and full. */
void print_open(void);

/* A cell of TSV: tab, line feed, carriage return and backslash become \t, \n, \r and \\. */
void print_tsv_text(const char *text, size_t size);

/* Rows of a key and its numbers. TSV: columns "key" and `names`. JSON: an array of objects
 * with the same names. The fields of a key of several are separated by a tab (TSV: an
 * escaped one), or are an array of strings. */
struct key_rows {
    enum print_format format;
    const char *const *names; /* of the numbers; NULL ends them */
    bool fields;              /* keys may have several */
    char end;                 /* of a line of text */
    uint64_t printed;
};

void key_rows_open(const struct key_rows *r);
void key_rows_add(struct key_rows *r, const char *key, size_t size, const char *const *numbers);
void key_rows_close(const struct key_rows *r);

/* Columns of the terminal that standard output is; 0 if it is none. */
int print_columns(void);

/* The rest of a line, from this column on, in as many lines as it takes: of less than 80 columns,
 * and of less than a narrower terminal has. */
void print_wrapped(const char *text, int column);

/* Has all that was printed been written? False after a message, the first time. */
bool print_flush(void);

#endif
