/* report.c - see report.h. Reads the records into memory, chooses memories by the number of keys,
 * and measures all filters; then the best setting of each filter in the advised memory again, for
 * the charts. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "report/chart.h"
#include "state/replace.h"
#include "cli/messages.h"
#include "report/page.h"

/* ---- measuring ---- */

static bool check(const struct eval_request *o)
{
    if (o->measures.curve || o->measures.by_importance)
        return reject(
            "--report already has charts of --curve and --by-importance; use one of the three");
    if (o->measures.permutations)
        return reject("--report and --permutations cannot be combined; use one of them");
    return replace_spares(o->measures.report, REPLACES_REPORT) &&
           replace_possible(o->measures.report) && chart_ready();
}

/* Windows and capacities are numbers of keys: of a sample they would mean
 * something else. */
static uint64_t records_most(const struct eval_request *o)
{
    bool all = false;

    for (int i = 0; i < o->filter.sets; i++)
        all |= strncmp(o->filter.set[i], "window=", 7) == 0 ||
               strncmp(o->filter.set[i], "capacity=", 9) == 0;
    if (all)
        return UINT32_MAX / 2;
    return o->measures.finite ? RECORDS_MEASURED : RECORDS_MEASURED_GOING_ON;
}

static bool check_length(const struct report *r)
{
    const struct replay *k = &r->evaluation.arrivals.replay;
    double keys = r->growth.distinct / r->scale;

    if (k->count == 0)
        return reject("no records: a report needs at least one");
    if (!r->going_on)
        return true;
    if (r->evaluation.records < RECORDS_LEAST)
        return reject("%llu records are too few to advise for a stream that continues; give at "
                      "least %d, or use --finite if there are no more",
                      (unsigned long long)r->evaluation.records, RECORDS_LEAST);
    return keys < (double)k->count ||
           reject("no key occurs twice in these %llu records: too few to advise for a stream that "
                  "continues; give more, or use --finite if there are no more",
                  (unsigned long long)r->evaluation.records);
}

static bool read_limits(struct report *r)
{
    const struct eval_request *o = r->request;

    r->limits = (struct limits){LOST_MOST, o->fnr > 0 ? o->fnr : PASSED_MOST};
    return !o->filter.fpr || (read_rate(o->filter.fpr, &r->limits.lost) && r->limits.lost > 0) ||
           reject("--fpr %s: invalid rate; use a number above 0, e.g. 0.01 or 1%%", o->filter.fpr);
}

static bool gather(struct report *r)
{
    struct arrivals *s = &r->evaluation.arrivals;

    if (!evaluation_gather(&r->evaluation, &r->detailed, records_most(r->request)))
        return false;
    r->going_on = !r->request->measures.finite;
    r->scale = (double)(UINT64_C(1) << s->replay.halvings);
    r->weighed = s->weighed;
    r->growth = growth_of(&r->evaluation, r->going_on);
    s->passes = r->going_on ? 2 : 1;
    r->evaluation.continuation = (struct continuation){
        .replay = &s->replay, .step = (uint64_t)(r->growth.horizon / r->scale / HORIZON) + 1};
    return check_length(r);
}

static const char *seed_of(const struct report *r, char seed[64])
{
    weir_spec_get(r->evaluation.hasher.config, "seed", seed, 64);
    return seed;
}

static bool open_candidates(struct report *r, struct candidates *list, uint64_t beyond)
{
    const struct replay *k = &r->evaluation.arrivals.replay;
    char seed[64];

    return candidates_open(list, &r->evaluation.entrants, r->request, r->weighed, &r->growth,
                           r->limits, k->halvings, beyond, seed_of(r, seed));
}

/* Measure what was opened, and choose. */
static bool run_candidates(struct report *r, const struct candidates *list, struct choice *choice)
{
    struct evaluation *t = &r->evaluation;

    if (!evaluation_run(t))
        return false;
    t->tally = (struct tally){.skipped = t->tally.skipped};
    choose(choice, r->going_on, &r->growth, r->limits, r->weighed, list, &t->entrants);
    return true;
}

/* If no memory of -m meets the limits: which memory would? */
static bool find_enough(struct report *r)
{
    static struct candidates list;
    static struct choice choice;
    uint64_t most = r->candidates.memory[r->candidates.memories - 1];
    bool ok = open_candidates(r, &list, most) && run_candidates(r, &list, &choice);

    if (ok && choice.meets)
        r->enough = list.memory[choice.memory];
    entrants_close(&r->evaluation.entrants);
    r->evaluation.entrants = (struct entrants){0};
    return ok;
}

static bool run_all(struct report *r)
{
    struct evaluation *t = &r->evaluation;

    if (!open_candidates(r, &r->candidates, 0) || !run_candidates(r, &r->candidates, &r->choice) ||
        !rows_of_filters(&r->all, t))
        return false;
    for (uint32_t i = 0; i < r->all.count; i++) {
        const struct outlook *o = &r->choice.outlook[i];
        struct row *row = &r->all.row[i];

        row->lost_low = o->lost.low, row->lost_high = o->lost.high;
        row->passed_low = o->passed.low, row->passed_high = o->passed.high;
        row->meets = o->meets ? "yes" : "no";
        row->advised = i == r->choice.best ? "yes" : "no";
    }
    r->measured = t->entrants;
    t->entrants = (struct entrants){0};
    return r->choice.meets || find_enough(r);
}

static bool run_best(struct report *r)
{
    struct evaluation *t = &r->evaluation;
    char seed[64];

    r->detailed.measures.curve = CURVE_POINTS;
    r->detailed.measures.by_importance = r->weighed;
    t->arrivals.passes = 1;
    return candidates_pick(&r->candidates, &t->entrants, &r->detailed, r->weighed,
                           r->choice.best_of, r->choice.filters, seed_of(r, seed)) &&
           evaluation_run(t) && rows_of_filters(&r->best, t) && rows_of_curves(&r->curves, t) &&
           (!r->weighed || rows_of_importances(&r->groups, t));
}

/* ---- the page ---- */

static bool put_page(const void *what, FILE *page)
{
    const struct report *r = what;
    bool ok;

    report_words(r, page);
    ok = report_charts(r, page);
    report_tables(r, page);
    return ok;
}

/* ---- the command ---- */

static bool answer(const struct report *r)
{
    struct table table = rows_table(&r->all);

    table.column = rows_advice_columns;
    if (!print_is_text(r->request->format))
        return table_print(&table, r->request->format);
    report_say(r);
    return true;
}

static void close_report(struct report *r)
{
    evaluation_close(&r->evaluation);
    entrants_close(&r->measured);
    rows_close(&r->all);
    rows_close(&r->best);
    rows_close(&r->curves);
    rows_close(&r->groups);
    free(r);
}

int report_run(const struct eval_request *o)
{
    struct report *r = check(o) ? calloc(1, sizeof *r) : NULL;
    int status = EXIT_ERROR;

    if (!r)
        return EXIT_ERROR;
    r->request = o;
    r->detailed = *o;
    if (read_limits(r) && gather(r) && run_all(r) && run_best(r) && page_save(o, put_page, r) &&
        answer(r)) {
        evaluation_report(&r->evaluation);
        status = EXIT_FINE;
    }
    close_report(r);
    return status;
}
