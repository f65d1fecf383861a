/* eval.c - weir eval: filters side by side on one stream, beside exact
 * truth. Here: what may be asked for, and the rows of the answer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "eval/rows.h"
#include "report/report.h"
#include "cli/messages.h"

#define VALUES_MOST 20 /* importances with a row of their own; of more, tenths are shown */

/* ---- one row per filter ---- */

static void add_entrant(struct grid *g, const struct entrant *r)
{
    grid_text(g, "%s", r->name);
    grid_text(g, "%s", r->settings);
    grid_count(g, r->memory);
}

/* Of one order. */
static void add_counts(struct grid *g, const struct score *s, uint32_t orders)
{
    grid_count(g, (s->n[NEW] + s->n[OLD]) / orders);
    grid_count(g, s->n[NEW] / orders);
}

static void add_rates(struct grid *g, const struct score *s)
{
    grid_number(g, score_rate(s, NEW));
    grid_number(g, score_rate(s, OLD));
}

/* What theory knows of a described stream; of files it knows nothing. */
static void add_theory(struct grid *g, const struct evaluation *t, const struct entrant *r)
{
    const struct weir_stream s = arrivals_stream(&t->arrivals);
    const struct score *score = &r->score;
    bool known = t->arrivals.synthetic, uniform = known && s.kind == WEIR_UNIFORM && s.fresh == 0;
    double keys = (double)score->n[NEW] / t->entrants.orders, bits = 8 * (double)r->memory;
    struct weir_prediction p;

    if (!known || weir_predict(&p, r->filter.config, &s, NULL) != WEIR_OK)
        p = (struct weir_prediction){.fpr = NAN, .fnr = NAN, .fill = NAN};
    grid_number(g, p.fpr);
    grid_number(g, p.fnr);
    grid_number(g, p.fill);
    grid_number(g, uniform ? weir_least_fnr(bits, keys, score_rate(score, NEW)) : NAN);
}

void list_filters(struct grid *g, const struct evaluation *t)
{
    static const char *const names[] = {"algorithm",
                                        "settings",
                                        "memory_bytes",
                                        "n",
                                        "distinct",
                                        "fpr",
                                        "fnr",
                                        "wfpr",
                                        "wfnr",
                                        "wfpr_all",
                                        "wfnr_all",
                                        "fill",
                                        "error_now",
                                        "ns_per_record",
                                        "predicted_fpr",
                                        "predicted_fnr",
                                        "predicted_fill",
                                        "limit_fnr",
                                        NULL};
    double orders = t->entrants.orders;

    grid_open(g, names);
    for (uint32_t i = 0; i < t->entrants.count; i++) {
        const struct entrant *r = &t->entrants.entrant[i];
        const struct score *s = &r->score;

        add_entrant(g, r);
        add_counts(g, s, t->entrants.orders);
        add_rates(g, s);
        grid_number(g, score_weighted(s, NEW));
        grid_number(g, score_weighted(s, OLD));
        grid_number(g, score_weighted_all(s, NEW));
        grid_number(g, score_weighted_all(s, OLD));
        grid_number(g, r->fill / orders);
        grid_number(g, r->error / orders);
        grid_number(g, r->seconds * 1e9 / (double)(s->n[NEW] + s->n[OLD]));
        add_theory(g, t, r);
    }
}

/* ---- over the stream ---- */

static void list_curves(struct grid *g, const struct evaluation *t)
{
    static const char *const names[] = {
        "algorithm", "settings",     "memory_bytes", "n",    "distinct", "fpr",
        "fnr",       "interval_fpr", "interval_fnr", "fill", NULL};

    grid_open(g, names);
    for (uint32_t i = 0; i < t->entrants.count; i++) {
        const struct entrant *r = &t->entrants.entrant[i];
        struct score before = {0};

        for (uint32_t j = 0; j < r->curve.points; j++) {
            const struct point *p = &r->curve.point[j];
            struct score interval = score_less(&p->score, &before);

            add_entrant(g, r);
            add_counts(g, &p->score, t->entrants.orders);
            add_rates(g, &p->score);
            add_rates(g, &interval);
            grid_number(g, p->fill / t->entrants.orders);
            before = p->score;
        }
    }
}

