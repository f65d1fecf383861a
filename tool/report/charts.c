/* charts.c - the charts of a report. Two compare memories; the others show the best setting of each
 * filter in the advised memory: over the stream, by importance, compared with theory, and its
 * speed. */
#include <math.h>
#include <string.h>

#include "report/chart.h"
#include "report/page.h"
#include "report/report.h"

#define SHAPE_STAR 3 /* numbers of gnuplot */
#define SHAPE_FPR 5
#define SHAPE_FNR 4

enum measure { INTERVAL_FPR, INTERVAL_FNR, FILL };

/* ---- shared ---- */

static struct series *add_filter(struct chart *c, const struct report *r, const char *name)
{
    struct series *s = chart_add(c, name, hue_of(name));

    s->bold = strcmp(name, r->candidates.candidate[r->choice.best].name) == 0;
    return s;
}

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
    return &r->measured.entrant[r->choice.best].score;
}

/* ---- errors against memory ---- */

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

static void add_memories(struct chart *c, const struct report *r, int truly)
{
    for (uint32_t i = 0; i < r->choice.filters; i++) {
        const char *name = r->candidates.candidate[r->choice.best_of[i]].name;
        struct series *s = add_filter(c, r, name);
        uint32_t entrant;

        for (uint32_t m = 0; m < r->candidates.memories; m++)
            if (choose_setting(&r->choice, &r->candidates, name, m, &entrant))
                series_point(s, (double)r->candidates.memory[m],
                             100 * score_rate(&r->measured.entrant[entrant].score, truly));
    }
}

static bool draw_memory(const struct report *r, FILE *page, bool *first, int truly)
{
    static struct chart c;
    const struct score *s = scored(r);
    double limit = truly == NEW ? r->limits.lost : r->limits.passed;
    struct series *line;

    c = (struct chart){.id = truly == NEW ? "memory_fpr" : "memory_fnr",
                       .title = truly == NEW ? "New records lost, by memory"
                                             : "Repeats passed, by memory"};
    c.x = (struct axis){.label = "memory, bytes", .log = true};
    c.y = (struct axis){.label = truly == NEW ? "% of new records" : "% of repeats",
                        .log = true,
                        .least = floor_of(s->n[truly])};
    tic_memories(&c.x, r);
    add_memories(&c, r, truly);
    line = chart_add(&c, NULL, HUE_FAINT);
    series_point(line, c.x.least, 100 * limit);
    series_point(line, c.x.most, 100 * limit);
    line->bold = true;
    return show(&c, page, first,
                "Each filter with its best setting in that memory, on these records. The thick "
                "line is the limit. The lower edge stands for no error.");
}

/* ---- over the stream ---- */

static double measured(const struct row *row, enum measure what)
{
    return what == FILL ? row->fill : what == INTERVAL_FPR ? row->interval_fpr : row->interval_fnr;
}

static void add_curves(struct chart *c, const struct report *r, enum measure what)
{
    struct series *s = NULL;

    for (uint32_t i = 0; i < r->curves.count; i++) {
        const struct row *row = &r->curves.row[i];

        if (!s || s->name != row->name)
            s = add_filter(c, r, row->name);
        s->shape = 0;
        series_point(s, r->scale * (double)row->n, 100 * measured(row, what));
    }
}

/* The prediction for the end, if there is one. */
static bool add_predicted_fill(struct chart *c, const struct report *r)
{
    bool any = false;

    for (uint32_t i = 0; i < r->best.count; i++) {
        const struct row *row = &r->best.row[i];
        struct series *s;

        if (isnan(row->predicted_fill))
            continue;
        s = chart_add(c, NULL, hue_of(row->name));
        s->shape = SHAPE_STAR;
        s->bold = true;
        series_point(s, r->scale * (double)row->n, 100 * row->predicted_fill);
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
        "Each point is the rate of the records since the point before. A line that rises at its "
        "right end has not settled: on a longer stream, that filter loses more.",
        "Each point is the rate of the records since the point before.",
        "A filter that stays full evicts keys. A plain Bloom filter that is more than half full "
        "has a rising error rate.",
        "Stars at the right are the predictions."};
    static struct chart c;
    const struct score *s = scored(r);
    bool theory;

    c = (struct chart){.id = ids[what], .title = titles[what]};
    c.x = (struct axis){.label = "records", .counts = true};
    c.x.most = r->scale * (double)(s->n[NEW] + s->n[OLD]) / r->measured.orders;
    c.y = (struct axis){.label = labels[what], .log = what == INTERVAL_FPR};
    c.y.least = what == INTERVAL_FPR ? floor_of(s->n[NEW] / CURVE_POINTS) : 0;
    c.y.most = what == FILL ? 100 : 0;
    add_curves(&c, r, what);
    theory = what == FILL && add_predicted_fill(&c, r);
    return show(&c, page, first, captions[theory ? 3 : what]);
}

