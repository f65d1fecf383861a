/* table.h - an array of structs, printed as a table, as TSV or as JSON.
 *
 * The figures stay in the structs; a list of columns says which member stands
 * under which name. */
#ifndef WEIR_CLI_TABLE_H
#define WEIR_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/print.h"

enum column_kind {
    COLUMN_TEXT,   /* const char *; NULL or empty: none */
    COLUMN_CHARS,  /* an array of char; empty: none */
    COLUMN_COUNT,  /* uint64_t */
    COLUMN_BYTES,  /* uint64_t; its name ends in _bytes, which aligned tables leave out */
    COLUMN_NUMBER, /* double; not a number: none */
    COLUMN_RATE    /* the same, from 0 to 1; aligned tables have percentages */
};

struct table_column {
    const char *name; /* NULL ends a list */
    enum column_kind kind;
    size_t offset; /* of the member */
    bool rest;     /* of all aligned tables only the wide one has it */
};

struct table {
    const struct table_column *column;
    const void *row;
    size_t size, rows; /* bytes of a row; how many there are */
};

/* Has a column nothing in any row? */
bool table_is_empty(const struct table *t, size_t column);

/* A cell as text, with so many digits, "-" for none; returns its length. */
#define CELL_MAX 1024
int table_show(const struct table *t, size_t row, size_t column, int digits, char text[CELL_MAX]);

/* On standard output; "-" or null for none. Aligned tables leave out empty
 * columns, and on a terminal that is too narrow they cut texts, then leave out the last
 * columns, unless they are wide. False after a
 * message if memory is short. */
bool table_print(const struct table *t, enum print_format format);

#endif
