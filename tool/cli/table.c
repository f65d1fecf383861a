/* table.c - see table.h. */
#include "cli/table.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/print.h"
#include "cli/units.h"

#define TABLE_DIGITS 4
#define TSV_DIGITS 6
#define GAP 2      /* columns between two cells */
#define TEXT_MIN 8 /* columns; a text column that is narrower is omitted */

/* ---- cells ---- */

struct cell {
    bool none, is_text, is_real;
    const char *text;
    double real;
    uint64_t whole;
};

static bool is_text(const struct table *t, size_t column)
{
    return t->column[column].kind == COLUMN_TEXT || t->column[column].kind == COLUMN_CHARS;
}

static struct cell read_cell(const struct table *t, size_t row, size_t column)
{
    enum column_kind kind = t->column[column].kind;
    const void *at = (const char *)t->row + row * t->size + t->column[column].offset;
    struct cell c = {.is_text = is_text(t, column),
                     .is_real = kind == COLUMN_NUMBER || kind == COLUMN_RATE};

    if (c.is_text)
        c.text = kind == COLUMN_CHARS ? at : *(const char *const *)at;
    else if (c.is_real)
        c.real = *(const double *)at;
    else
        c.whole = *(const uint64_t *)at;
    c.none = c.is_text ? !c.text || !*c.text : isnan(c.real);
    return c;
}

bool table_is_empty(const struct table *t, size_t column)
{
    for (size_t row = 0; row < t->rows; row++)
        if (!read_cell(t, row, column).none)
            return false;
    return true;
}

int table_show(const struct table *t, size_t row, size_t column, int digits, char text[CELL_MAX])
{
    struct cell c = read_cell(t, row, column);

    if (c.none || c.is_text)
        return snprintf(text, CELL_MAX, "%s", c.none ? "-" : c.text);
    if (c.is_real)
        return snprintf(text, CELL_MAX, "%.*g", digits, c.real);
    return snprintf(text, CELL_MAX, "%llu", (unsigned long long)c.whole);
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
            int size = table_show(t, row, i, TSV_DIGITS, text);

            if (i)
                putchar('\t');
            print_tsv_text(text, (size_t)size < CELL_MAX ? (size_t)size : CELL_MAX - 1);
        }
        printf("\n");
    }
}

/* ---- an aligned table ---- */

/* A rate as a percentage. */
static int show_percent(double rate, char text[CELL_MAX])
{
    double percent = rate * 100;

    if (percent > 0 && percent < 0.0001)
        return snprintf(text, CELL_MAX, "<0.0001%%");
    return snprintf(text, CELL_MAX,
                    percent >= 99.995 || percent == 0 ? "%.0f%%"
                    : percent >= 10                   ? "%.1f%%"
                    : percent >= 0.1                  ? "%.2f%%"
                                                      : "%.4f%%",
                    percent);
}

/* Without an exponent. */
static int show_plain(double number, char text[CELL_MAX])
{
    if (fabs(number) >= 9999.5 && isfinite(number)) /* %.4g would print an exponent */
        return snprintf(text, CELL_MAX, "%s", show_count(number).text);
    if (number > 1e-15 && number < 1e-4) /* three significant digits */
        return snprintf(text, CELL_MAX, "%.*f", 2 - (int)floor(log10(number)), number);
    return snprintf(text, CELL_MAX, "%.*g", TABLE_DIGITS, number);
}

/* Row -1 contains the column names. */
static int show(const struct table *t, long row, size_t column, char text[CELL_MAX])
{
    const struct table_column *of = &t->column[column];
    int unit = of->kind == COLUMN_BYTES ? (int)strlen("_bytes") : 0;

    if (row < 0)
        return snprintf(text, CELL_MAX, "%.*s", (int)strlen(of->name) - unit, of->name);
    struct cell c = read_cell(t, (size_t)row, column);
    if (!c.none && of->kind == COLUMN_BYTES)
        return snprintf(text, CELL_MAX, "%s", show_bytes((double)c.whole).text);
    if (!c.none && c.is_real)
        return (of->kind == COLUMN_RATE ? show_percent : show_plain)(c.real, text);
    return table_show(t, (size_t)row, column, TABLE_DIGITS, text);
}

