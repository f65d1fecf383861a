/* story.c - the words of a report: what to choose and why, and its tables. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"
#include "report.h"

#define DEAR 10 /* how much more one kind of error may cost than the other */
#define RISING 1.5

static const struct rival *best(const struct report *r)
{
    return &r->sweep.rival[r->choice.best];
}

static struct shown wrong(const struct report *r, uint32_t rival)
{
    return show_percent(rival_cost(&r->sweep.rival[rival], 1, 1));
}

static struct shown size_at(const struct report *r, uint32_t memory)
{
    return show_room(r->lineup.memory[memory]);
}

/* ---- command lines ---- */

static void type_filter(FILE *out, const struct report *r, uint32_t rival)
{
    const struct options *o = r->options;
    const struct entrant *e = &r->lineup.entrant[rival];
    const char *fpr = e->fpr ? e->fpr : o->fpr;

    fprintf(out, "-a %s -m %s", e->name, show_size(r->lineup.memory[e->memory]).text);
    if (fpr && filter_takes(e->name, "fpr")) {
        fprintf(out, " -e ");
        shell_word(out, fpr);
    }
    for (int i = 0; i < o->sets; i++)
        if (filter_takes(e->name, o->set[i])) {
            fprintf(out, " -S ");
            shell_word(out, o->set[i]);
        }
}

static void type_command(FILE *out, const struct report *r, uint32_t rival)
{
    const struct options *o = r->options;

    if (o->synthetic) {
        fprintf(out, "weir gen ");
        shell_word(out, o->synthetic);
        fprintf(out, " | ");
    }
    fprintf(out, "weir dedup ");
    type_filter(out, r, rival);
    if (o->synthetic && r->weighed)
        fprintf(out, " --tsv -k 1%s",
                filter_takes(r->lineup.entrant[rival].name, "importance") ? " -i 2" : "");
    shell_records(out, o, filter_takes(r->lineup.entrant[rival].name, "importance"));
    shell_files(out, o);
}

/* Made by one of the two above, as text of the page. */
static void put_typed(FILE *page, const struct report *r, uint32_t rival,
                      void (*type)(FILE *, const struct report *, uint32_t))
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return;
    type(out, r, rival);
    if (fclose(out) == 0)
        page_text(page, text);
    free(text);
}

/* ---- the stream ---- */

static void put_name(FILE *page, const struct options *o)
{
    if (o->synthetic)
        page_text(page, o->synthetic);
    else if (o->operands == 0)
        page_text(page, "standard input");
    else
        page_text(page, o->operand[0]);
    if (o->operands > 1)
        fprintf(page, " and %d more", o->operands - 1);
}

static void put_stream(const struct report *r, FILE *page)
{
    const struct score *s = &best(r)->score;
    double n = (double)(s->n[NEW] + s->n[OLD]);

    fprintf(page,
            "<p class=\"stream\">The stream has %s records and %s%s distinct keys; %s of the "
            "records are repeats.",
            show_whole((double)r->trial.records).text,
            r->lineup.halvings || r->trial.supply.cut ? "about " : "",
            show_whole(r->scale * (double)r->distinct).text,
            show_percent((double)s->n[OLD] / n).text);
    if (r->weighed)
        fprintf(page, " Records have an importance: every error counts as much as the record "
                      "matters.");
    if (r->trial.tally.skipped)
        fprintf(page, " %s malformed records were skipped.",
                show_whole((double)r->trial.tally.skipped).text);
    fprintf(page, "</p>\n");
}

/* ---- what to choose ---- */

/* Wrong verdicts per record after the last so many points of its curve. */
static double cost_at_the_end(const struct rival *v, uint32_t points)
{
    const struct curve *c = &v->curve;
    struct score late;
    uint64_t all;

    if (c->points <= points)
        return 0;
    late = score_less(&c->point[c->points - 1].score, &c->point[c->points - 1 - points].score);
    all = late.weight[NEW] + late.weight[OLD];
    return all ? (double)(late.wrong_weight[NEW] + late.wrong_weight[OLD]) / (double)all : 0;
}

static void put_trend(const struct report *r, FILE *page)
{
    double whole = rival_cost(best(r), 1, 1), end = 0;

    for (uint32_t i = 0; i < r->trial.contest.rivals; i++)
        if (strcmp(r->trial.contest.rival[i].name, best(r)->name) == 0)
            end = cost_at_the_end(&r->trial.contest.rival[i], CURVE_POINTS / 8);
    if (end > RISING * whole && end > GOOD / 4)
        fprintf(page,
                "<li><b>Mind:</b> it erred more and more: on %s of the last eighth. A stream "
                "that goes on after these records needs more memory%s.</li>\n",
                show_percent(end).text,
                strcmp(best(r)->name, "bloom") == 0 ? ", or a filter that forgets" : "");
}

