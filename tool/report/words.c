/* words.c - the words of a report: what to choose and why. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/page.h"
#include "report/report.h"

#define DEAR 10 /* how much more one kind of error may cost than the other */
#define RISING 1.5
#define BASELINE_DEFAULT "bloom" /* that everyone knows */

static const struct entrant *best(const struct report *r)
{
    return &r->measured.entrant[r->choice.best];
}

struct shown words_wrong(const struct report *r, uint32_t entrant)
{
    return show_percent(score_cost(&r->measured.entrant[entrant].score, 1, 1));
}

struct shown words_size(const struct report *r, uint32_t memory)
{
    return show_room(r->candidates.memory[memory]);
}

/* ---- command lines ---- */

static void type_filter(FILE *out, const struct report *r, uint32_t entrant)
{
    const struct eval_request *o = r->request;
    const struct candidate *e = &r->candidates.candidate[entrant];
    const char *fpr = e->fpr ? e->fpr : o->filter.fpr;

    fprintf(out, "-a %s -m %s", e->name, show_size(r->candidates.memory[e->memory]).text);
    if (fpr && filter_takes(e->name, "fpr")) {
        fprintf(out, " -e ");
        shell_word(out, fpr);
    }
    for (int i = 0; i < o->filter.sets; i++)
        if (filter_takes(e->name, o->filter.set[i])) {
            fprintf(out, " -S ");
            shell_word(out, o->filter.set[i]);
        }
}

static void type_command(FILE *out, const struct report *r, uint32_t entrant)
{
    const struct eval_request *o = r->request;

    if (o->measures.synthetic) {
        fprintf(out, "weir gen ");
        shell_word(out, o->measures.synthetic);
        fprintf(out, " | ");
    }
    fprintf(out, "weir dedup ");
    type_filter(out, r, entrant);
    if (o->measures.synthetic && r->weighed)
        fprintf(out, " --tsv -k 1%s",
                filter_takes(r->candidates.candidate[entrant].name, "importance") ? " -i 2" : "");
    shell_records(out, &o->records,
                  filter_takes(r->candidates.candidate[entrant].name, "importance"));
    shell_files(out, o->inputs);
}

/* Made by one of the two above, as text of the page. */
static void put_typed(FILE *page, const struct report *r, uint32_t entrant,
                      void (*type)(FILE *, const struct report *, uint32_t))
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return;
    type(out, r, entrant);
    if (fclose(out) == 0)
        page_text(page, text);
    free(text);
}

void words_filter(FILE *page, const struct report *r, uint32_t entrant)
{
    put_typed(page, r, entrant, type_filter);
}

/* ---- the stream ---- */

void report_name(const struct report *r, FILE *page)
{
    const struct eval_request *o = r->request;

    if (o->measures.synthetic)
        page_text(page, o->measures.synthetic);
    else if (o->inputs.count == 0)
        page_text(page, "standard input");
    else
        page_text(page, o->inputs.file[0]);
    if (o->inputs.count > 1)
        fprintf(page, " and %u more", o->inputs.count - 1);
}

static void put_stream(const struct report *r, FILE *page)
{
    const struct score *s = r->going_on ? &best(r)->first : &best(r)->score;
    double n = (double)(s->n[NEW] + s->n[OLD]);

    fprintf(page,
            "<p class=\"stream\">The stream has %s records and %s%s distinct keys; %s of the "
            "records are repeats.",
            show_whole((double)r->evaluation.records).text,
            r->candidates.halvings || r->evaluation.arrivals.replay.cut ? "about " : "",
            show_whole(r->scale * (double)r->distinct).text,
            show_percent((double)s->n[OLD] / n).text);
    if (r->weighed)
        fprintf(page, " Records have an importance: every error counts as much as the record "
                      "matters.");
    if (r->evaluation.tally.skipped)
        fprintf(page, " %s malformed records were skipped.",
                show_whole((double)r->evaluation.tally.skipped).text);
    fprintf(page, "</p>\n");
}

/* ---- what to choose ---- */

