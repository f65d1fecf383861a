/* tables.c - the figures of a report, and how they were got. */
#include <string.h>

#include "report/page.h"
#include "report/report.h"

static void put_row(const struct report *r, FILE *page, uint32_t entrant, bool with_memory)
{
    const struct entrant *v = &r->measured.entrant[entrant];

    fprintf(page, "<tr%s>", entrant == r->choice.best ? " class=\"best\"" : "");
    if (with_memory)
        fprintf(page, "<th>%s</th>", words_size(r, r->candidates.candidate[entrant].memory).text);
    fprintf(page, "<td><code>");
    words_filter(page, r, entrant);
    fprintf(page, "</code></td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
            words_wrong(r, entrant).text, show_percent(score_rate(&v->score, NEW)).text,
            show_percent(score_rate(&v->score, OLD)).text);
}

static void put_best(const struct report *r, FILE *page)
{
    fprintf(page, "<h2>The best in each memory</h2>\n<div class=\"scroll\"><table>\n<thead><tr>"
                  "<th>memory</th><th>filter</th><th>wrong</th><th>FPR</th><th>FNR</th></tr>"
                  "</thead>\n<tbody>\n");
    for (uint32_t m = 0; m < r->candidates.memories; m++)
        if (r->choice.at[m] != UINT32_MAX)
            put_row(r, page, r->choice.at[m], true);
    fprintf(page, "</tbody></table></div>\n");
}

/* The page has the numbers of records and keys in words. */
static bool is_shown(const struct table *t, size_t column)
{
    size_t member = t->column[column].offset;

    return member != offsetof(struct row, n) && member != offsetof(struct row, distinct) &&
           !table_is_empty(t, column);
}

static void put_row_of_all(const struct table *t, size_t row, FILE *page)
{
    char text[CELL_MAX];

    fprintf(page, "<tr>");
    for (size_t i = 0; t->column[i].name; i++)
        if (is_shown(t, i)) {
            table_show(t, row, i, 3, text);
            fprintf(page, "<td>");
            page_text(page, text);
            fprintf(page, "</td>");
        }
    fprintf(page, "</tr>\n");
}

static void put_all(const struct report *r, FILE *page)
{
    struct table t = rows_table(&r->all);

    fprintf(page,
            "<details>\n<summary>All %zu filters and settings that were measured</summary>\n"
            "<div class=\"scroll\"><table class=\"all\">\n<thead><tr>",
            t.rows);
    for (size_t i = 0; t.column[i].name; i++)
        if (is_shown(&t, i))
            fprintf(page, "<th>%s</th>", t.column[i].name);
    fprintf(page, "</tr></thead>\n<tbody>\n");
    for (size_t row = 0; row < t.rows; row++)
        put_row_of_all(&t, row, page);
    fprintf(page, "</tbody></table></div>\n</details>\n");
}

static void put_sample(const struct report *r, FILE *page)
{
    const struct replay *s = &r->evaluation.arrivals.replay;

    if (s->halvings)
        fprintf(page,
                "<li><b>A sample was measured:</b> all %s records of one key in %.0f, chosen "
                "by hash, by filters with 1/%.0f of the memory that is written here. Errors "
                "depend on ratios alone, so they are those of the whole stream, but for "
                "chance; the table of all filters has the memory that was used. <code>weir "
                "eval</code> without <code>--report</code> measures every record.</li>\n",
                show_whole((double)s->count).text, r->scale, r->scale);
    if (s->cut)
        fprintf(page,
                "<li><b>Only the beginning was measured:</b> %s records. The stream is long, "
                "and its keys are too few to choose some of them. <code>weir eval</code> "
                "without <code>--report</code> measures every record.</li>\n",
                show_whole((double)s->count).text);
}

static void put_outlook(const struct report *r, FILE *page)
{
    double renewed = r->evaluation.arrivals.replay.renewed;

    if (r->going_on)
        fprintf(
            page,
            "<li><b>A stream that goes on</b> was measured: after these records came as many "
            "new keys as fill any filter, then the records five times, and the last time "
            "counted. Each time %s of their keys were others: as many, of the keys that came "
            "equally often, as it takes for those of the first third of the records to come again "
            "in the others as they did. What comes again later than that cannot be predicted. "
            "<code>--finite</code> measures the records as they are.</li>\n",
            show_percent(renewed).text);
    else if (!r->request->measures.finite)
        fprintf(page, "<li>Hardly any new keys come: a stream that goes on like this errs as these "
                      "records do.</li>\n");
}

void report_tables(const struct report *r, FILE *page)
{
    put_best(r, page);
    put_all(r, page);
    fprintf(page,
            "<h2>How to read this</h2>\n<ul>\n"
            "<li>FPR: of the records whose key was new, the share that was said to be seen. FNR: "
            "of the repeats, the share that was said to be new. Wrong: both together, of all "
            "records%s.</li>\n<li>Truth is an exact memory of all keys. Every filter saw the same "
            "records "
            "in the same order%s.</li>\n",
            r->weighed ? ", each counted as much as it matters" : "",
            r->request->measures.permutations ? ", shuffled several times" : "");
    put_sample(r, page);
    put_outlook(r, page);
    fprintf(page,
            "<li>Settings that were tried: each filter as it comes, and with ceilings of false "
            "positives from 50 %% to 0.1 %%, unless the command line said which.</li>\n"
            "<li>Made by weir %s; <code>--seed %s</code> repeats it.</li>\n</ul>\n",
            weir_version(), r->measured.seed);
}
