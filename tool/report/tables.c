/* tables.c - the figures of a report, and how they were measured. */
#include <string.h>

#include "report/page.h"
#include "report/report.h"

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
    struct table t = rows_table(&r->all);

    t.column = rows_advice_columns;
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

void report_tables(const struct report *r, FILE *page)
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
