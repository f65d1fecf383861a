/* table.c - see table.h. */
#include "cli/table.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"

#define TABLE_DIGITS 4
#define TSV_DIGITS 6

/* ---- cells ---- */

static const void *cell(const struct table *t, size_t row, size_t column)
{
    return (const char *)t->row + row * t->size + t->column[column].offset;
}

/* The text of a cell, NULL if there is none. */
static const char *text_of(const struct table *t, size_t row, size_t column)
{
    const void *at = cell(t, row, column);
    const char *text = t->column[column].kind == COLUMN_CHARS ? at : *(const char *const *)at;

    return text && *text ? text : NULL;
}

static bool is_text(const struct table *t, size_t column)
{
    return t->column[column].kind == COLUMN_TEXT || t->column[column].kind == COLUMN_CHARS;
}

static bool is_none(const struct table *t, size_t row, size_t column)
{
    if (is_text(t, column))
        return !text_of(t, row, column);
    return t->column[column].kind == COLUMN_NUMBER && isnan(*(const double *)cell(t, row, column));
}

bool table_is_empty(const struct table *t, size_t column)
{
    for (size_t row = 0; row < t->rows; row++)
        if (!is_none(t, row, column))
            return false;
    return true;
}

int table_show(const struct table *t, size_t row, size_t column, int digits, char text[CELL_MAX])
{
    if (is_none(t, row, column))
        return snprintf(text, CELL_MAX, "-");
    if (is_text(t, column))
        return snprintf(text, CELL_MAX, "%s", text_of(t, row, column));
    if (t->column[column].kind == COLUMN_COUNT)
        return snprintf(text, CELL_MAX, "%llu",
                        (unsigned long long)*(const uint64_t *)cell(t, row, column));
    return snprintf(text, CELL_MAX, "%.*g", digits, *(const double *)cell(t, row, column));
}

/* ---- TSV ---- */

static void print_tsv(const struct table *t)
{
    char text[CELL_MAX];

    for (size_t i = 0; t->column[i].name; i++)
        printf("%s%s", i ? "\t" : "", t->column[i].name);
    printf("\n");
    for (size_t row = 0; row < t->rows; row++) {
        for (size_t i = 0; t->column[i].name; i++) {
            table_show(t, row, i, TSV_DIGITS, text);
            printf("%s%s", i ? "\t" : "", text);
        }
        printf("\n");
    }
}

/* ---- an aligned table ---- */

static size_t count_columns(const struct table *t)
{
    size_t columns = 0;

    while (t->column[columns].name)
        columns++;
    return columns;
}

/* 0 where there is nothing. */
static int width(const struct table *t, size_t column)
{
    int widest = (int)strlen(t->column[column].name);
    char text[CELL_MAX];

    if (table_is_empty(t, column))
        return 0;
    for (size_t row = 0; row < t->rows; row++) {
        int n = table_show(t, row, column, TABLE_DIGITS, text);

        widest = n > widest ? n : widest;
    }
    return widest;
}

/* Row -1 is that of the names. */
static void print_row(const struct table *t, long row, const int *widths)
{
    const char *gap = "";
    char text[CELL_MAX], line[CELL_MAX * 4] = "";
    size_t used = 0;

    for (size_t i = 0; t->column[i].name; i++) {
        if (widths[i] == 0)
            continue;
        if (row < 0)
            snprintf(text, sizeof text, "%s", t->column[i].name);
        else
            table_show(t, (size_t)row, i, TABLE_DIGITS, text);
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%*s", gap,
                                 is_text(t, i) ? -widths[i] : widths[i], text);
        gap = "  ";
    }
    while (used > 0 && line[used - 1] == ' ')
        used--;
    printf("%.*s\n", (int)used, line);
}

static bool print_aligned(const struct table *t)
{
    int *widths = calloc(count_columns(t), sizeof *widths);

    if (!widths)
        return false;
    for (size_t i = 0; t->column[i].name; i++)
        widths[i] = width(t, i);
    for (long row = -1; row < (long)t->rows; row++)
        print_row(t, row, widths);
    free(widths);
    return true;
}

/* ---- JSON: an array of objects ---- */

static json_t *value(const struct table *t, size_t row, size_t column)
{
    if (is_none(t, row, column))
        return json_null();
    if (is_text(t, column))
        return json_string(text_of(t, row, column));
    if (t->column[column].kind == COLUMN_COUNT)
        return json_integer((json_int_t) * (const uint64_t *)cell(t, row, column));
    return json_real(*(const double *)cell(t, row, column));
}

static bool print_json(const struct table *t)
{
    json_t *all = json_array();
    char *text;

    for (size_t row = 0; all && row < t->rows; row++) {
        json_t *object = json_object();

        json_array_append_new(all, object);
        for (size_t i = 0; t->column[i].name; i++)
            json_object_set_new(object, t->column[i].name, value(t, row, i));
    }
    text = all ? json_dumps(all, JSON_REAL_PRECISION(6) | JSON_INDENT(1)) : NULL;
    if (text)
        puts(text);
    free(text);
    json_decref(all);
    return text != NULL;
}

bool table_print(const struct table *t, enum table_style style)
{
    bool ok = true;

    if (style == TABLE_TSV)
        print_tsv(t);
    else
        ok = style == TABLE_JSON ? print_json(t) : print_aligned(t);
    if (!ok)
        fail("memory is short");
    return ok;
}