/* Wrong verdicts per record after the last so many points of its curve. */
static double cost_at_the_end(const struct entrant *v, uint32_t points)
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
    double whole = score_cost(&best(r)->score, 1, 1), end = 0;

    for (uint32_t i = 0; i < r->evaluation.entrants.count; i++)
        if (strcmp(r->evaluation.entrants.entrant[i].name, best(r)->name) == 0)
            end = cost_at_the_end(&r->evaluation.entrants.entrant[i], CURVE_POINTS / 8);
    if (end > RISING * whole && end > GOOD / 4)
        fprintf(page,
                "<li><b>Mind:</b> it erred more and more: on %s of the last eighth. A stream "
                "that goes on after these records needs more memory%s.</li>\n",
                show_percent(end).text,
                filter_is(best(r)->name, WEIR_CAN_KEEP_ALL) ? ", or a filter that forgets" : "");
}

static void put_errors(const struct report *r, FILE *page)
{
    const struct score *s = &best(r)->score;
    double fnr = score_rate(s, OLD);

    fprintf(page,
            "<li>It judged %s of all records wrongly%s%s: %s of the new records were taken for "
            "seen (and "
            "would be dropped)",
            words_wrong(r, r->choice.best).text, r->weighed ? ", each counted as it matters" : "",
            r->going_on ? ", once it was full" : "", show_percent(score_rate(s, NEW)).text);
    if (isnan(fnr))
        fprintf(page, "; there were no repeats.</li>\n");
    else
        fprintf(page, ", %s of the repeats for new (and would pass again).</li>\n",
                show_percent(fnr).text);
    if (r->going_on)
        fprintf(page,
                "<li>That is an estimate: keys that come again after a longer time than these "
                "records span are not in it. The more records, the better.</li>\n");
}

static void put_memories(const struct report *r, FILE *page)
{
    uint32_t m = r->choice.memory;
    const uint32_t *at = r->choice.at;
    bool less = m > 0 && at[m - 1] != UINT32_MAX;
    bool more = m + 1 < r->candidates.memories && at[m + 1] != UINT32_MAX;

    fprintf(page, "<li>");
    if (less)
        fprintf(page, "With %s the best is <code>%s</code>, which errs on %s%s",
                words_size(r, m - 1).text, r->measured.entrant[at[m - 1]].name,
                words_wrong(r, at[m - 1]).text, more ? "; with " : "");
    else
        fprintf(page, "It is the least that was tried%s", more ? "; with " : "");
    if (more)
        fprintf(page, "%s it is <code>%s</code> with %s", words_size(r, m + 1).text,
                r->measured.entrant[at[m + 1]].name, words_wrong(r, at[m + 1]).text);
    fprintf(page, ".</li>\n");
}

/* The best of the other filters, and a plain Bloom filter in any case. */
static void put_others(const struct report *r, FILE *page)
{
    uint32_t second = UINT32_MAX, bloom = UINT32_MAX;

    for (uint32_t i = 0; i < r->choice.filters; i++) {
        uint32_t entrant = r->choice.best_of[i];
        const struct entrant *v = &r->measured.entrant[entrant];

        if (strcmp(v->name, best(r)->name) == 0)
            continue;
        if (strcmp(v->name, BASELINE_DEFAULT) == 0)
            bloom = entrant;
        if (second == UINT32_MAX ||
            score_cost(&v->score, 1, 1) < score_cost(&r->measured.entrant[second].score, 1, 1))
            second = entrant;
    }
    if (second == UINT32_MAX)
        return;
    fprintf(page, "<li>In the same memory the next best, <code>%s</code>, errs on %s",
            r->measured.entrant[second].name, words_wrong(r, second).text);
    if (bloom != UINT32_MAX && bloom != second)
        fprintf(page, "; a plain Bloom filter, <code>" BASELINE_DEFAULT "</code>, on %s",
                words_wrong(r, bloom).text);
    fprintf(page, ".</li>\n");
}

