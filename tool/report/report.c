/* report.c - see report.h. The arrivals are taken into memory; from how many keys
 * there are, memories to try are chosen; all filters are run, then once more the
 * best setting of each in the memory to take, with curves and classes. */
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
        return reject("--report has the tables of --curve and --by-importance as pictures; ask for "
                      "them alone");
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

static bool remember_latest(struct report *r)
{
    const struct replay *k = &r->evaluation.arrivals.replay;

    recency_close(&r->recency);
    return recency_open(&r->recency, k->key, k->count, 0) || reject("memory is short");
}

/* Of a stream that goes on: in its last showing, after the one before. */
static bool remember_going_on(struct report *r)
{
    const struct replay *k = &r->evaluation.arrivals.replay;
    struct weir_key *key = malloc(2 * k->count * sizeof *key);
    bool ok = key != NULL;

    for (uint64_t i = 0; i < 2 * k->count && ok; i++)
        key[i] = replay_key(k, i % k->count, SHOWINGS - 2 + (i >= k->count));
    recency_close(&r->recency);
    ok = ok && recency_open(&r->recency, key, 2 * k->count, k->count);
    free(key);
    return ok || reject("memory is short");
}

static bool gather(struct report *r)
{
    struct arrivals *s = &r->evaluation.arrivals;

    if (!evaluation_gather(&r->evaluation, &r->detailed, records_most(r->request)))
        return false;
    if (s->replay.count == 0)
        return reject("there are no records: a report needs some");
    if (!remember_latest(r))
        return false;
    r->distinct = r->recency.distinct;
    r->scale = (double)(UINT64_C(1) << s->replay.halvings);
    r->weighed = s->weighed;
    if (!replay_find_variants(&s->replay))
        return reject("memory is short");
    r->going_on = !r->request->measures.finite && replay_is_renewed(&s->replay);
    s->replay.showings = r->going_on ? SHOWINGS : 1;
    r->uniform = !r->going_on && s->synthetic && s->stream.spec.kind == WEIR_STREAM_UNIFORM &&
                 s->stream.spec.fresh == 0 && s->stream.spec.drift == 0 &&
                 s->stream.spec.bias == WEIR_BIAS_NONE;
    return true;
}

static const char *seed_of(const struct report *r, char seed[64])
{
    weir_spec_get(r->evaluation.hasher.config, "seed", seed, 64);
    return seed;
}

static bool run_all(struct report *r)
{
    struct evaluation *t = &r->evaluation;
    char seed[64];

    if (!candidates_open(&r->candidates, &t->entrants, r->request, r->weighed,
                         r->distinct << t->arrivals.replay.halvings, t->arrivals.replay.halvings,
                         seed_of(r, seed)) ||
        !evaluation_run(t))
        return false;
    if (!rows_of_filters(&r->all, t))
        return false;
    r->measured = t->entrants;
    t->entrants = (struct entrants){0};
    t->tally = (struct tally){.skipped = t->tally.skipped};
    choose(&r->choice, r->going_on ? AS_IT_GOES_ON : AS_IT_IS, &r->candidates, &r->measured);
    choose(&r->finite, AS_IT_IS, &r->candidates, &r->measured);
    return true;
}

static bool run_best(struct report *r)
{
    struct evaluation *t = &r->evaluation;
    char seed[64];

    r->detailed.measures.curve = CURVE_POINTS;
    r->detailed.measures.by_importance = r->weighed;
    if (!candidates_pick(&r->candidates, &t->entrants, &r->detailed, r->weighed, r->choice.best_of,
                         r->choice.filters, seed_of(r, seed)) ||
        !evaluation_run(t) ||
        (r->going_on                         ? !remember_going_on(r)
         : r->request->measures.permutations ? !remember_latest(r) /* of the last order */
                                             : false))
        return false;
    return rows_of_filters(&r->best, t) && rows_of_curves(&r->curves, t) &&
           (!r->weighed || rows_of_importances(&r->groups, t));
}

/* ---- the page ---- */

static bool write_page(const struct report *r, FILE *page)
{
    bool ok;

    fputs(page_head, page);
    report_name(r, page);
    fputs(page_style, page);
    report_words(r, page);
    ok = report_charts(r, page);
    report_tables(r, page);
    fputs("</main>\n</body>\n</html>\n", page);
    return ok;
}

static enum weir_status write_text(const void *what, weir_sink sink, void *into)
{
    const struct weir_bytes *text = what;

    return sink(into, text->data, text->size) ? WEIR_OK : WEIR_WRITE_FAILED;
}

static bool save_page(const struct report *r)
{
    char *text = NULL;
    size_t size;
    FILE *page = open_memstream(&text, &size);
    bool ok = page && write_page(r, page), whole = page && !ferror(page) && fclose(page) == 0;

    if (ok && !whole)
        fail("memory is short");
    ok = ok && whole &&
         replace_file(r->request->measures.report, write_text, &(struct weir_bytes){text, size});
    free(text);
    return ok;
}

/* ---- the command ---- */

static bool answer(const struct report *r)
{
    struct table table = rows_table(&r->all);

    if (!print_is_text(r->request->format))
        return table_print(&table, r->request->format);
    report_say(r);
    return true;
}

static void close_report(struct report *r)
{
    evaluation_close(&r->evaluation);
    entrants_close(&r->measured);
    recency_close(&r->recency);
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
    if (gather(r) && run_all(r) && run_best(r) && save_page(r) && answer(r)) {
        evaluation_report(&r->evaluation);
        status = EXIT_FINE;
    }
    close_report(r);
    return status;
}
