/* eval.c - weir eval: measure filters or screens on a stream, against an exact baseline; and weir
 * gen: print a synthetic stream. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/signals.h"
#include "cli/units.h"
#include "cmd/commands.h"
#include "eval/rows.h"
#include "eval/screens.h"
#include "eval/synthetic.h"
#include "report/report.h"

static bool print(const struct evaluation *t)
{
    const struct options *o = t->request;
    struct rows rows;
    struct table table;
    enum rows_kind kind = o->measures.curve           ? ROWS_OF_CURVES
                          : o->measures.by_importance ? ROWS_OF_IMPORTANCES
                                                      : ROWS_OF_FILTERS;
    bool ok = rows_of(&rows, t, kind);

    table = rows_table(&rows, kind);
    ok = ok && table_print(&table, o->format);
    rows_close(&rows);
    return ok;
}

/* span= needs event time. */
static bool set_span(struct options *o)
{
    struct event_time *time = &o->records.time;
    const char *span = NULL;
    double seconds = 0;

    for (int i = 0; i < o->filter.sets; i++) {
        if (strncmp(o->filter.set[i], "span=", 5) == 0)
            span = o->filter.set[i];
        if (strncmp(o->filter.set[i], "ttl=", 4) == 0)
            return reject("'weir eval' cannot measure ttl=: its exact baseline has no TTLs; use "
                          "span= for one time for all keys");
        if (strcmp(o->filter.set[i], "refresh=no") == 0)
            return reject("'weir eval' cannot measure refresh=no: which repeat passes next depends "
                          "on which one passed");
    }
    if (span && !time->field)
        return reject("'weir eval' has no clock: %s needs --time FIELD, the time of a record; "
                      "window= needs none",
                      span);
    if (!time->field)
        return true;
    if (!span)
        return reject("--time needs -S span=, the time for which keys are remembered, for "
                      "example -S span=1h");
    if (o->measures.synthetic || o->measures.permutations || o->measures.report)
        return reject("--time cannot be combined with --synthetic, "
                      "--permutations or --report");
    read_seconds(span + 5, &seconds); /* the library rejects invalid ones */
    time->span = (uint64_t)(seconds * 1000);
    return true;
}

static bool check(const struct options *o)
{
    if (o->measures.curve && o->measures.by_importance)
        return reject("--curve and --by-importance are two tables; use one of them");
    if (o->measures.by_importance && !o->records.importance && !o->measures.synthetic)
        return reject("--by-importance needs -i FIELD, the importance of a record");
    if (o->plan.fnr > 0 && !o->measures.report)
        return reject("--fnr is a limit for the advice of --report; add --report FILE");
    return true;
}

static int run(const struct options *o)
{
    struct evaluation *t = malloc(sizeof *t);
    int status = EXIT_ERROR;

    if (!t)
        return fail("out of memory");
    if (evaluation_open(t, o) && evaluation_run(t) && print(t)) {
        evaluation_report(t);
        status = EXIT_FINE;
    }
    evaluation_close(t);
    free(t);
    return status;
}

/* ---- screens ---- */

static bool check_screens(const struct options *o)
{
    const struct measures *m = &o->measures;

    if (!o->check.store)
        return reject("--screen needs --store URL, the store that contains the set, for example "
                      "keys:FILE");
    if (m->algorithms.n || m->curve || m->by_importance || m->permutations || m->finite ||
        o->filter.fpr)
        return reject("--store measures screens, and -a, -e, --curve, --by-importance, "
                      "--permutations and --finite are for filters; ask for one of the two");
    return !m->report || report_screens_possible(o);
}

/* Write the page if there is one; print its advice, or the table. */
static bool print_screens(const struct screens *s)
{
    const struct options *o = s->request;
    struct table table = screens_table(s);

    if (o->measures.report && !report_screens(s))
        return false;
    return o->measures.report && print_is_text(o->format) ? report_screens_say(s)
                                                          : table_print(&table, o->format);
}

static int measure_screens(const struct options *o)
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

int cmd_eval(struct options *o)
{
    struct inputs inputs = options_inputs(o, 0);

    if (!o->measures.synthetic && !o->records.plain && !files_hold_records(o->command, &inputs))
        return EXIT_ERROR;
    if (o->check.store || o->check.screen)
        return set_span(o) ? measure_screens(o) : EXIT_ERROR;
    if (!check(o) || !set_span(o))
        return EXIT_ERROR;
    return o->measures.report ? report_run(o) : run(o);
}

/* ---- weir gen ---- */

#define ROOM (1 << 17)

static bool print_stream(struct stream *s)
{
    char *line = malloc((size_t)s->spec.length + 16);
    bool ok = line != NULL;

    for (uint64_t i = 0; (i < s->spec.n || !s->spec.n) && ok; i++) {
        struct synthetic_arrival a = stream_next(s);
        size_t n = (size_t)s->spec.length;

        stream_key(s, a.id, line);
        if (s->spec.important)
            n += (size_t)sprintf(line + n, "\t%u", a.importance);
        line[n++] = '\n';
        ok = fwrite_unlocked(line, 1, n, stdout) == n;
    }
    free(line);
    return ok && fflush(stdout) == 0;
}

int cmd_gen(struct options *o)
{
    struct stream s;

    if (o->operands != 1)
        return fail("'weir gen' needs one stream, such as uniform:n=1M,distinct=60%%");
    if (!stream_open(&s, o->operand[0]))
        return EXIT_ERROR;
    setvbuf(stdout, NULL, _IOFBF, ROOM);
    if (print_stream(&s))
        return EXIT_FINE;
    if (errno == EPIPE)
        signals_obey(SIGPIPE);
    fail("cannot write standard output: %s", strerror(errno));
    exit(EXIT_ERROR); /* without a second message */
}
