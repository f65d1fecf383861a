/* filter_charts.c - the charts of a report that show each filter as it does best in
 * the memory to take: over the stream, by importance, beside theory, its speed. */
#include "report/charts.h"

#include <math.h>

#include "report/page.h"

#define SHAPE_STAR 3 /* numbers of gnuplot */
#define SHAPE_FPR 5
#define SHAPE_FNR 4

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

/* What theory says of the end, where it says anything. */
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
        "Stars at the right are what theory predicts."};
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
bool draw_groups(const struct report *r, FILE *page, bool *first, int truly)
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
                             : "Beside one that does not, a filter that heeds importance forgets "
                               "less at the right and more at the left.");
}

/* ---- theory and speed ---- */

bool draw_theory(const struct report *r, FILE *page, bool *first)
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
                "What models of the filters predict, compared with what was measured.");
}

bool draw_speed(const struct report *r, FILE *page, bool *first)
{
    static struct chart c;

    c = (struct chart){.id = "throughput", .title = "Throughput", .bars = true};
    c.x = (struct axis){.label = "million records per second on one processor"};
    for (uint32_t i = 0; i < r->all.count; i++) {
        const struct candidate *as = &r->candidates.candidate[i];

        if (as->memory == r->choice.memory && !as->fpr)
            series_point(add_filter(&c, r, as->name), 1e3 / r->all.row[i].nanoseconds, 0);
    }
    return show(&c, page, first,
                "Of the filter alone, as it comes, in this memory, without reading and hashing; "
                "measured while "
                "other filters ran. What does not fit the processor's cache is slower.");
}
