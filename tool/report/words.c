/* words.c - the words of a report: the advice, its limits and its reasons. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/page.h"
#include "report/report.h"

#define NARROW 0.005     /* an interval that needs no more input */
#define SLOWER 0.9       /* of the rate of new keys, in twice as many records */
#define INPUT_MOST 100.0 /* times as much: more is not worth the advice */

static const struct entrant *best(const struct report *r)
{
    return &r->measured.entrant[r->choice.best];
}

static const struct outlook *outlook(const struct report *r)
{
    return &r->choice.outlook[r->choice.best];
}

struct words words_range(struct range range)
{
    struct words w;
    struct shown low = show_percent(range.low), high = show_percent(range.high);

    if (isnan(range.high) || strcmp(low.text, high.text) == 0)
        snprintf(w.text, sizeof w.text, "%s", high.text);
    else
        snprintf(w.text, sizeof w.text, "%s to %s", low.text, high.text);
    return w;
}

struct shown words_size(const struct report *r, uint32_t memory)
{
    return show_room(r->candidates.memory[memory]);
}

/* ---- command lines ---- */

static void type_filter(FILE *out, const struct report *r, uint32_t entrant)
{
    const struct options *o = r->request;
    const struct candidate *e = &r->candidates.candidate[entrant];
    const char *fpr = e->fpr ? e->fpr : o->filter.fpr;

    fprintf(out, "-a %s -m %s", e->name, show_size(r->candidates.memory[e->memory]).text);
    if (fpr && filter_takes(e->name, "fpr")) {
        fprintf(out, " -e ");
        shell_word(out, fpr);
    }
    if (e->set)
        fprintf(out, " -S %s", e->set);
    for (int i = 0; i < o->filter.sets; i++)
        if (filter_takes(e->name, o->filter.set[i])) {
            fprintf(out, " -S ");
            shell_word(out, o->filter.set[i]);
        }
}

