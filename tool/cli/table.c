/* table.c - see table.h. */
#include "cli/table.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void grid_open(struct grid *g, const char *const *names)
{
    *g = (struct grid){.name = names};
    while (names[g->columns])
        g->columns++;
}

void grid_close(struct grid *g)
{
    free(g->cell);
    arena_close(&g->arena);
}

static void add(struct grid *g, struct cell cell)
{
    if (g->cells == g->room) {
        size_t room = g->room ? 2 * g->room : 256;
        struct cell *more = realloc(g->cell, room * sizeof *more);

        g->short_of_memory |= !more;
        if (!more)
            return;
        g->cell = more;
        g->room = room;
    }
    g->cell[g->cells++] = cell;
}

void grid_text(struct grid *g, const char *format, ...)
{
    char text[CELL_MAX], *copy;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    copy = arena_take(&g->arena, strlen(text) + 1);
    g->short_of_memory |= !copy;
    if (copy)
        strcpy(copy, text);
    add(g, (struct cell){.kind = copy && *copy ? CELL_TEXT : CELL_NONE, .text = copy});
}

void grid_count(struct grid *g, uint64_t count)
{
    add(g, (struct cell){.kind = CELL_COUNT, .count = count});
}

void grid_number(struct grid *g, double number)
{
    add(g, (struct cell){.kind = isnan(number) ? CELL_NONE : CELL_NUMBER, .number = number});
}

void grid_none(struct grid *g)
{
    add(g, (struct cell){.kind = CELL_NONE});
}

size_t grid_rows(const struct grid *g)
{
    return g->cells / g->columns;
}

const struct cell *grid_cell(const struct grid *g, size_t row, const char *column)
{
    for (uint32_t i = 0; i < g->columns; i++)
        if (strcmp(g->name[i], column) == 0)
            return &g->cell[row * g->columns + i];
    return NULL;
}

double grid_value(const struct grid *g, size_t row, const char *column)
{
    const struct cell *c = grid_cell(g, row, column);

    return c && c->kind == CELL_NUMBER ? c->number : NAN;
}

/* ---- as text ---- */

int grid_show(const struct cell *c, int digits, char text[CELL_MAX])
{
    switch (c->kind) {
    case CELL_TEXT:
        return snprintf(text, CELL_MAX, "%s", c->text);
    case CELL_COUNT:
        return snprintf(text, CELL_MAX, "%llu", (unsigned long long)c->count);
    case CELL_NUMBER:
        return snprintf(text, CELL_MAX, "%.*g", digits, c->number);
    default:
        return snprintf(text, CELL_MAX, "-");
    }
}

static void print_tsv(const struct grid *g)
{
    char text[CELL_MAX];

    for (uint32_t i = 0; i < g->columns; i++)
        printf("%s%c", g->name[i], i + 1 < g->columns ? '\t' : '\n');
    for (size_t i = 0; i < g->cells; i++) {
        grid_show(&g->cell[i], 6, text);
        printf("%s%c", text, (i + 1) % g->columns ? '\t' : '\n');
    }
}

#define TABLE_DIGITS 4

/* 0 where there is nothing. */
static int width(const struct grid *g, uint32_t column, bool *left)
{
    int widest = (int)strlen(g->name[column]);
    bool empty = true;
    char text[CELL_MAX];

    for (size_t i = column; i < g->cells; i += g->columns) {
        int n = grid_show(&g->cell[i], TABLE_DIGITS, text);

        widest = n > widest ? n : widest;
        empty &= g->cell[i].kind == CELL_NONE;
        *left |= g->cell[i].kind == CELL_TEXT;
    }
    return empty ? 0 : widest;
}

/* Row -1 is that of the names. */
static void print_row(const struct grid *g, long row, const int *widths, const bool *left)
{
    const char *gap = "";
    char text[CELL_MAX], line[CELL_MAX * 4] = "";
    size_t used = 0;

    for (uint32_t i = 0; i < g->columns; i++) {
        if (widths[i] == 0)
            continue;
        if (row < 0)
            snprintf(text, sizeof text, "%s", g->name[i]);
        else
            grid_show(&g->cell[(size_t)row * g->columns + i], TABLE_DIGITS, text);
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%*s", gap,
                                 left[i] ? -widths[i] : widths[i], text);
        gap = "  ";
    }
    while (used > 0 && line[used - 1] == ' ')
        used--;
    printf("%.*s\n", (int)used, line);
}

static bool print_table(const struct grid *g)
{
    int *widths = calloc(g->columns, sizeof *widths);
    bool *left = calloc(g->columns, sizeof *left), ok = widths && left;

    for (uint32_t i = 0; ok && i < g->columns; i++)
        widths[i] = width(g, i, &left[i]);
    for (long row = -1; ok && row < (long)(g->cells / g->columns); row++)
        print_row(g, row, widths, left);
    free(widths);
    free(left);
    return ok;
}

/* ---- as JSON: an array of objects ---- */

static json_t *value(const struct cell *c)
{
    switch (c->kind) {
    case CELL_TEXT:
        return json_string(c->text);
    case CELL_COUNT:
        return json_integer((json_int_t)c->count);
    case CELL_NUMBER:
        return json_real(c->number);
    default:
        return json_null();
    }
}

static bool print_json(const struct grid *g)
{
    json_t *all = json_array(), *row = NULL;
    char *text;

    for (size_t i = 0; all && i < g->cells; i++) {
        if (i % g->columns == 0)
            json_array_append_new(all, row = json_object());
        json_object_set_new(row, g->name[i % g->columns], value(&g->cell[i]));
    }
    text = all ? json_dumps(all, JSON_REAL_PRECISION(6) | JSON_INDENT(1)) : NULL;
    if (text)
        puts(text);
    free(text);
    json_decref(all);
    return text != NULL;
}

bool grid_print(const struct grid *g, enum table_style style)
{
    if (g->short_of_memory)
        return false;
    if (style == TABLE_JSON)
        return print_json(g);
    if (style == TABLE_ALIGNED)
        return print_table(g);
    print_tsv(g);
    return true;
}