/* ---- by importance ---- */

static uint64_t arrivals(const struct score *s)
{
    return s->n[NEW] + s->n[OLD];
}

/* Does a group end with this class? A value each if they are few, else tenths
 * of the arrivals, as near as whole classes come to them. */
static bool group_ends(uint32_t values, uint64_t before, uint64_t here, uint64_t all)
{
    return values <= VALUES_MOST ? here > 0
                                 : here > 0 && (before + here) * 10 / all > before * 10 / all;
}

static uint32_t count_values(const struct entrant *r)
{
    uint32_t values = 0;

    for (uint32_t c = 0; c < CLASSES; c++)
        values += arrivals(&r->class[c]) > 0;
    return values;
}

static void add_group(struct grid *g, const struct entrant *r, uint64_t low, uint64_t high,
                      const struct score *s, uint32_t orders)
{
    add_entrant(g, r);
    if (low == high)
        grid_text(g, "%llu", (unsigned long long)low);
    else
        grid_text(g, "%llu-%llu", (unsigned long long)low, (unsigned long long)high);
    add_counts(g, s, orders);
    add_rates(g, s);
}

static void list_groups(struct grid *g, const struct entrant *r, uint32_t orders)
{
    struct score group = {0};
    uint32_t values = count_values(r);
    uint64_t low = 0, before = 0, all = arrivals(&r->score);

    for (uint32_t c = 0; c < CLASSES; c++) {
        uint64_t here = arrivals(&r->class[c]);

        if (here > 0 && arrivals(&group) == 0)
            low = class_low(c);
        score_add(&group, &r->class[c]);
        if (group_ends(values, before, here, all)) {
            add_group(g, r, low, class_low(c + 1) - 1, &group, orders);
            group = (struct score){0};
        }
        before += here;
    }
}

void list_importances(struct grid *g, const struct evaluation *t)
{
    static const char *const names[] = {"algorithm", "settings", "memory_bytes", "importance", "n",
                                        "distinct",  "fpr",      "fnr",          NULL};

    grid_open(g, names);
    for (uint32_t i = 0; i < t->entrants.count; i++)
        list_groups(g, &t->entrants.entrant[i], t->entrants.orders);
}

/* ---- the command ---- */

static bool print(const struct evaluation *t)
{
    const struct request *o = t->request;
    struct grid grid;
    bool ok;

    if (o->measures.curve)
        list_curves(&grid, t);
    else if (o->measures.by_importance)
        list_importances(&grid, t);
    else
        list_filters(&grid, t);
    ok = grid_print(&grid, o->table);
    grid_close(&grid);
    return ok || fail("memory is short") == 0;
}

static bool check(const struct request *o)
{
    if (o->measures.curve && o->measures.by_importance)
        return fail("--curve and --by-importance are two tables; ask for one at a time") == 0;
    if (o->measures.by_importance && !o->records.importance && !o->measures.synthetic)
        return fail("--by-importance needs -i FIELD: where the importance of a record is") == 0;
    for (int i = 0; i < o->wanted.sets; i++)
        if (strncmp(o->wanted.set[i], "span=", 5) == 0)
            return fail("'weir eval' has no clock: %s has no meaning here, window= has",
                        o->wanted.set[i]) == 0;
    return true;
}

static int run(const struct request *o)
{
    struct evaluation *t = malloc(sizeof *t);
    int status = EXIT_ERROR;

    if (!t)
        return fail("memory is short");
    if (evaluation_open(t, o) && evaluation_run(t) && print(t)) {
        evaluation_report(t);
        status = EXIT_FINE;
    }
    evaluation_close(t);
    free(t);
    return status;
}

int cmd_eval(const struct options *o)
{
    struct request request = {.inputs = options_inputs(o, 0),
                              .records = o->records,
                              .wanted = o->wanted,
                              .measures = o->measures,
                              .verbosity = o->verbosity,
                              .table = o->table,
                              .threads = o->threads};

    if (!check(&request))
        return EXIT_ERROR;
    return o->measures.report ? report_run(&request) : run(&request);
}