static void put_errors(const struct report *r, FILE *page)
{
    const struct score *s = &best(r)->score;
    double fnr = score_rate(s, OLD);

    fprintf(
        page,
        "<li>It judged %s of all records wrongly%s: %s of the new records were taken for seen (and "
        "would be dropped)",
        wrong(r, r->choice.best).text, r->weighed ? ", each counted as it matters" : "",
        show_percent(score_rate(s, NEW)).text);
    if (isnan(fnr))
        fprintf(page, "; there were no repeats.</li>\n");
    else
        fprintf(page, ", %s of the repeats for new (and would pass again).</li>\n",
                show_percent(fnr).text);
}

static void put_memories(const struct report *r, FILE *page)
{
    uint32_t m = r->choice.memory;
    const uint32_t *at = r->choice.at;
    bool less = m > 0 && at[m - 1] != UINT32_MAX;
    bool more = m + 1 < r->lineup.memories && at[m + 1] != UINT32_MAX;

    fprintf(page, "<li>");
    if (less)
        fprintf(page, "With %s the best is <code>%s</code>, which errs on %s%s",
                size_at(r, m - 1).text, r->sweep.rival[at[m - 1]].name, wrong(r, at[m - 1]).text,
                more ? "; with " : "");
    else
        fprintf(page, "It is the least that was tried%s", more ? "; with " : "");
    if (more)
        fprintf(page, "%s it is <code>%s</code> with %s", size_at(r, m + 1).text,
                r->sweep.rival[at[m + 1]].name, wrong(r, at[m + 1]).text);
    fprintf(page, ".</li>\n");
}

/* The best of the other filters, and a plain Bloom filter in any case. */
static void put_others(const struct report *r, FILE *page)
{
    uint32_t second = UINT32_MAX, bloom = UINT32_MAX;

    for (uint32_t i = 0; i < r->choice.champions; i++) {
        uint32_t rival = r->choice.champion[i];
        const struct rival *v = &r->sweep.rival[rival];

        if (strcmp(v->name, best(r)->name) == 0)
            continue;
        if (strcmp(v->name, "bloom") == 0)
            bloom = rival;
        if (second == UINT32_MAX || rival_cost(v, 1, 1) < rival_cost(&r->sweep.rival[second], 1, 1))
            second = rival;
    }
    if (second == UINT32_MAX)
        return;
    fprintf(page, "<li>In the same memory the next best, <code>%s</code>, errs on %s",
            r->sweep.rival[second].name, wrong(r, second).text);
    if (bloom != UINT32_MAX && bloom != second)
        fprintf(page, "; a plain Bloom filter, <code>bloom</code>, on %s", wrong(r, bloom).text);
    fprintf(page, ".</li>\n");
}

static void put_if_dear(const struct report *r, FILE *page, double fp, double fn, const char *when)
{
    uint32_t rival = choose_at(&r->lineup, &r->sweep, r->choice.memory, fp, fn);
    const struct score *s = &r->sweep.rival[rival].score;

    if (rival == r->choice.best)
        return;
    fprintf(page, "<li>If %s, take <code>", when);
    put_typed(page, r, rival, type_filter);
    fprintf(page, "</code>: %s of the new records are lost, %s of the repeats pass.</li>\n",
            show_percent(score_rate(s, NEW)).text, show_percent(score_rate(s, OLD)).text);
}

static const char *idea_of(const char *name)
{
    for (size_t i = 0; weir_about(i); i++)
        if (strcmp(weir_about(i)->name, name) == 0)
            return weir_about(i)->idea;
    return "";
}

void report_story(const struct report *r, FILE *page)
{
    const struct choice *h = &r->choice;

    fprintf(page, "<header>\n<h1>Which filter for <q>");
    put_name(page, r->options);
    fprintf(page, "</q>?</h1>\n");
    put_stream(r, page);
    fprintf(page, "</header>\n<section id=\"choice\">\n<p class=\"lead\">");
    if (!h->reached)
        fprintf(page, "No filter errs on less than 1 %% in %s. Nearest comes ",
                size_at(r, h->memory).text);
    else
        fprintf(page, "Use ");
    fprintf(page, "<b>%s</b> with <b>%s</b>, %.3g bits per distinct key.</p>\n<pre>", best(r)->name,
            size_at(r, h->memory).text,
            8 * (double)r->lineup.memory[h->memory] / (r->scale * (double)r->distinct));
    put_typed(page, r, h->best, type_command);
    fprintf(page, "</pre>\n<ul>\n<li><code>%s</code>: %s.</li>\n", best(r)->name,
            idea_of(best(r)->name));
    put_errors(r, page);
    put_trend(r, page);
    put_memories(r, page);
    put_others(r, page);
    put_if_dear(r, page, DEAR, 1, "to lose a new record is ten times as bad as to pass a repeat");
    put_if_dear(r, page, 1, DEAR, "to pass a repeat is ten times as bad as to lose a new record");
    fprintf(page, "</ul>\n</section>\n");
}

