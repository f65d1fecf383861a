/* charts.c - the pictures of a report: what they share, and the two that compare
 * settings and memories. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/charts.h"
#include "report/page.h"

#define LINE_POINTS 80

/* ---- what they share ---- */

struct series *add_filter(struct chart *c, const struct report *r, const char *name)
{
    struct series *s = chart_add(c, name, hue_of(name));

    s->bold = strcmp(name, r->candidates.candidate[r->choice.best].name) == 0;
    return s;
}

double floor_of(uint64_t n)
{
    return n ? fmax(pow(10, floor(log10(50.0 / (double)n))), 1e-5) : 1;
}

bool show(struct chart *c, FILE *page, bool *first, const char *caption)
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

const struct score *scored(const struct report *r)
{
    return &r->measured.entrant[r->choice.best].score;
}

static double chosen_bits(const struct report *r)
{
    return 8 * (double)r->measured.entrant[r->choice.best].memory;
}

/* The least share of repeats missed in so many bits at this rate of false
 * positives: by the limit, or of an exact list of the latest keys. */
static double bound(const struct report *r, double bits, double fpr)
{
    return r->uniform ? weir_min_fnr(bits, (double)r->distinct, fpr)
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

    for (uint32_t i = 0; i < r->candidates.count; i++) {
        const struct candidate *e = &r->candidates.candidate[i];
        const struct score *score = &r->measured.entrant[i].score;

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
             show_room(r->candidates.memory[r->choice.memory]).text);
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
    for (uint32_t m = 0; m < r->candidates.memories; m++) {
        double memory = (double)r->candidates.memory[m];

        series_point(s, memory, 100 * bound_cost(r, 8 * memory / r->scale));
    }
}

static void add_memories(struct chart *c, const struct report *r)
{
    for (uint32_t i = 0; i < r->choice.filters; i++) {
        const char *name = r->candidates.candidate[r->choice.best_of[i]].name;
        struct series *s = add_filter(c, r, name);
        uint32_t entrant;

        for (uint32_t m = 0; m < r->candidates.memories; m++)
            if (choose_setting(&r->choice, &r->candidates, &r->measured, name, m, &entrant))
                series_point(s, (double)r->candidates.memory[m],
                             100 * score_cost(&r->measured.entrant[entrant].score, 1, 1));
    }
}

static void tic_memories(struct axis *a, const struct report *r)
{
    const struct candidates *l = &r->candidates;
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
    snprintf(ring, sizeof ring, "%llu,%g",
             (unsigned long long)r->candidates.memory[r->choice.memory],
             fmax(100 * score_cost(&r->measured.entrant[r->choice.best].score, 1, 1), c.y.least));
    c.ring = ring;
    return show(
        &c, page, first,
        "Of each filter the setting that errs least in that memory. The ring is the choice: "
        "the least memory in which some filter errs on at most 1 % (the thick line), or "
        "else the largest. The lower edge stands for no error at all.");
}

bool report_charts(const struct report *r, FILE *page)
{
    bool first = true, ok;

    fprintf(page, "<div class=\"charts\">\n");
    ok = draw_tradeoff(r, page, &first) && draw_memory(r, page, &first) &&
         draw_curve(r, page, &first, INTERVAL_FPR) && draw_curve(r, page, &first, INTERVAL_FNR);
    if (r->weighed)
        ok = ok && draw_groups(r, page, &first, OLD) && draw_groups(r, page, &first, NEW);
    ok = ok && draw_curve(r, page, &first, FILL) && draw_theory(r, page, &first) &&
         draw_speed(r, page, &first);
    fprintf(page, "</div>\n");
    return ok;
}
