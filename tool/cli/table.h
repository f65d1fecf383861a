/* table.h - an array of structs, printed as a table, as TSV or as JSON.
 A list of
 * columns names the members to print. */
#ifndef WEIR_CLI_TABLE_H
#define WEIR_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/print.h"

enum column_kind {
    COLUMN_TEXT,   /* const char *; NULL or "": no value */
    COLUMN_CHARS,  /* an array of char; "": no value */
    COLUMN_COUNT,  /* uint64_t */
    COLUMN_BYTES,  /* uint64_t; its name ends in _bytes, which aligned tables omit */
    COLUMN_NUMBER, /* double; NaN: no value */
    COLUMN_RATE    /* double from 0 to 1; aligned tables print percentages */
};

struct table_column {
    const char *name; /* NULL ends a list */
    enum column_kind kind;
    size_t offset; /* of the member */
    bool rest;     /* aligned tables print it only with --wide */
};

/* The column of a struct's member; and one that aligned tables print only with --wide. */
#define TABLE_COLUMN(row, name, kind, member)                                                      \
    {                                                                                              \
        name, COLUMN_##kind, offsetof(struct row, member), false                                   \
    }
#define TABLE_REST(row, name, kind, member)                                                        \
    {                                                                                              \
        name, COLUMN_##kind, offsetof(struct row, member), true                                    \
    }

struct table {
    const struct table_column *column;
    const void *row;
    size_t size, rows; /* bytes per row; number of rows */
};

/* Is a column without a value in every row? */
bool table_is_empty(const struct table *t, size_t column);

/* Format a cell with this many digits, "-" without a value. Returns its length. */
#define CELL_MAX 1024
int table_show(const struct table *t, size_t row, size_t column, int digits, char text[CELL_MAX]);

/* Print to standard output; "-" or null without a value. Aligned tables omit empty columns. Without
 * --wide, a terminal that is too narrow cuts texts, then omits the last columns. False after a
 * message if memory is exhausted. */
bool table_print(const struct table *t, enum print_format format);

#endif
