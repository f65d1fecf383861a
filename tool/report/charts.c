/* charts.c - the charts of a report. Two compare memories; the others show the best setting of each
 * filter in the advised memory: over the stream, by importance, compared with theory, and its
 * speed. */
#include <math.h>
#include <string.h>

#include "report/chart.h"
#include "report/page.h"
#include "report/report.h"

enum measure { INTERVAL_FPR, INTERVAL_FNR, FILL };

struct charts {
    const struct report *report;
    FILE *page;
    bool drawn;
    struct chart chart; /* the current one */
};

/* ---- shared ---- */

static bool close_chart(struct charts *all, const char *caption)
{
    return chart_close(&all->chart, caption, &all->drawn, all->page);
}

/* A line of a filter, with points of its own shape: squares, circles, triangles, diamonds,
 * pentagons, crosses. The advised filter is bold. */
static void add_filter(struct charts *all, const char *name, bool points)
{
    static const int shapes[] = {4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 1, 2};
    const struct report *r = all->report;
    bool bold = strcmp(name, r->candidates.candidate[r->choice.best].name) == 0;
    int hue = hue_of(name);
    char with[64];

    int n = snprintf(with, sizeof with, "%s lw %s", points ? "linespoints" : "lines",
                     bold ? "3" : "1.5");
    if (points)
        snprintf(with + n, sizeof with - (size_t)n, " pt %d ps %s",
                 shapes[(size_t)(hue - HUE_FIRST) % (sizeof shapes / sizeof *shapes)],
                 bold ? "0.8" : "0.6");
    chart_series(&all->chart, name, hue, with);
}

/* The lower end of a log scale: the rate of half an error among n records, in percent. */
static double floor_of(uint64_t n)
{
    return n ? fmax(pow(10, floor(log10(50.0 / (double)n))), 1e-5) : 1;
}

static const struct score *scored(const struct report *r)
{
    return &r->measured.entrant[r->choice.best].score;
}

/* ---- errors against memory ---- */

static bool draw_memory(struct charts *all, int truly)
{
    const struct report *r = all->report;
    const struct candidates *l = &r->candidates;
    struct chart *c = &all->chart;
    double limit = 100 * (truly == NEW ? r->limits.lost : r->limits.passed);
    double floor = floor_of(scored(r)->n[truly]);
    double least = (double)l->memory[0] / 1.2, most = (double)l->memory[l->memories - 1] * 1.1;

    chart_open(c, truly == NEW ? "memory_fpr" : "memory_fnr",
               truly == NEW ? "New records lost, by memory" : "Repeats passed, by memory");
    chart_set(c,
              "set xlabel 'memory'\nset ylabel '%% of %s'\nset logscale y\n"
              "set logscale x 2\nset format x '%%.0b %%BB'\nset xtics rotate by -35 left\n"
              "set mxtics 1\nset mytics 1\nset xrange [%g:%g]\nset yrange [%g:]\n",
              truly == NEW ? "new records" : "repeats", least, most, floor);
    for (uint32_t i = 0; i < r->choice.filters; i++) {
        const char *name = l->candidate[r->choice.best_of[i]].name;
        uint32_t entrant;

        add_filter(all, name, true);
        for (uint32_t m = 0; m < l->memories; m++)
            if (choose_setting(&r->choice, l, name, m, &entrant))
                chart_point(
                    c, (double)l->memory[m],
                    fmax(100 * score_rate(&r->measured.entrant[entrant].score, truly), floor));
    }
    chart_series(c, NULL, HUE_FAINT, "lines lw 3");
    chart_point(c, least, fmax(limit, floor));
    chart_point(c, most, fmax(limit, floor));
    return close_chart(all,
                       "Each filter with its best setting in that memory, on these records. The "
                       "thick line is the limit. The lower edge stands for no error.");
}

/* ---- over the stream ---- */

static double measured(const struct row *row, enum measure what)
{
    return what == FILL ? row->fill : what == INTERVAL_FPR ? row->interval_fpr : row->interval_fnr;
}

/* The predictions for the end, if there are some. */
static bool add_predicted_fill(struct charts *all, double unit)
{
    const struct report *r = all->report;
    bool any = false;

    for (uint32_t i = 0; i < r->best.count; i++) {
        const struct row *row = &r->best.row[i];

        chart_series(&all->chart, NULL, hue_of(row->name), "points pt 3 lw 3");
        chart_point(&all->chart, r->scale * (double)row->n / unit, 100 * row->predicted_fill);
        any |= !isnan(row->predicted_fill);
    }
    return any;
}

static bool draw_curve(struct charts *all, enum measure what)
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
    const struct report *r = all->report;
    const struct score *s = scored(r);
    double records = r->scale * (double)(s->n[NEW] + s->n[OLD]) / r->measured.orders;
    double unit = records < 1e3 ? 1 : records < 1e6 ? 1e3 : 1e6;
    double floor = what == INTERVAL_FPR ? floor_of(s->n[NEW] / CURVE_POINTS) : 0;
    const char *name = NULL;

    chart_open(&all->chart, ids[what], titles[what]);
    chart_set(&all->chart, "set xlabel '%srecords'\nset ylabel '%s'\nset xrange [0:%g]\n",
              unit == 1     ? ""
              : unit == 1e3 ? "thousand "
                            : "million ",
              labels[what], records / unit);
    chart_set(&all->chart, what == FILL ? "set yrange [%g:100]\n" : "set yrange [%g:]\n", floor);
    if (what == INTERVAL_FPR)
        chart_set(&all->chart, "set logscale y\nset mytics 1\n");
    for (uint32_t i = 0; i < r->curves.count; i++) {
        const struct row *row = &r->curves.row[i];

        if (name != row->name)
            add_filter(all, name = row->name, false);
        if (!isnan(measured(row, what)))
            chart_point(&all->chart, r->scale * (double)row->n / unit,
                        fmax(100 * measured(row, what), floor));
    }
    bool theory = what == FILL && add_predicted_fill(all, unit);
    return close_chart(all, captions[theory ? 3 : what]);
}

