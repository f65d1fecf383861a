/* table.h - rows under named columns, printed as a table, as TSV or as JSON. */
#ifndef WEIR_CLI_TABLE_H
#define WEIR_CLI_TABLE_H

#include "pipe/batch.h"

enum table_style { TABLE_ALIGNED, TABLE_TSV, TABLE_JSON };
enum cell_kind { CELL_NONE, CELL_TEXT, CELL_COUNT, CELL_NUMBER };

struct cell {
    enum cell_kind kind;
    const char *text;
    uint64_t count;
    double number;
};

struct grid {
    const char *const *name; /* of the columns */
    uint32_t columns;
    struct cell *cell;
    size_t cells, room;
    struct arena arena; /* of texts */
    bool short_of_memory;
};

void grid_open(struct grid *g, const char *const *names); /* ends with NULL */
void grid_close(struct grid *g);

/* The next cell, row by row. */
void grid_text(struct grid *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
void grid_count(struct grid *g, uint64_t count);
void grid_number(struct grid *g, double number); /* not a number: none */
void grid_none(struct grid *g);

size_t grid_rows(const struct grid *g);

/* A cell by the name of its column; NULL if there is no such column. */
const struct cell *grid_cell(const struct grid *g, size_t row, const char *column);

/* Its number; not a number where there is none. */
double grid_value(const struct grid *g, size_t row, const char *column);

/* A cell as text, with so many digits; returns its length. */
#define CELL_MAX 1024
int grid_show(const struct cell *c, int digits, char text[CELL_MAX]);

/* On standard output; "-" or null for none. The table leaves out columns
 * without anything. False if memory is short. */
bool grid_print(const struct grid *g, enum table_style style);

#endif
