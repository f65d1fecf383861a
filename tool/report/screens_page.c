/* screens_page.c - the page of weir eval --store --report. See report.h. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "report/page.h"
#include "state/replace.h"

bool report_screens_possible(const struct eval_request *o)
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

static void put_stream(FILE *page, const struct eval_request *o)
{
    page_text(page, o->measures.synthetic  ? o->measures.synthetic
                    : o->inputs.count == 0 ? "standard input"
                                           : o->inputs.file[0]);
    if (o->inputs.count > 1)
        fprintf(page, " and %u more", o->inputs.count - 1);
}

/* Columns of the page, the important ones first: a narrow screen cuts off the rest. */
static const char *const columns[] = {"screen", "memory_bytes", "precision",
                                      "recall", "calls",        "calls_share",
                                      "fpr",    "fnr",          "settings"};
#define COLUMNS (sizeof columns / sizeof *columns)

static size_t find_column(const struct table *t, const char *name)
{
    size_t i = 0;

    while (strcmp(t->column[i].name, name) != 0)
        i++;
    return i;
}

static void put_row(FILE *page, const struct table *t, size_t row)
{
    char text[CELL_MAX];

    for (size_t i = 0; i < COLUMNS; i++) {
        table_show(t, row, find_column(t, columns[i]), 4, text);
        fprintf(page, "<td>");
        page_text(page, text);
        fprintf(page, "</td>");
    }
}

static void put_table(FILE *page, const struct screens *s)
{
    struct table t = screens_table(s);

    fprintf(page, "<h2>Errors and calls of each screen</h2>\n<div class=\"scroll\"><table "
                  "class=\"all\">\n<thead><tr>");
    for (size_t i = 0; i < COLUMNS; i++)
        fprintf(page, "<th>%s</th>", columns[i]);
    fprintf(page, "</tr></thead>\n<tbody>\n");
    for (size_t row = 0; row < t.rows; row++) {
        fprintf(page, "<tr%s>", &s->row[row] == least(s, true) ? " class=\"best\"" : "");
        put_row(page, &t, row);
        fprintf(page, "</tr>\n");
    }
    fprintf(page, "</tbody></table></div>\n");
}

static void put_page(FILE *page, const struct screens *s)
{
    fputs(page_head, page);
    put_stream(page, s->request);
    fputs(page_style, page);
    fprintf(page, "<header><h1>Which screen for <q>");
    put_stream(page, s->request);
    fprintf(page, "</q>?</h1>\n<p>%s records, %s of them of members of the set in <code>",
            show_whole((double)s->tally.records).text, show_whole((double)s->tally.seen).text);
    page_text(page, asker_name(s->asker));
    fprintf(page, "</code>.</p></header>\n<section id=\"choice\">\n<p class=\"lead\">");
    say_choice(page, s);
    fprintf(page, "</p>\n</section>\n");
    put_table(page, s);
    fprintf(page,
            "<h2>How to read this</h2>\n<ul>\n<li>Precision: of the records reported as members, "
            "the share that is. Recall: the share of the members that are reported. FPR: the share "
            "of the others that are reported as members. FNR: the share of the members that are "
            "not reported.</li>\n<li>Calls: records for which the store was needed, one by one; "
            "<code>weir "
            "check</code> asks for many at once, and for none twice in a batch.</li>\n<li>The "
            "exact baseline "
            "is the store, asked for every key. Every screen observed the same records in the same "
            "order.</li>\n<li>Made by weir %s.</li>\n</ul>\n</main>\n</body>\n</html>\n",
            weir_version());
}

static enum weir_status write_text(const void *what, weir_sink sink, void *into)
{
    const struct weir_bytes *text = what;

    return sink(into, text->data, text->size) ? WEIR_OK : WEIR_WRITE_FAILED;
}

bool report_screens(const struct screens *s)
{
    char *text = NULL;
    size_t size;
    FILE *page = open_memstream(&text, &size);
    bool whole;

    if (page)
        put_page(page, s);
    whole = page && !ferror(page) && fclose(page) == 0;
    if (!whole)
        fail("out of memory");
    whole = whole &&
            replace_file(s->request->measures.report, write_text, &(struct weir_bytes){text, size});
    free(text);
    return whole;
}
