/* eval.c - weir eval: filters side by side on one stream, beside exact
 * truth. */
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/refuse_files.h"
#include "eval/rows.h"
#include "eval/screens.h"
#include "report/report.h"
#include "cli/messages.h"
#include "cli/units.h"

static bool print(const struct evaluation *t)
{
    const struct eval_request *o = t->request;
    struct rows rows;
    struct table table;
    bool ok = o->measures.curve           ? rows_of_curves(&rows, t)
              : o->measures.by_importance ? rows_of_importances(&rows, t)
                                          : rows_of_filters(&rows, t);

    table = rows_table(&rows);
    ok = ok && table_print(&table, o->format);
    rows_close(&rows);
    return ok;
}

/* By the records' own time, or by none. */
static bool set_span(struct eval_request *o)
{
    struct event_time *time = &o->records.time;
    const char *span = NULL;
    double seconds = 0;

    for (int i = 0; i < o->filter.sets; i++) {
        if (strncmp(o->filter.set[i], "span=", 5) == 0)
            span = o->filter.set[i];
        if (strcmp(o->filter.set[i], "refresh=no") == 0)
            return reject(
                "'weir eval' cannot measure refresh=no: which repeat is to pass next depends "
                "on which one did");
    }
    if (span && !time->field)
        return reject("'weir eval' has no clock: %s needs --time FIELD, the time of a record; "
                      "window= goes without",
                      span);
    if (!time->field)
        return true;
    if (!span)
        return reject("--time has nothing to go by: give -S span=1h, the time for which keys are "
                      "remembered");
    if (o->measures.synthetic || o->measures.permutations || o->measures.report)
        return reject("--time goes with the records as they come: not with --synthetic, "
                      "--permutations or --report");
    read_seconds(span + 5, &seconds); /* one that does not fit the library refuses */
    time->span = (uint64_t)(seconds * 1000);
    return true;
}

static bool check(const struct eval_request *o)
{
    if (o->measures.curve && o->measures.by_importance)
        return reject("--curve and --by-importance are two tables; ask for one at a time");
    if (o->measures.by_importance && !o->records.importance && !o->measures.synthetic)
        return reject("--by-importance needs -i FIELD: where the importance of a record is");
    return true;
}

static int run(const struct eval_request *o)
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

/* ---- screens ---- */

static bool check_screens(const struct eval_request *o)
{
    const struct measures *m = &o->measures;

    if (!o->store)
        return reject("--screen needs --store URL, the store that knows the set: keys:FILE for one "
                      "in a file");
    if (m->algorithms.n || m->curve || m->by_importance || m->permutations || m->finite ||
        o->filter.fpr)
        return reject("--store measures screens, and -a, -e, --curve, --by-importance, "
                      "--permutations and --finite are for filters; ask for one of the two");
    return !m->report || report_screens_possible(o);
}

/* The page, if one is wanted; then the table, or with a page its first words. */
static bool print_screens(const struct screens *s)
{
    const struct eval_request *o = s->request;
    struct table table = screens_table(s);

    if (o->measures.report && !report_screens(s))
        return false;
    return o->measures.report && print_is_text(o->format) ? report_screens_say(s)
                                                          : table_print(&table, o->format);
}

static int measure_screens(const struct eval_request *o)
{
    struct screens *s = check_screens(o) ? calloc(1, sizeof *s) : NULL;
    int status = EXIT_ERROR;

    if (!s)
        return EXIT_ERROR;
    if (screens_open(s, o) && screens_run(s) && print_screens(s)) {
        screens_report(s);
        status = EXIT_FINE;
    }
    screens_close(s);
    free(s);
    return status;
}

int cmd_eval(const struct options *o)
{
    struct eval_request request = {.inputs = options_inputs(o, 0),
                                   .records = o->records,
                                   .filter = o->filter,
                                   .measures = o->measures,
                                   .verbosity = o->verbosity,
                                   .store = o->check.store,
                                   .screens = o->check.screen,
                                   .patience = o->patience,
                                   .format = o->format,
                                   .threads = o->threads};

    if (!o->measures.synthetic && !o->records.plain &&
        !files_hold_records(o->command, &request.inputs))
        return EXIT_ERROR;
    bool screens = o->check.store || o->check.screen;
    if (screens)
        return set_span(&request) ? measure_screens(&request) : EXIT_ERROR;
    if (!check(&request) || !set_span(&request))
        return EXIT_ERROR;
    return o->measures.report ? report_run(&request) : run(&request);
}
