/* charts.c - the pictures of a report. All but the first two show each filter as
 * it does best in the memory to take. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chart.h"
#include "page.h"
#include "report.h"

#define LINE_POINTS 80

/* ---- what they share ---- */

/* A filter has the same colour in every chart of every report. */
static int hue_of(const char *name)
{
    int i = 0;

    while (weir_about((size_t)i) && strcmp(weir_about((size_t)i)->name, name) != 0)
        i++;
    return HUE_FIRST + i;
}

static struct series *add_filter(struct chart *c, const struct report *r, const char *name)
{
    struct series *s = chart_add(c, name, hue_of(name));

    s->bold = strcmp(name, r->lineup.entrant[r->choice.best].name) == 0;
    return s;
}

/* Percent, a power of ten: less than one error among so many. */
static double floor_of(uint64_t n)
{
    return n ? fmax(pow(10, floor(log10(50.0 / (double)n))), 1e-5) : 1;
}

static bool show(struct chart *c, FILE *page, bool *first, const char *caption)
{
    bool ok = true;

    fprintf(page, "<figure id=\"chart-%s\">\n", c->id);
    if (chart_is_empty(c)) {
        fprintf(page, "<p>%s: nothing to show, there were no such records.</p>\n", c->title);
    } else {
        ok = chart_draw(c, *first, page);
        *first = false;
    }
    fprintf(page, "<figcaption>%s</figcaption>\n</figure>\n", caption);
    return ok;
}

static const struct score *scored(const struct report *r)
{
    return &r->sweep.rival[r->choice.best].score;
}

static double chosen_bits(const struct report *r)
{
    return 8 * (double)r->sweep.rival[r->choice.best].memory;
}

/* The least share of repeats missed in so many bits at this rate of false
 * positives: by the limit, or of an exact list of the latest keys. */
static double bound(const struct report *r, double bits, double fpr)
{
    return r->uniform ? least_fnr(bits, (double)r->distinct, fpr)
                      : recency_fnr(&r->recency, bits / log2(1 / fpr));
}

static const char *bound_name(const struct report *r)
{
    return r->uniform ? "limit" : "exact LRU";
}

/* ---- false positives against false negatives ---- */

