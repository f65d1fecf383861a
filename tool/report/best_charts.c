/* best_charts.c - the charts of a report that show each filter as it does best in
 * the memory to take: over the stream, by importance, beside theory, its speed. */
#include "report/best_charts.h"

#include <math.h>

/* ---- over the stream ---- */

static double measured(const struct point *p, const struct score *before, enum measure what,
                       uint32_t orders)
{
    struct score interval = score_less(&p->score, before);

    return what == FILL ? p->fill / orders
                        : score_rate(&interval, what == INTERVAL_FPR ? NEW : OLD);
}

static void add_curves(struct chart *c, const struct report *r, enum measure what)
{
    const struct entrants *entrants = &r->evaluation.entrants;

    for (uint32_t i = 0; i < entrants->count; i++) {
        const struct curve *curve = &entrants->entrant[i].curve;
        struct series *s = add_filter(c, r, entrants->entrant[i].name);
        struct score before = {0};

        s->shape = 0;
        for (uint32_t j = 0; j < curve->points; j++) {
            const struct point *p = &curve->point[j];

            series_point(s, r->scale * (double)p->at,
                         100 * measured(p, &before, what, entrants->orders));
            before = p->score;
        }
    }
}

/* What theory says of the end, where it says anything. */
static bool add_predicted_fill(struct chart *c, const struct report *r)
{
    bool any = false;

    for (size_t i = 0; i < grid_rows(&r->final); i++) {
        const struct entrant *entrant = &r->evaluation.entrants.entrant[i];
        double fill = grid_value(&r->final, i, "predicted_fill");
        struct series *s = isnan(fill) ? NULL : chart_add(c, NULL, hue_of(entrant->name));

        if (!s)
            continue;
        s->shape = 3;
        s->bold = true;
        series_point(s, r->scale * (double)entrant->shown, 100 * fill);
        any = true;
    }
    return any;
}

bool draw_curve(const struct report *r, FILE *page, bool *first, enum measure what)
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

bool draw_classes(const struct report *r, FILE *page, bool *first, int truly)
{
    static struct chart c;
    size_t rows = grid_rows(&r->classes), groups = rows / r->evaluation.entrants.count;

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

    s->loose = true;
    for (size_t i = 0; i < grid_rows(&r->final); i++)
        series_point(s, 100 * grid_value(&r->final, i, measure),
                     100 * grid_value(&r->final, i, prediction));
}

bool draw_theory(const struct report *r, FILE *page, bool *first)
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

bool draw_speed(const struct report *r, FILE *page, bool *first)
{
    static struct chart c;
    const struct entrants *entrants = &r->evaluation.entrants;

    c = (struct chart){.id = "throughput", .title = "Throughput", .bars = true};
    c.x = (struct axis){.label = "million records per second on one processor"};
    for (uint32_t i = 0; i < entrants->count; i++) {
        const struct entrant *v = &entrants->entrant[i];
        struct series *s = add_filter(&c, r, v->name);

        series_point(s, (double)(v->score.n[NEW] + v->score.n[OLD]) / v->seconds / 1e6, 0);
    }
    return show(&c, page, first,
                "Of the filter alone, in this memory, without reading and hashing; measured while "
                "other filters ran. What does not fit the processor's cache is slower.");
}
