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

static bool check(const struct options *o)
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
static uint64_t records_most(const struct options *o)
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
    const struct options *o = r->request;

    r->limits = (struct limits){LOST_MOST, o->plan.fnr > 0 ? o->plan.fnr : PASSED_MOST};
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
        !rows_of(&r->all, t, ROWS_OF_ADVICE))
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
           evaluation_run(t) && rows_of(&r->best, t, ROWS_OF_FILTERS) &&
           rows_of(&r->curves, t, ROWS_OF_CURVES) &&
           (!r->weighed || rows_of(&r->groups, t, ROWS_OF_IMPORTANCES));
}

/* ---- the page ---- */

static void put_row(const struct report *r, FILE *page, uint32_t entrant)
{
    const struct outlook *o = &r->choice.outlook[entrant];

    fprintf(page, "<tr%s><th>%s</th><td><code>", entrant == r->choice.best ? " class=\"best\"" : "",
            words_size(r, r->candidates.candidate[entrant].memory).text);
    words_filter(page, r, entrant);
    fprintf(page, "</code></td><td>%s</td>", words_range(o->lost).text);
    fprintf(page, "<td>%s</td><td>%s</td></tr>\n", words_range(o->passed).text,
            o->meets ? "yes" : "no");
}

static void put_best(const struct report *r, FILE *page)
{
    fprintf(page, "<h2>The best in each memory</h2>\n<div class=\"scroll\"><table>\n<thead><tr>"
                  "<th>memory</th><th>filter</th><th>new records lost</th><th>repeats passed</th>"
                  "<th>meets the limits</th></tr></thead>\n<tbody>\n");
    for (uint32_t m = 0; m < r->candidates.memories; m++)
        if (r->choice.at[m] != UINT32_MAX)
            put_row(r, page, r->choice.at[m]);
    fprintf(page, "</tbody></table></div>\n");
}

static void put_all(const struct report *r, FILE *page)
{
    struct table t = rows_table(&r->all, ROWS_OF_ADVICE);

    fprintf(page, "<details>\n<summary>All %zu filters and settings that were measured</summary>\n",
            t.rows);
    page_table(page, &t, 3, SIZE_MAX);
    fprintf(page, "</details>\n");
}

static void put_sample(const struct report *r, FILE *page)
{
    const struct replay *s = &r->evaluation.arrivals.replay;

    if (s->halvings)
        fprintf(page,
                "<li><b>A sample was measured:</b> all %s records of one key in %.0f, chosen "
                "by hash, by filters with 1/%.0f of the memory in the tables above. Error rates "
                "depend on ratios alone, so they are those of the whole stream, except for "
                "chance; the table of all filters has the memory that was used. <code>weir "
                "eval</code> without <code>--report</code> measures every record.</li>\n",
                show_whole((double)s->count).text, r->scale, r->scale);
    if (s->cut)
        fprintf(page,
                "<li><b>Only the beginning was measured:</b> %s records. The stream is long, "
                "and has too few keys to choose some of them. <code>weir eval</code> "
                "without <code>--report</code> measures every record.</li>\n",
                show_whole((double)s->count).text);
}

static void put_outlook(const struct report *r, FILE *page)
{
    if (!r->going_on)
        return;
    fprintf(page,
            "<li><b>Intervals</b> are for a stream of up to %d times as many records. The lower "
            "end is the best quarter of the records, measured from an empty filter. The upper "
            "end is the worst quarter, measured after as many unique keys as may arrive by then "
            "(%s, at the higher rate of the last two quarters, plus 10 %%). In addition it counts "
            "every new "
            "key as a repeat of one of the oldest keys, which a filter may have evicted. "
            "<code>--finite</code> measures the records alone.</li>\n",
            HORIZON, show_whole(r->growth.horizon).text);
}

static void put_tables(const struct report *r, FILE *page)
{
    put_best(r, page);
    put_all(r, page);
    fprintf(page,
            "<h2>How to read this</h2>\n<ul>\n"
            "<li>New records lost (fpr): the share of the records with a new key that were "
            "reported as seen. Repeats passed (fnr): the share of the repeats that were reported "
            "as new%s.</li>\n<li>The exact baseline is a set of all keys. Every filter observed "
            "the same records in the same order. The charts show these records alone.</li>\n",
            r->weighed ? ", each counted by its importance" : "");
    put_sample(r, page);
    put_outlook(r, page);
    fprintf(page,
            "<li>Each filter was opened with half the limit of lost records (<code>-e</code>), so "
            "that chance does not exceed the limit. Less than 64 KiB is not advised.</li>\n"
            "<li>Made by weir %s; <code>--seed %s</code> repeats it.</li>\n</ul>\n",
            weir_version(), r->measured.seed);
}

static bool put_page(const void *what, FILE *page)
{
    const struct report *r = what;
    bool ok;

    report_words(r, page);
    ok = report_charts(r, page);
    put_tables(r, page);
    return ok;
}

/* ---- the command ---- */

static bool answer(const struct report *r)
{
    struct table table = rows_table(&r->all, ROWS_OF_ADVICE);

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

int report_run(const struct options *o)
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