static void put_if_dear(const struct report *r, FILE *page, double fp, double fn, const char *when)
{
    uint32_t entrant =
        choose_at(&r->choice, &r->candidates, &r->measured, r->choice.memory, fp, fn);
    const struct score *s = &r->measured.entrant[entrant].score;

    if (entrant == r->choice.best)
        return;
    fprintf(page, "<li>If %s, take <code>", when);
    words_filter(page, r, entrant);
    fprintf(page, "</code>: %s of the new records are lost, %s of the repeats pass.</li>\n",
            show_percent(score_rate(s, NEW)).text, show_percent(score_rate(s, OLD)).text);
}

/* What else to take, if that is all that will come. */
static void put_finite(const struct report *r, FILE *page)
{
    const struct choice *f = &r->finite;
    const struct entrant *e = &r->measured.entrant[f->best];

    fprintf(page, "<li>If these records are all that will come, <code>");
    words_filter(page, r, f->best);
    fprintf(page, "</code> %s: it errs on %s of them. <code>--finite</code> asks for that.</li>\n",
            f->reached ? "is enough" : "comes nearest",
            show_percent(score_cost(&e->first, 1, 1)).text);
}

static void put_lasting(const struct report *r, FILE *page)
{
    uint32_t lasting = UINT32_MAX;

    for (uint32_t i = 0; i < r->choice.filters; i++) {
        uint32_t entrant = r->choice.best_of[i];

        if (filter_is(r->measured.entrant[entrant].name, WEIR_CAN_RUN_FOREVER) &&
            (lasting == UINT32_MAX || score_cost(&r->measured.entrant[entrant].score, 1, 1) <
                                          score_cost(&r->measured.entrant[lasting].score, 1, 1)))
            lasting = entrant;
    }
    if (filter_is(best(r)->name, WEIR_CAN_RUN_FOREVER) || lasting == UINT32_MAX)
        return;
    fprintf(page, "<li>If the stream goes on without end, take one that forgets, <code>");
    words_filter(page, r, lasting);
    fprintf(page, "</code>: here it errs on %s.</li>\n", words_wrong(r, lasting).text);
}

static const char *when(const struct report *r)
{
    return r->going_on ? " for a stream that goes on like this" : "";
}

void report_words(const struct report *r, FILE *page)
{
    const struct choice *choice = &r->choice;

    fprintf(page, "<header>\n<h1>Which filter for <q>");
    report_name(r, page);
    fprintf(page, "</q>?</h1>\n");
    put_stream(r, page);
    fprintf(page, "</header>\n<section id=\"choice\">\n<p class=\"lead\">");
    if (!choice->reached)
        fprintf(page, "No filter errs on less than 1 %% in %s%s. Nearest comes ",
                words_size(r, choice->memory).text, when(r));
    else
        fprintf(page, "Use ");
    fprintf(page, "<b>%s</b> with <b>%s</b>%s, %.3g bits per distinct key.</p>\n<pre>",
            best(r)->name, words_size(r, choice->memory).text, choice->reached ? when(r) : "",
            8 * (double)r->candidates.memory[choice->memory] / (r->scale * (double)r->distinct));
    put_typed(page, r, choice->best, type_command);
    fprintf(page, "</pre>\n<ul>\n<li><code>%s</code>: %s.</li>\n", best(r)->name,
            weir_find_algorithm(WEIR_KIND_FILTER, best(r)->name)->idea);
    put_errors(r, page);
    put_trend(r, page);
    put_memories(r, page);
    put_others(r, page);
    if (r->going_on)
        put_finite(r, page);
    else
        put_lasting(r, page);
    put_if_dear(r, page, DEAR, 1, "to lose a new record is ten times as bad as to pass a repeat");
    put_if_dear(r, page, 1, DEAR, "to pass a repeat is ten times as bad as to lose a new record");
    fprintf(page, "</ul>\n</section>\n");
}

void report_say(const struct report *r)
{
    const struct choice *choice = &r->choice;

    printf("%s %s with %s%s: it judged %s of all records wrongly%s\n\n    ",
           choice->reached ? "use" : "nearest to 1 % wrong comes", best(r)->name,
           words_size(r, choice->memory).text, when(r), words_wrong(r, choice->best).text,
           r->weighed ? ", each counted as it matters" : "");
    type_command(stdout, r, choice->best);
    printf("\n\nthe picture is in %s\n", r->request->measures.report);
}