static int by_x(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void sort_points(struct series *s)
{
    double pair[POINTS_MAX][2];

    for (uint32_t i = 0; i < s->n; i++) {
        pair[i][0] = s->x[i];
        pair[i][1] = s->y[i];
    }
    qsort(pair, s->n, sizeof *pair, by_x);
    for (uint32_t i = 0; i < s->n; i++) {
        s->x[i] = pair[i][0];
        s->y[i] = pair[i][1];
    }
}

static void add_settings(struct chart *c, const struct report *r)
{
    struct series *s = NULL;

    for (uint32_t i = 0; i < r->lineup.entrants; i++) {
        const struct entrant *e = &r->lineup.entrant[i];
        const struct score *score = &r->sweep.rival[i].score;

        if (e->memory != r->choice.memory)
            continue;
        if (!s || strcmp(s->name, e->name) != 0)
            s = add_filter(c, r, e->name);
        series_point(s, 100 * score_rate(score, NEW), 100 * score_rate(score, OLD));
        sort_points(s);
    }
}

static void add_bound(struct chart *c, const struct report *r, double bits)
{
    struct series *s = chart_add(c, bound_name(r), HUE_TEXT);

    s->dashed = true;
    for (int i = 0; i < LINE_POINTS; i++) {
        double fpr = c->x.least / 100 * pow(90 / c->x.least, (double)i / (LINE_POINTS - 1));

        series_point(s, 100 * fpr, 100 * bound(r, bits, fpr));
    }
}

static bool draw_tradeoff(const struct report *r, FILE *page, bool *first)
{
    static struct chart c;
    const struct score *s = scored(r);
    char title[128], ring[64];

    snprintf(title, sizeof title, "Two ways to err, in %s",
             show_room(r->lineup.memory[r->choice.memory]).text);
    c = (struct chart){.id = "tradeoff", .title = title, .points = true};
    c.x = (struct axis){.label = "false positives, % of new records", .log = true};
    c.x.least = floor_of(s->n[NEW]);
    c.x.most = 100;
    c.y = (struct axis){.label = "false negatives, % of repeats"};
    add_settings(&c, r);
    add_bound(&c, r, chosen_bits(r));
    snprintf(ring, sizeof ring, "%g,%g", fmax(100 * score_rate(s, NEW), c.x.least),
             100 * score_rate(s, OLD));
    c.ring = isnan(score_rate(s, OLD)) ? NULL : ring;
    return show(&c, page, first,
                r->uniform
                    ? "Each point is a filter with one setting; down and left is better, the ring "
                      "is the one to take. Below the dashed line is what no filter of this memory "
                      "can do when it is asked for all keys of the stream. A point at the left "
                      "edge had no false positive, or hardly one."
                    : "Each point is a filter with one setting; down and left is better, the ring "
                      "is the one to take. The dashed line is what a list of the latest keys "
                      "would miss that spends log2(1/FPR) bits on a key, the least that is "
                      "possible. A point at the left edge had no false positive, or hardly one.");
}

/* ---- errors against memory ---- */

/* The least that a bound allows, over all rates of false positives. */
static double bound_cost(const struct report *r, double bits)
{
    const struct score *s = scored(r);
    double n = (double)(s->n[NEW] + s->n[OLD]), least = INFINITY;

    for (double fpr = 0.5; fpr > 1e-7; fpr *= 0.8) {
        double fnr = s->n[OLD] ? bound(r, bits, fpr) : 0;
        double cost = (fpr * (double)s->n[NEW] + fnr * (double)s->n[OLD]) / n;

        least = fmin(least, cost);
    }
    return least;
}

static void add_memory_bound(struct chart *c, const struct report *r)
{
    struct series *s = chart_add(c, bound_name(r), HUE_TEXT);

    s->dashed = true;
    for (uint32_t m = 0; m < r->lineup.memories; m++) {
        double memory = (double)r->lineup.memory[m];

        series_point(s, memory, 100 * bound_cost(r, 8 * memory / r->scale));
    }
}

static void add_memories(struct chart *c, const struct report *r)
{
    for (uint32_t i = 0; i < r->choice.champions; i++) {
        const char *name = r->lineup.entrant[r->choice.champion[i]].name;
        struct series *s = add_filter(c, r, name);
        uint32_t rival;

        for (uint32_t m = 0; m < r->lineup.memories; m++)
            if (choose_setting(&r->lineup, &r->sweep, name, m, &rival))
                series_point(s, (double)r->lineup.memory[m],
                             100 * rival_cost(&r->sweep.rival[rival], 1, 1));
    }
}

static void tic_memories(struct axis *a, const struct report *r)
{
    const struct lineup *l = &r->lineup;
    size_t used = 0;

    for (uint32_t m = 0; m < l->memories && used + 64 < sizeof a->tics; m++)
        used +=
            (size_t)snprintf(a->tics + used, sizeof a->tics - used, "%s'%s' %llu", m ? ", " : "",
                             show_size(l->memory[m]).text, (unsigned long long)l->memory[m]);
    a->least = (double)l->memory[0] / 1.2;
    a->most = (double)l->memory[l->memories - 1] * 1.1;
    a->slanted = l->memories > 8;
}

static bool draw_memory(const struct report *r, FILE *page, bool *first)
{
    static struct chart c;
    const struct score *s = scored(r);
    struct series *good;
    char ring[64];

    c = (struct chart){.id = "memory", .title = "What more memory buys"};
    c.x = (struct axis){.label = "memory, bytes", .log = true};
    c.y = (struct axis){.label = r->weighed ? "wrong verdicts, % by importance"
                                            : "wrong verdicts, % of all records",
                        .log = true,
                        .least = floor_of(s->n[NEW] + s->n[OLD])};
    tic_memories(&c.x, r);
    add_memories(&c, r);
    if (!r->weighed)
        add_memory_bound(&c, r);
    good = chart_add(&c, NULL, HUE_FAINT);
    series_point(good, c.x.least, 100 * GOOD);
    series_point(good, c.x.most, 100 * GOOD);
    good->bold = true;
    snprintf(ring, sizeof ring, "%llu,%g", (unsigned long long)r->lineup.memory[r->choice.memory],
             fmax(100 * rival_cost(&r->sweep.rival[r->choice.best], 1, 1), c.y.least));
    c.ring = ring;
    return show(
        &c, page, first,
        "Of each filter the setting that errs least in that memory. The ring is the choice: "
        "the least memory in which some filter errs on at most 1 % (the thick line), or "
        "else the largest. The lower edge stands for no error at all.");
}

/* ---- over the stream ---- */

enum measure { INTERVAL_FPR, INTERVAL_FNR, FILL };

static double measured(const struct point *p, const struct score *before, enum measure what,
                       uint32_t orders)
{
    struct score interval = score_less(&p->score, before);

    return what == FILL ? p->fill / orders
                        : score_rate(&interval, what == INTERVAL_FPR ? NEW : OLD);
}

static void add_curves(struct chart *c, const struct report *r, enum measure what)
{
    const struct contest *contest = &r->trial.contest;

    for (uint32_t i = 0; i < contest->rivals; i++) {
        const struct curve *curve = &contest->rival[i].curve;
        struct series *s = add_filter(c, r, contest->rival[i].name);
        struct score before = {0};

        s->shape = 0;
        for (uint32_t j = 0; j < curve->points; j++) {
            const struct point *p = &curve->point[j];

            series_point(s, r->scale * (double)p->at,
                         100 * measured(p, &before, what, contest->orders));
            before = p->score;
        }
    }
}

/* What theory says of the end, where it says anything. */
static bool add_predicted_fill(struct chart *c, const struct report *r)
{
    bool any = false;

    for (size_t i = 0; i < grid_rows(&r->final); i++) {
        const struct rival *rival = &r->trial.contest.rival[i];
        double fill = grid_value(&r->final, i, "predicted_fill");
        struct series *s = isnan(fill) ? NULL : chart_add(c, NULL, hue_of(rival->name));

        if (!s)
            continue;
        s->shape = 3;
        s->bold = true;
        series_point(s, r->scale * (double)rival->shown, 100 * fill);
        any = true;
    }
    return any;
}

static bool draw_curve(const struct report *r, FILE *page, bool *first, enum measure what)
{
    static const char *const ids[] = {"fpr", "fnr", "fill"};
    static const char *const titles[] = {"False positives over the stream",
                                         "False negatives over the stream",
                                         "How full the filters are"};
    static const char *const labels[] = {"false positives, % of new records",
                                         "false negatives, % of repeats", "cells in use, %"};
    static const char *const captions[] = {
        "Each point tells of the records since the one before. A line that rises at its right end "
        "has not come to rest: on a longer stream that filter "
        "errs more.",
        "Each point tells of the records since the one before: what a filter has forgotten by "
        "then.",
        "A filter that is full without end is one that forgets; a plain Bloom filter that is more "
        "than half full errs ever more often.",
        "Stars at the right are what theory foretells."};
    static struct chart c;
    const struct score *s = scored(r);
    bool theory;

    c = (struct chart){.id = ids[what], .title = titles[what]};
    c.x = (struct axis){.label = "records", .counts = true};
    c.x.most = r->scale * (double)(s->n[NEW] + s->n[OLD]) / r->sweep.orders;
    c.y = (struct axis){.label = labels[what], .log = what == INTERVAL_FPR};
    c.y.least = what == INTERVAL_FPR ? floor_of(s->n[NEW] / CURVE_POINTS) : 0;
    c.y.most = what == FILL ? 100 : 0;
    add_curves(&c, r, what);
    theory = what == FILL && add_predicted_fill(&c, r);
    return show(&c, page, first, captions[theory ? 3 : what]);
}

/* ---- by importance ---- */

static void tic_classes(struct axis *a, const struct report *r, size_t groups)
{
    size_t used = 0;

    for (size_t i = 0; i < groups && used + 96 < sizeof a->tics; i++)
        used += (size_t)snprintf(a->tics + used, sizeof a->tics - used, "%s'%s' %zu", i ? ", " : "",
                                 grid_cell(&r->classes, i, "importance")->text, i + 1);
    a->least = 0.7;
    a->most = (double)groups + 0.3;
    a->slanted = true;
}

static bool draw_classes(const struct report *r, FILE *page, bool *first, int truly)
{
    static struct chart c;
    size_t rows = grid_rows(&r->classes), groups = rows / r->trial.contest.rivals;

    c = (struct chart){.id = truly == NEW ? "importance_fpr" : "importance_fnr",
                       .title = truly == NEW ? "False positives by importance"
                                             : "False negatives by importance"};
    c.x = (struct axis){.label = "importance"};
    c.y = (struct axis){.label = truly == NEW ? "% of new records" : "% of repeats"};
    tic_classes(&c.x, r, groups);
    for (size_t row = 0; row < rows; row++) {
        const char *name = grid_cell(&r->classes, row, "algorithm")->text;
        struct series *s = row % groups ? &c.series[c.count - 1] : add_filter(&c, r, name);

        series_point(s, (double)(row % groups + 1),
                     100 * grid_value(&r->classes, row, truly == NEW ? "fpr" : "fnr"));
    }
    return show(&c, page, first,
                truly == NEW ? "All records of one importance, or of a tenth of them, together."
                             : "Beside one that does not, a filter that heeds importance forgets "
                               "less at the right and more at the left.");
}

/* ---- theory and speed ---- */

static void add_predictions(struct chart *c, const struct report *r, const char *name,
                            const char *measure, const char *prediction, int hue)
{
    struct series *s = chart_add(c, name, hue);

    for (size_t i = 0; i < grid_rows(&r->final); i++)
        series_point(s, 100 * grid_value(&r->final, i, measure),
                     100 * grid_value(&r->final, i, prediction));
    sort_points(s);
}

static bool draw_theory(const struct report *r, FILE *page, bool *first)
{
    static struct chart c;
    struct series *even;

    c = (struct chart){.id = "theory", .title = "Theory and measurement", .points = true};
    c.x = (struct axis){.label = "measured, %", .log = true, .least = 1e-3, .most = 100};
    c.y = (struct axis){.label = "predicted, %", .log = true, .least = 1e-3, .most = 100};
    add_predictions(&c, r, "FPR", "fpr", "predicted_fpr", hue_of("bloom"));
    add_predictions(&c, r, "FNR", "fnr", "predicted_fnr", hue_of("weir"));
    if (c.series[0].n + c.series[1].n == 0)
        return true;
    even = chart_add(&c, "equal", HUE_TEXT);
    even->dashed = true;
    series_point(even, 1e-3, 1e-3);
    series_point(even, 100, 100);
    return show(&c, page, first, "What models of the filters foretell against what was measured.");
}

static bool draw_speed(const struct report *r, FILE *page, bool *first)
{
    static struct chart c;
    const struct contest *contest = &r->trial.contest;

    c = (struct chart){.id = "throughput", .title = "Throughput", .bars = true};
    c.x = (struct axis){.label = "million records per second on one processor"};
    for (uint32_t i = 0; i < contest->rivals; i++) {
        const struct rival *v = &contest->rival[i];
        struct series *s = add_filter(&c, r, v->name);

        series_point(s, (double)(v->score.n[NEW] + v->score.n[OLD]) / v->seconds / 1e6, 0);
    }
    return show(&c, page, first,
                "Of the filter alone, in this memory, without reading and hashing; measured while "
                "other filters ran. What does not fit the processor's cache is slower.");
}

bool report_charts(const struct report *r, FILE *page)
{
    bool first = true, ok;

    fprintf(page, "<div class=\"charts\">\n");
    ok = draw_tradeoff(r, page, &first) && draw_memory(r, page, &first) &&
         draw_curve(r, page, &first, INTERVAL_FPR) && draw_curve(r, page, &first, INTERVAL_FNR);
    if (r->weighed)
        ok = ok && draw_classes(r, page, &first, OLD) && draw_classes(r, page, &first, NEW);
    ok = ok && draw_curve(r, page, &first, FILL) && draw_theory(r, page, &first) &&
         draw_speed(r, page, &first);
    fprintf(page, "</div>\n");
    return ok;
}
