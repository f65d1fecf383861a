/* rows.c - compute the rows of tables and charts. See rows.h. */
#include "eval/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/messages.h"

#define VALUES_MOST 20 /* more importances are grouped in tenths */

/* ---- columns ---- */

#define FILTERS ROWS_OF_FILTERS
#define ADVICE ROWS_OF_ADVICE
#define CURVES ROWS_OF_CURVES
#define GROUPS ROWS_OF_IMPORTANCES
#define ALL (FILTERS | ADVICE | CURVES | GROUPS)
#define COLUMN(name, kind, member, in, wide)                                                       \
    {                                                                                              \
        TABLE_COLUMN(row, name, kind, member), in, wide                                            \
    }

static const struct row_column {
    struct table_column column;
    unsigned in, wide; /* which kinds of rows have it; which of them only with --wide */
} columns[] = {
    COLUMN("algorithm", TEXT, name, ALL, 0),
    COLUMN("settings", TEXT, settings, ALL, CURVES | GROUPS),
    COLUMN("memory_bytes", BYTES, memory, ALL, 0),
    COLUMN("importance", CHARS, importance, GROUPS, 0),
    COLUMN("n", COUNT, n, ALL, FILTERS | ADVICE | GROUPS),
    COLUMN("distinct", COUNT, distinct, ALL, ALL),
    COLUMN("fpr", RATE, fpr, ALL, CURVES),
    COLUMN("fnr", RATE, fnr, ALL, CURVES),
    COLUMN("interval_fpr", RATE, interval_fpr, CURVES, 0),
    COLUMN("interval_fnr", RATE, interval_fnr, CURVES, 0),
    COLUMN("fpr_low", RATE, lost_low, ADVICE, 0),
    COLUMN("fpr_high", RATE, lost_high, ADVICE, 0),
    COLUMN("fnr_low", RATE, passed_low, ADVICE, 0),
    COLUMN("fnr_high", RATE, passed_high, ADVICE, 0),
    COLUMN("meets", TEXT, meets, ADVICE, 0),
    COLUMN("advised", TEXT, advised, ADVICE, 0),
    COLUMN("wfpr", RATE, weighted_fpr, FILTERS, FILTERS),
    COLUMN("wfnr", RATE, weighted_fnr, FILTERS, FILTERS),
    COLUMN("wfpr_all", RATE, weighted_fpr_all, FILTERS, FILTERS),
    COLUMN("wfnr_all", RATE, weighted_fnr_all, FILTERS, FILTERS),
    COLUMN("fill", RATE, fill, FILTERS | ADVICE | CURVES, FILTERS | CURVES),
    COLUMN("error_now", RATE, error, FILTERS | ADVICE, FILTERS),
    COLUMN("ns_per_record", NUMBER, nanoseconds, FILTERS | ADVICE, FILTERS),
    COLUMN("predicted_fpr", RATE, predicted_fpr, FILTERS | ADVICE, FILTERS),
    COLUMN("predicted_fnr", RATE, predicted_fnr, FILTERS | ADVICE, FILTERS),
    COLUMN("predicted_fill", RATE, predicted_fill, FILTERS | ADVICE, FILTERS),
    COLUMN("limit_fnr", RATE, limit_fnr, FILTERS, FILTERS),
};

#define COLUMNS (sizeof columns / sizeof *columns)

struct table rows_table(const struct rows *rows, enum rows_kind kind)
{
    static struct table_column shown[COLUMNS + 1]; /* of the table that was asked for last */
    size_t n = 0;

    for (size_t i = 0; i < COLUMNS; i++)
        if (columns[i].in & kind) {
            shown[n] = columns[i].column;
            shown[n++].rest = columns[i].wide & kind;
        }
    shown[n].name = NULL;
    return (struct table){shown, rows->row, sizeof *rows->row, rows->count};
}

/* ---- a row ---- */

static bool open_rows(struct rows *rows, uint64_t most)
{
    *rows = (struct rows){.row = calloc(most ? most : 1, sizeof *rows->row)};
    return rows->row || reject("out of memory");
}

void rows_close(struct rows *rows)
{
    free(rows->row);
    *rows = (struct rows){0};
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

static void add_filter(struct rows *rows, const struct entrant *e, const struct evaluation *ev)
{
    struct row *row = add_row(rows, e, &e->score, ev->entrants.orders);

    measure(row, e, ev->entrants.orders);
    predict(row, e, ev);
}

/* ---- over the stream ---- */

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

/* ---- by importance ---- */

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

/* ---- all rows ---- */

static uint64_t most_rows(const struct entrant *e, enum rows_kind kind)
{
    return kind == ROWS_OF_CURVES ? e->curve.points : kind == ROWS_OF_IMPORTANCES ? VALUES_MOST : 1;
}

bool rows_of(struct rows *rows, const struct evaluation *ev, enum rows_kind kind)
{
    const struct entrants *all = &ev->entrants;
    uint64_t most = 0;

    for (uint32_t i = 0; i < all->count; i++)
        most += most_rows(&all->entrant[i], kind);
    if (!open_rows(rows, most))
        return false;
    for (uint32_t i = 0; i < all->count; i++)
        if (kind == ROWS_OF_CURVES)
            add_curve(rows, &all->entrant[i], all->orders);
        else if (kind == ROWS_OF_IMPORTANCES)
            add_groups(rows, &all->entrant[i], all->orders);
        else
            add_filter(rows, &all->entrant[i], ev);
    return true;
}