/* ---- by importance: all filters have the same groups ---- */

static bool draw_groups(struct charts *all, int truly)
{
    const struct report *r = all->report;
    struct chart *c = &all->chart;
    uint32_t groups = r->groups.count / r->best.count;

    chart_open(c, truly == NEW ? "importance_fpr" : "importance_fnr",
               truly == NEW ? "False positives by importance" : "False negatives by importance");
    chart_set(c,
              "set xlabel 'importance'\nset ylabel '%% of %s'\nset xrange [0.7:%u.3]\n"
              "set yrange [0:]\nset xtics () rotate by -35 left font ',11'\n",
              truly == NEW ? "new records" : "repeats", groups);
    for (uint32_t i = 0; i < groups; i++)
        chart_set(c, "set xtics add ('%s' %u)\n", r->groups.row[i].importance, i + 1);
    for (uint32_t i = 0; i < r->groups.count; i++) {
        const struct row *row = &r->groups.row[i];

        if (i % groups == 0)
            add_filter(all, row->name, true);
        chart_point(c, i % groups + 1, 100 * (truly == NEW ? row->fpr : row->fnr));
    }
    return close_chart(all, truly == NEW
                                ? "All records of one importance, or of a tenth of them, together."
                                : "A filter that uses importance evicts less at the right and more "
                                  "at the left than others.");
}

/* ---- theory and speed ---- */

static bool has_predictions(const struct report *r)
{
    for (uint32_t i = 0; i < r->best.count; i++)
        if (!isnan(r->best.row[i].predicted_fpr) || !isnan(r->best.row[i].predicted_fnr))
            return true;
    return false;
}

static bool draw_theory(struct charts *all)
{
    const struct report *r = all->report;
    struct chart *c = &all->chart;
    const double least = 1e-3;

    if (!has_predictions(r))
        return true;
    chart_open(c, "theory", "Theory and measurement");
    chart_set(c,
              "set xlabel 'measured, %%'\nset ylabel 'predicted, %%'\nset logscale xy\n"
              "set mxtics 1\nset mytics 1\nset xrange [%g:100]\nset yrange [%g:100]\n",
              least, least);
    for (int truly = NEW; truly <= OLD; truly++) {
        chart_series(c, truly == NEW ? "FPR" : "FNR", truly == NEW ? HUE_FPR : HUE_FNR,
                     truly == NEW ? "points pt 5 ps 0.6" : "points pt 4 ps 0.6");
        for (uint32_t i = 0; i < r->best.count; i++) {
            const struct row *row = &r->best.row[i];
            double x = truly == NEW ? row->fpr : row->fnr;
            double y = truly == NEW ? row->predicted_fpr : row->predicted_fnr;

            if (!isnan(x) && !isnan(y))
                chart_point(c, fmax(100 * x, least), fmax(100 * y, least));
        }
    }
    chart_series(c, "equal", HUE_TEXT, "lines dt '-'");
    chart_point(c, least, least);
    chart_point(c, 100, 100);
    return close_chart(all, "Predictions of the filters' models, compared with the measurements.");
}

static bool draw_speed(struct charts *all)
{
    const struct report *r = all->report;
    struct chart *c = &all->chart;
    uint32_t n = 0;

    chart_open(c, "throughput", "Throughput");
    chart_set(c, "unset key\nset xlabel 'million records per second on one processor'\n"
                 "set xrange [0:]\nset yrange [] reverse\nset ytics () scale 0\n"
                 "set grid noytics\nset style fill solid 0.85 noborder\nset rmargin 7\n");
    for (uint32_t i = 0; i < r->all.count; i++) {
        const struct candidate *as = &r->candidates.candidate[i];
        double speed = 1e3 / r->all.row[i].nanoseconds;

        if (as->memory != r->choice.memory || as->set)
            continue;
        chart_series(c, as->name, hue_of(as->name),
                     "using (0):2:(0):1:($2-0.35):($2+0.35) with boxxyerror");
        chart_point(c, speed, ++n);
        chart_set(c,
                  "set ytics add ('%s' %u)\n"
                  "set label '%.3g' at %g, %u left offset 0.5,0 textcolor " CHART_COLOUR "\n",
                  as->name, n, speed, speed, n, HUE_TEXT);
    }
    return close_chart(
        all, "The filter alone, in this memory, without reading and hashing, measured while other "
             "filters ran. A filter larger than the processor's cache is slower.");
}

/* ---- all ---- */

bool report_charts(const struct report *r, FILE *page)
{
    struct charts all = {.report = r, .page = page};
    bool ok;

    fprintf(page, "<div class=\"charts\">\n");
    ok = draw_memory(&all, NEW) && draw_memory(&all, OLD) && draw_curve(&all, INTERVAL_FPR) &&
         draw_curve(&all, INTERVAL_FNR);
    if (r->weighed)
        ok = ok && draw_groups(&all, OLD) && draw_groups(&all, NEW);
    ok = ok && draw_curve(&all, FILL) && draw_theory(&all) && draw_speed(&all);
    fprintf(page, "</div>\n");
    return ok;
}
