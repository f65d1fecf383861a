/* plan_table.c - the table of weir plan, a row per filter (plan.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/table.h"
#include "cmd/plan.h"

struct plan_row {
    char name[64];
    const char *settings, *choice;
    struct weir_prediction p;
    double bits;
    char why[512];
};

#define COLUMN(name, kind, member)                                                                 \
    {                                                                                              \
        name, COLUMN_##kind, offsetof(struct plan_row, member), false                              \
    }
#define REST(name, kind, member)                                                                   \
    {                                                                                              \
        name, COLUMN_##kind, offsetof(struct plan_row, member), true                               \
    }

static const struct table_column columns[] = {
    COLUMN("algorithm", CHARS, name),     COLUMN("settings", TEXT, settings),
    COLUMN("choice", TEXT, choice),       COLUMN("memory_bytes", BYTES, p.memory),
    REST("cost", NUMBER, p.cost),         COLUMN("fpr", RATE, p.fpr),
    COLUMN("fnr", RATE, p.fnr),           REST("fill", RATE, p.fill),
    REST("error_at_end", RATE, p.error),  REST("stable_error", RATE, p.stable),
    REST("bits_per_key", NUMBER, bits),   COLUMN("remembered", NUMBER, p.remembered),
    REST("limit_fnr", RATE, p.least_fnr), REST("lru_fnr", RATE, p.lru_fnr),
    COLUMN("reason", CHARS, why),         {NULL},
};

/* Of a set it is the error at the end that counts, and what a key takes. */
static void show_for_sets(struct table_column *column)
{
    for (; column->name; column++)
        if (column->offset == offsetof(struct plan_row, p.error) ||
            column->offset == offsetof(struct plan_row, bits))
            column->rest = false;
        else if (column->offset == offsetof(struct plan_row, p.fpr))
            column->rest = true;
}

static void fill_row(struct plan_row *row, const struct plan *p, size_t i)
{
    const struct options *o = p->options;

    row->p = p->p[i];
    snprintf(row->name, sizeof row->name, "%.*s", (int)plan_name_size(&row->p), row->p.config);
    row->settings = strchr(row->p.config + plan_name_size(&row->p) + 1, ' '); /* after memory= */
    row->settings = row->settings ? row->settings + 1 : NULL;
    row->bits = plan_bits_per_key(p, &row->p);
    if (o->filter.algorithm)
        row->choice = i == p->chosen ? "its best settings" : "as opened";
    else if (i == 0 && !print_is_text(o->format))
        plan_say_why(p, row->why, sizeof row->why);
}

bool plan_print_table(const struct plan *p)
{
    struct plan_row *row = calloc(p->n, sizeof *row);
    struct table_column shown[sizeof columns / sizeof *columns];
    struct table table = {shown, row, sizeof *row, p->n};
    bool ok;

    if (!row)
        return reject("memory is short");
    memcpy(shown, columns, sizeof columns);
    if (p->set)
        show_for_sets(shown);
    for (size_t i = 0; i < p->n; i++)
        fill_row(&row[i], p, i);
    ok = table_print(&table, p->options->format);
    free(row);
    return ok;
}
