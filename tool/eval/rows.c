/* rows.c - compute the rows of tables and charts. See rows.h. */
#include "eval/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/messages.h"

#define VALUES_MOST 20 /* more importances are grouped in tenths */

#define COLUMN(name, kind, member) TABLE_COLUMN(row, name, kind, member)
#define REST(name, kind, member) TABLE_REST(row, name, kind, member)

/* ---- a row ---- */

static bool open_rows(struct rows *rows, const struct table_column *column, uint64_t most)
{
    *rows = (struct rows){.row = calloc(most ? most : 1, sizeof *rows->row), .column = column};
    return rows->row || reject("out of memory");
}

void rows_close(struct rows *rows)
{
    free(rows->row);
    *rows = (struct rows){0};
}

struct table rows_table(const struct rows *rows)
{
    return (struct table){rows->column, rows->row, sizeof *rows->row, rows->count};
}

/* Add a row with the columns that all tables have. */
static struct row *add_row(struct rows *rows, const struct entrant *e, const struct score *s,
                           uint32_t orders)
{
    struct row *row = &rows->row[rows->count++];

    *row = (struct row){.name = e->name,
                        .settings = e->settings,
                        .memory = e->memory,
                        .n = (s->n[NEW] + s->n[OLD]) / orders,
                        .distinct = s->n[NEW] / orders,
                        .fpr = score_rate(s, NEW),
                        .fnr = score_rate(s, OLD)};
    return row;
}

/* ---- one row per filter ---- */

#define MEASURED                                                                                   \
    COLUMN("algorithm", TEXT, name), COLUMN("settings", TEXT, settings),                           \
        COLUMN("memory_bytes", BYTES, memory), REST("n", COUNT, n),                                \
        REST("distinct", COUNT, distinct), COLUMN("fpr", RATE, fpr), COLUMN("fnr", RATE, fnr)

const struct table_column rows_advice_columns[] = {
    MEASURED,
    COLUMN("fpr_low", RATE, lost_low),
    COLUMN("fpr_high", RATE, lost_high),
    COLUMN("fnr_low", RATE, passed_low),
    COLUMN("fnr_high", RATE, passed_high),
    COLUMN("meets", TEXT, meets),
    COLUMN("advised", TEXT, advised),
    COLUMN("fill", RATE, fill),
    COLUMN("error_now", RATE, error),
    COLUMN("ns_per_record", NUMBER, nanoseconds),
    COLUMN("predicted_fpr", RATE, predicted_fpr),
    COLUMN("predicted_fnr", RATE, predicted_fnr),
    COLUMN("predicted_fill", RATE, predicted_fill),
    {NULL},
};

static const struct table_column filter_columns[] = {
    MEASURED,
    REST("wfpr", RATE, weighted_fpr),
    REST("wfnr", RATE, weighted_fnr),
    REST("wfpr_all", RATE, weighted_fpr_all),
    REST("wfnr_all", RATE, weighted_fnr_all),
    REST("fill", RATE, fill),
    REST("error_now", RATE, error),
    REST("ns_per_record", NUMBER, nanoseconds),
    REST("predicted_fpr", RATE, predicted_fpr),
    REST("predicted_fnr", RATE, predicted_fnr),
    REST("predicted_fill", RATE, predicted_fill),
    REST("limit_fnr", RATE, limit_fnr),
    {NULL},
};

static void measure(struct row *row, const struct entrant *e, uint32_t orders)
{
    const struct score *s = &e->score;

    row->weighted_fpr = score_weighted(s, NEW);
    row->weighted_fnr = score_weighted(s, OLD);
    row->weighted_fpr_all = score_weighted_all(s, NEW);
    row->weighted_fnr_all = score_weighted_all(s, OLD);
    row->fill = e->fill / orders;
    row->error = e->error / orders;
    row->nanoseconds = e->seconds * 1e9 / (double)e->timed;
}

/* The predictions for a synthetic stream; files have none. */
static void predict(struct row *row, const struct entrant *e, const struct evaluation *ev)
{
    const struct weir_stream s = arrivals_stream(&ev->arrivals);
    bool known = ev->arrivals.synthetic;
    bool uniform = known && s.kind == WEIR_STREAM_UNIFORM && s.fresh == 0 && s.drift == 0 &&
                   s.bias == WEIR_BIAS_NONE;
    double keys = (double)e->score.n[NEW] / ev->entrants.orders, bits = 8 * (double)e->memory;
    struct weir_prediction p;

    if (!known || weir_predict(&p, sizeof p, e->filter.config, &s, NULL) != WEIR_OK)
        p = (struct weir_prediction){.fpr = NAN, .fnr = NAN, .fill = NAN};
    row->predicted_fpr = p.fpr;
    row->predicted_fnr = p.fnr;
    row->predicted_fill = p.fill;
    row->limit_fnr = uniform ? weir_min_fnr(bits, keys, row->fpr) : NAN;
}

