/* screens_page.c - the page of weir eval --store --report. See report.h. */
#include "report/report.h"

#include "report/page.h"
#include "state/replace.h"

bool report_screens_possible(const struct options *o)
{
    return replace_spares(o->measures.report, REPLACES_REPORT) &&
           replace_possible(o->measures.report);
}

/* ---- which ---- */

static bool errs(const struct screen_row *row)
{
    return row->wrong > 0 || row->right < row->members;
}

/* The screen that asks least, of those without error or of all; the smaller of two equal ones.
 * NULL: none. */
static const struct screen_row *least(const struct screens *s, bool without_error)
{
    const struct screen_row *best = NULL;

    for (uint32_t i = 0; i < s->count; i++) {
        const struct screen_row *row = &s->row[i];

        if (without_error && errs(row))
            continue;
        if (!best || row->calls < best->calls ||
            (row->calls == best->calls && row->memory < best->memory))
            best = row;
    }
    return best;
}

/* ---- the advice, for a page or the terminal ---- */

static void say_one(FILE *out, const struct screen_row *row)
{
    fprintf(out, "%s in %s asks the store for %s of the records", row->name,
            show_room(row->memory).text, show_percent(row->share).text);
    if (!errs(row))
        fprintf(out, " and got every answer right");
    else
        fprintf(out, ", with a precision of %s and a recall of %s",
                show_percent(row->precision).text, show_percent(row->recall).text);
}

static void say_choice(FILE *out, const struct screens *s)
{
    const struct screen_row *exact = least(s, true), *any = least(s, false);

    if (!exact)
        fprintf(out, "Each of these screens has errors. ");
    else {
        fprintf(out, "Of those without errors, ");
        say_one(out, exact);
        fprintf(out, ". ");
    }
    if (any == exact)
        return;
    fprintf(out, "%s", exact ? "Fewer calls: " : "The fewest calls: ");
    say_one(out, any);
    fprintf(out, ". ");
}

bool report_screens_say(const struct screens *s)
{
    say_choice(stdout, s);
    printf("The page: %s\n", s->request->measures.report);
    return true;
}

/* ---- the page ---- */

/* The important columns first: a narrow screen cuts off the rest. */
#define COLUMN(name, kind, member) TABLE_COLUMN(screen_row, name, kind, member)

static const struct table_column columns[] = {
    COLUMN("screen", CHARS, name),
    COLUMN("memory_bytes", BYTES, memory),
    COLUMN("precision", RATE, precision),
    COLUMN("recall", RATE, recall),
    COLUMN("calls", COUNT, calls),
    COLUMN("calls_share", RATE, share),
    COLUMN("fpr", RATE, fpr),
    COLUMN("fnr", RATE, fnr),
    COLUMN("settings", CHARS, settings),
    {NULL},
};

static bool put_page(const void *what, FILE *page)
{
    const struct screens *s = what;
    const struct screen_row *best = least(s, true);
    struct table t = {columns, s->row, sizeof *s->row, s->count};

    fprintf(page, "<header><h1>Which screen for <q>");
    page_stream(page, s->request);
    fprintf(page, "</q>?</h1>\n<p>%s records, %s of them of members of the set in <code>",
            show_whole((double)s->tally.records).text, show_whole((double)s->tally.seen).text);
    page_text(page, asker_name(s->asker));
    fprintf(page, "</code>.</p></header>\n<section id=\"choice\">\n<p class=\"lead\">");
    say_choice(page, s);
    fprintf(page, "</p>\n</section>\n<h2>Errors and calls of each screen</h2>\n");
    page_table(page, &t, 4, best ? (size_t)(best - s->row) : SIZE_MAX);
    fprintf(page,
            "<h2>How to read this</h2>\n<ul>\n<li>Precision: of the records reported as members, "
            "the share that is. Recall: the share of the members that are reported. FPR: the share "
            "of the others that are reported as members. FNR: the share of the members that are "
            "not reported.</li>\n<li>Calls: records for which the store was needed, one by one; "
            "<code>weir "
            "check</code> asks for many at once, and for none twice in a batch.</li>\n<li>The "
            "exact baseline "
            "is the store, asked for every key. Every screen observed the same records in the same "
            "order.</li>\n<li>Made by weir %s.</li>\n</ul>\n",
            weir_version());
    return true;
}

bool report_screens(const struct screens *s)
{
    return page_save(s->request, put_page, s);
}