/* ---- by importance ---- */

static void tic_groups(struct axis *a, const struct report *r, uint32_t groups)
{
    size_t used = 0;

    for (uint32_t i = 0; i < groups && used + 96 < sizeof a->tics; i++)
        used += (size_t)snprintf(a->tics + used, sizeof a->tics - used, "%s'%s' %u", i ? ", " : "",
                                 r->groups.row[i].importance, i + 1);
    a->least = 0.7;
    a->most = groups + 0.3;
    a->slanted = true;
}

/* All filters have the same groups. */
static bool draw_groups(const struct report *r, FILE *page, bool *first, int truly)
{
    static struct chart c;
    uint32_t groups = r->groups.count / r->best.count;
    struct series *s = NULL;

    c = (struct chart){.id = truly == NEW ? "importance_fpr" : "importance_fnr",
                       .title = truly == NEW ? "False positives by importance"
                                             : "False negatives by importance"};
    c.x = (struct axis){.label = "importance"};
    c.y = (struct axis){.label = truly == NEW ? "% of new records" : "% of repeats"};
    tic_groups(&c.x, r, groups);
    for (uint32_t i = 0; i < r->groups.count; i++) {
        const struct row *row = &r->groups.row[i];

        if (i % groups == 0)
            s = add_filter(&c, r, row->name);
        series_point(s, i % groups + 1, 100 * (truly == NEW ? row->fpr : row->fnr));
    }
    return show(&c, page, first,
                truly == NEW ? "All records of one importance, or of a tenth of them, together."
                             : "A filter that uses importance evicts less at the right and more "
                               "at the left than others.");
}

/* ---- theory and speed ---- */

static bool draw_theory(const struct report *r, FILE *page, bool *first)
{
    static struct chart c;
    struct series *fpr, *fnr, *even;

    c = (struct chart){.id = "theory", .title = "Theory and measurement", .points = true};
    c.x = (struct axis){.label = "measured, %", .log = true, .least = 1e-3, .most = 100};
    c.y = (struct axis){.label = "predicted, %", .log = true, .least = 1e-3, .most = 100};
    fpr = chart_add(&c, "FPR", HUE_FPR);
    fnr = chart_add(&c, "FNR", HUE_FNR);
    fpr->loose = fnr->loose = true;
    fpr->shape = SHAPE_FPR;
    fnr->shape = SHAPE_FNR;
    for (uint32_t i = 0; i < r->best.count; i++) {
        const struct row *row = &r->best.row[i];

        series_point(fpr, 100 * row->fpr, 100 * row->predicted_fpr);
        series_point(fnr, 100 * row->fnr, 100 * row->predicted_fnr);
    }
    if (fpr->n + fnr->n == 0)
        return true;
    even = chart_add(&c, "equal", HUE_TEXT);
    even->dashed = true;
    series_point(even, 1e-3, 1e-3);
    series_point(even, 100, 100);
    return show(&c, page, first,
                "Predictions of the filters' models, compared with the measurements.");
}

static bool draw_speed(const struct report *r, FILE *page, bool *first)
{
    static struct chart c;

    c = (struct chart){.id = "throughput", .title = "Throughput", .bars = true};
    c.x = (struct axis){.label = "million records per second on one processor"};
    for (uint32_t i = 0; i < r->all.count; i++) {
        const struct candidate *as = &r->candidates.candidate[i];

        if (as->memory == r->choice.memory && !as->set)
            series_point(add_filter(&c, r, as->name), 1e3 / r->all.row[i].nanoseconds, 0);
    }
    return show(
        &c, page, first,
        "The filter alone, in this memory, without reading and hashing, measured while other "
        "filters ran. A filter larger than the processor's cache is slower.");
}

/* ---- all ---- */

bool report_charts(const struct report *r, FILE *page)
{
    bool first = true, ok;

    fprintf(page, "<div class=\"charts\">\n");
    ok = draw_memory(r, page, &first, NEW) && draw_memory(r, page, &first, OLD) &&
         draw_curve(r, page, &first, INTERVAL_FPR) && draw_curve(r, page, &first, INTERVAL_FNR);
    if (r->weighed)
        ok = ok && draw_groups(r, page, &first, OLD) && draw_groups(r, page, &first, NEW);
    ok = ok && draw_curve(r, page, &first, FILL) && draw_theory(r, page, &first) &&
         draw_speed(r, page, &first);
    fprintf(page, "</div>\n");
    return ok;
}