bool rows_of_filters(struct rows *rows, const struct evaluation *ev)
{
    const struct entrants *all = &ev->entrants;

    if (!open_rows(rows, filter_columns, all->count))
        return false;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct entrant *e = &all->entrant[i];
        struct row *row = add_row(rows, e, &e->score, all->orders);

        measure(row, e, all->orders);
        predict(row, e, ev);
    }
    return true;
}

/* ---- over the stream ---- */

static const struct table_column curve_columns[] = {
    COLUMN("algorithm", TEXT, name),
    REST("settings", TEXT, settings),
    COLUMN("memory_bytes", BYTES, memory),
    COLUMN("n", COUNT, n),
    REST("distinct", COUNT, distinct),
    REST("fpr", RATE, fpr),
    REST("fnr", RATE, fnr),
    COLUMN("interval_fpr", RATE, interval_fpr),
    COLUMN("interval_fnr", RATE, interval_fnr),
    REST("fill", RATE, fill),
    {NULL},
};

static void add_curve(struct rows *rows, const struct entrant *e, uint32_t orders)
{
    struct score before = {0};

    for (uint32_t i = 0; i < e->curve.points; i++) {
        const struct point *p = &e->curve.point[i];
        struct score interval = score_less(&p->score, &before);
        struct row *row = add_row(rows, e, &p->score, orders);

        row->interval_fpr = score_rate(&interval, NEW);
        row->interval_fnr = score_rate(&interval, OLD);
        row->fill = p->fill / orders;
        before = p->score;
    }
}

bool rows_of_curves(struct rows *rows, const struct evaluation *ev)
{
    const struct entrants *all = &ev->entrants;
    uint64_t points = 0;

    for (uint32_t i = 0; i < all->count; i++)
        points += all->entrant[i].curve.points;
    if (!open_rows(rows, curve_columns, points))
        return false;
    for (uint32_t i = 0; i < all->count; i++)
        add_curve(rows, &all->entrant[i], all->orders);
    return true;
}

/* ---- by importance ---- */

static const struct table_column importance_columns[] = {
    COLUMN("algorithm", TEXT, name),
    REST("settings", TEXT, settings),
    COLUMN("memory_bytes", BYTES, memory),
    COLUMN("importance", CHARS, importance),
    REST("n", COUNT, n),
    REST("distinct", COUNT, distinct),
    COLUMN("fpr", RATE, fpr),
    COLUMN("fnr", RATE, fnr),
    {NULL},
};

static uint64_t arrivals(const struct score *s)
{
    return s->n[NEW] + s->n[OLD];
}

/* Does a group end with this class? Few values have a group each; others are grouped in tenths of
 * the arrivals, as near as whole classes permit. */
static bool group_ends(uint32_t values, uint64_t before, uint64_t here, uint64_t all)
{
    return here > 0 && (values <= VALUES_MOST || (before + here) * 10 / all > before * 10 / all);
}

static uint32_t count_values(const struct entrant *e)
{
    uint32_t values = 0;

    for (uint32_t c = 0; c < CLASSES; c++)
        values += arrivals(&e->class[c]) > 0;
    return values;
}

static void name_group(struct row *row, uint64_t low, uint64_t high)
{
    int used = snprintf(row->importance, sizeof row->importance, "%llu", (unsigned long long)low);

    if (high > low)
        snprintf(row->importance + used, sizeof row->importance - (size_t)used, "-%llu",
                 (unsigned long long)high);
}

static void add_groups(struct rows *rows, const struct entrant *e, uint32_t orders)
{
    struct score group = {0};
    uint32_t values = count_values(e);
    uint64_t low = 0, before = 0, all = arrivals(&e->score);

    for (uint32_t c = 0; c < CLASSES; c++) {
        uint64_t here = arrivals(&e->class[c]);

        if (here > 0 && arrivals(&group) == 0)
            low = class_low(c);
        score_add(&group, &e->class[c]);
        if (group_ends(values, before, here, all)) {
            name_group(add_row(rows, e, &group, orders), low, class_low(c + 1) - 1);
            group = (struct score){0};
        }
        before += here;
    }
}

bool rows_of_importances(struct rows *rows, const struct evaluation *ev)
{
    const struct entrants *all = &ev->entrants;

    if (!open_rows(rows, importance_columns, (uint64_t)VALUES_MOST * all->count))
        return false;
    for (uint32_t i = 0; i < all->count; i++)
        add_groups(rows, &all->entrant[i], all->orders);
    return true;
}