void report_say(const struct report *r)
{
    const struct choice *h = &r->choice;

    printf("%s %s with %s: it judged %s of all records wrongly%s\n\n    ",
           h->reached ? "use" : "nearest to 1 % wrong comes", best(r)->name,
           size_at(r, h->memory).text, wrong(r, h->best).text,
           r->weighed ? ", each counted as it matters" : "");
    type_command(stdout, r, h->best);
    printf("\n\nthe picture is in %s\n", r->options->report);
}

/* ---- tables ---- */

static void put_row(const struct report *r, FILE *page, uint32_t rival, bool with_memory)
{
    const struct rival *v = &r->sweep.rival[rival];

    fprintf(page, "<tr%s>", rival == r->choice.best ? " class=\"best\"" : "");
    if (with_memory)
        fprintf(page, "<th>%s</th>", size_at(r, r->lineup.entrant[rival].memory).text);
    fprintf(page, "<td><code>");
    put_typed(page, r, rival, type_filter);
    fprintf(page, "</code></td><td>%s</td><td>%s</td><td>%s</td></tr>\n", wrong(r, rival).text,
            show_percent(score_rate(&v->score, NEW)).text,
            show_percent(score_rate(&v->score, OLD)).text);
}

static void put_best(const struct report *r, FILE *page)
{
    fprintf(page, "<h2>The best in each memory</h2>\n<div class=\"scroll\"><table>\n<thead><tr>"
                  "<th>memory</th><th>filter</th><th>wrong</th><th>FPR</th><th>FNR</th></tr>"
                  "</thead>\n<tbody>\n");
    for (uint32_t m = 0; m < r->lineup.memories; m++)
        if (r->choice.at[m] != UINT32_MAX)
            put_row(r, page, r->choice.at[m], true);
    fprintf(page, "</tbody></table></div>\n");
}

static bool is_shown(const struct grid *g, uint32_t column)
{
    bool any = false;

    for (size_t i = column; i < g->cells; i += g->columns)
        any |= g->cell[i].kind != CELL_NONE;
    return any && strcmp(g->name[column], "n") != 0 && strcmp(g->name[column], "distinct") != 0;
}

static void put_cell(const struct grid *g, size_t at, FILE *page)
{
    char text[CELL_MAX];

    grid_show(&g->cell[at], 3, text);
    fprintf(page, "<td>");
    page_text(page, text);
    fprintf(page, "</td>");
}

static void put_all(const struct report *r, FILE *page)
{
    const struct grid *g = &r->rows;

    fprintf(page,
            "<details>\n<summary>All %zu filters and settings that were measured</summary>\n"
            "<div class=\"scroll\"><table class=\"all\">\n<thead><tr>",
            grid_rows(g));
    for (uint32_t i = 0; i < g->columns; i++)
        if (is_shown(g, i))
            fprintf(page, "<th>%s</th>", g->name[i]);
    fprintf(page, "</tr></thead>\n<tbody>\n");
    for (size_t row = 0; row < grid_rows(g); row++) {
        fprintf(page, "<tr>");
        for (uint32_t i = 0; i < g->columns; i++)
            if (is_shown(g, i))
                put_cell(g, row * g->columns + i, page);
        fprintf(page, "</tr>\n");
    }
    fprintf(page, "</tbody></table></div>\n</details>\n");
}

static void put_sample(const struct report *r, FILE *page)
{
    const struct supply *s = &r->trial.supply;

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
            r->options->permutations ? ", shuffled several times" : "");
    put_sample(r, page);
    fprintf(page,
            "<li>Settings that were tried: each filter as it comes, and with ceilings of false "
            "positives from 50 %% to 0.1 %%, unless the command line said which.</li>\n"
            "<li>Made by weir %s; <code>--seed %s</code> repeats it.</li>\n</ul>\n",
            weir_version(), r->sweep.seed);
}