static size_t count_columns(const struct table *t)
{
    size_t columns = 0;

    while (t->column[columns].name)
        columns++;
    return columns;
}

/* 0 if the column is omitted. */
static int width(const struct table *t, size_t column, bool wide)
{
    int widest = 0;
    char text[CELL_MAX];

    if (table_is_empty(t, column) || (t->column[column].rest && !wide))
        return 0;
    for (long row = -1; row < (long)t->rows; row++) {
        int n = show(t, row, column, text);

        widest = n > widest ? n : widest;
    }
    return widest;
}

/* By how many columns a line exceeds the terminal; 0 without a terminal. */
static int too_many(const struct table *t, const int *widths)
{
    int columns = print_columns(), line = -GAP;

    for (size_t i = 0; t->column[i].name; i++)
        line += widths[i] ? widths[i] + GAP : 0;
    return columns > 0 && line >= columns ? line - columns + 1 : 0;
}

/* Cut the widest text column, except the first, to fit the terminal. */
static void narrow_text(const struct table *t, int *widths)
{
    size_t longest = 0;

    for (size_t i = 1; t->column[i].name; i++)
        if (is_text(t, i) && (longest == 0 || widths[i] > widths[longest]))
            longest = i;
    if (longest == 0 || too_many(t, widths) == 0)
        return;
    widths[longest] -= too_many(t, widths);
    if (widths[longest] < TEXT_MIN)
        widths[longest] = 0;
}

/* If that is not enough, omit columns from the right; keep two. */
static void narrow(const struct table *t, int *widths)
{
    narrow_text(t, widths);
    for (size_t i = count_columns(t); i-- > 2 && too_many(t, widths) > 0;)
        widths[i] = 0;
}

static void print_row(const struct table *t, long row, const int *widths)
{
    char text[CELL_MAX], line[CELL_MAX * 4] = "";
    size_t used = 0;

    for (size_t i = 0; t->column[i].name; i++) {
        if (widths[i] == 0)
            continue;
        if (show(t, row, i, text) > widths[i])
            memcpy(text + widths[i] - 2, "..", 3);
        used += (size_t)snprintf(line + used, sizeof line - used, "%*s%*s", used ? GAP : 0, "",
                                 is_text(t, i) ? -widths[i] : widths[i], text);
    }
    while (used > 0 && line[used - 1] == ' ')
        used--;
    printf("%.*s\n", (int)used, line);
}

static bool print_aligned(const struct table *t, bool wide)
{
    int *widths = calloc(count_columns(t), sizeof *widths);

    if (!widths)
        return false;
    for (size_t i = 0; t->column[i].name; i++)
        widths[i] = width(t, i, wide);
    if (!wide)
        narrow(t, widths);
    for (long row = -1; row < (long)t->rows; row++)
        print_row(t, row, widths);
    free(widths);
    return true;
}

/* ---- JSON: an array of objects ---- */

static json_t *value(const struct table *t, size_t row, size_t column)
{
    struct cell c = read_cell(t, row, column);

    if (c.none || (c.is_real && !isfinite(c.real))) /* JSON has no infinity */
        return json_null();
    return c.is_text   ? json_string(c.text)
           : c.is_real ? json_real(c.real)
                       : json_integer((json_int_t)c.whole);
}

static json_t *object(const struct table *t, size_t row)
{
    json_t *all = json_object();

    for (size_t i = 0; t->column[i].name; i++)
        all = json_with(all, t->column[i].name, value(t, row, i));
    return all;
}

static bool print_json(const struct table *t)
{
    json_t *all = json_array();

    for (size_t row = 0; row < t->rows; row++)
        all = json_appended(all, object(t, row));
    return json_print(all, JSON_INDENT(1));
}

bool table_print(const struct table *t, enum print_format format)
{
    if (format == PRINT_JSON)
        return print_json(t);
    if (format == PRINT_TSV)
        print_tsv(t);
    return format == PRINT_TSV || print_aligned(t, format == PRINT_WIDE) || reject("out of memory");
}