static void type_command(FILE *out, const struct report *r, uint32_t entrant)
{
    const struct options *o = r->request;

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
    shell_files(out, options_inputs(o, 0));
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

static void put_stream(const struct report *r, FILE *page)
{
    const struct score *s = &best(r)->score;

    fprintf(page,
            "<p class=\"stream\">The stream has %s records and %s%s distinct keys; %s of the "
            "records are repeats.",
            show_whole((double)r->evaluation.records).text,
            r->candidates.halvings || r->evaluation.arrivals.replay.cut ? "about " : "",
            show_whole(r->growth.distinct).text,
            show_percent((double)s->n[OLD] / (double)(s->n[NEW] + s->n[OLD])).text);
    if (r->weighed)
        fprintf(page, " Records have an importance: each repeat that passes counts as much.");
    if (r->evaluation.tally.skipped)
        fprintf(page, " %s malformed records were skipped.",
                show_whole((double)r->evaluation.tally.skipped).text);
    fprintf(page, "</p>\n");
}

/* ---- the advice, as lines for the terminal and for the page ---- */

struct advice {
    char line[8][256];
    int lines;
};

__attribute__((format(printf, 2, 3))) static void say(struct advice *a, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(a->line[a->lines++], sizeof a->line[0], format, args);
    va_end(args);
}

static void put_lead(FILE *out, const struct report *r)
{
    double covered = HORIZON * r->scale * (double)r->evaluation.arrivals.replay.count;

    fprintf(out, "%s %s with %s", r->choice.meets ? "use" : "nearest to the limits:", best(r)->name,
            words_size(r, r->choice.memory).text);
    if (r->going_on)
        fprintf(out, ", for a stream of up to %s records like these", show_count(covered).text);
}

/* The upper end falls with the rate of new keys. */
static void say_more_input(struct advice *a, const struct report *r)
{
    double slower = r->growth.slowdown;
    double times = slower < SLOWER ? exp2(log(0.5) / log(slower)) : INFINITY;

    if (outlook(r)->passed.high - outlook(r)->passed.low < NARROW)
        say(a, "more records would extend the advice to a longer stream");
    else if (times <= INPUT_MOST)
        say(a, "about %.0f times as many records would halve that interval", fmax(2, ceil(times)));
    else
        say(a, "more records would hardly narrow it: new keys arrive at a constant rate");
}

static struct advice advise(const struct report *r)
{
    const struct limits *l = &r->choice.limits;
    struct advice a = {.lines = 0};

    if (!r->choice.meets && r->enough)
        say(&a, "this does not meet the limits; -m %s would", show_size(r->enough).text);
    else if (!r->choice.meets)
        say(&a, "this does not meet the limits; no filter and memory that was measured does");
    say(&a, "new records lost: %s (limit %s)", words_range(outlook(r)->lost).text,
        show_percent(l->lost).text);
    if (isnan(outlook(r)->passed.high))
        say(&a, "repeats passed: none, no key occurs twice");
    else
        say(&a, "repeats passed: %s (limit %s)%s", words_range(outlook(r)->passed).text,
            show_percent(l->passed).text, r->weighed ? ", weighted by importance" : "");
    if (!r->going_on)
        return a;
    say(&a, "the upper end counts every new key as a repeat of a key older than these records");
    say_more_input(&a, r);
    if (!filter_is(best(r)->name, WEIR_CAN_RUN_FOREVER))
        say(&a, "%s does not forget: on a longer stream it loses more and more records",
            best(r)->name);
    return a;
}

static void put_memories(const struct report *r, FILE *page)
{
    uint32_t m = r->choice.memory;
    const uint32_t *at = r->choice.at;

    if (m == 0 || at[m - 1] == UINT32_MAX)
        return;
    fprintf(page, "<li>With %s the best is <code>%s</code>: %s of the repeats pass.</li>\n",
            words_size(r, m - 1).text, r->measured.entrant[at[m - 1]].name,
            words_range(r->choice.outlook[at[m - 1]].passed).text);
}

/* The best of the other filters. */
static void put_others(const struct report *r, FILE *page)
{
    uint32_t second = UINT32_MAX;

    for (uint32_t i = 0; i < r->choice.filters; i++) {
        uint32_t entrant = r->choice.best_of[i];

        if (strcmp(r->measured.entrant[entrant].name, best(r)->name) != 0 &&
            (second == UINT32_MAX ||
             r->choice.outlook[entrant].passed.high < r->choice.outlook[second].passed.high))
            second = entrant;
    }
    if (second == UINT32_MAX)
        return;
    fprintf(page, "<li>In the same memory <code>%s</code> loses %s of the new records",
            r->measured.entrant[second].name, words_range(r->choice.outlook[second].lost).text);
    fprintf(page, " and passes %s of the repeats.</li>\n",
            words_range(r->choice.outlook[second].passed).text);
}

void report_words(const struct report *r, FILE *page)
{
    struct advice a = advise(r);

    fprintf(page, "<header>\n<h1>Which filter for <q>");
    page_stream(page, r->request);
    fprintf(page, "</q>?</h1>\n");
    put_stream(r, page);
    fprintf(page, "</header>\n<section id=\"choice\">\n<p class=\"lead\">");
    put_lead(page, r);
    fprintf(page, "</p>\n<pre>");
    put_typed(page, r, r->choice.best, type_command);
    fprintf(page, "</pre>\n<ul>\n");
    for (int i = 0; i < a.lines; i++)
        fprintf(page, i == 0 && !r->choice.meets ? "<li><b>%s</b></li>\n" : "<li>%s</li>\n",
                a.line[i]);
    fprintf(page, "<li><code>%s</code>: %s.</li>\n", best(r)->name,
            weir_find_algorithm(WEIR_KIND_FILTER, best(r)->name)->idea);
    put_memories(r, page);
    put_others(r, page);
    fprintf(page, "</ul>\n</section>\n");
}

void report_say(const struct report *r)
{
    struct advice a = advise(r);

    put_lead(stdout, r);
    printf("\n\n    ");
    type_command(stdout, r, r->choice.best);
    printf("\n\n");
    for (int i = 0; i < a.lines; i++)
        printf("%s\n", a.line[i]);
    printf("charts and figures: %s\n", r->request->measures.report);
}
