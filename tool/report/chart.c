/* chart.c - write gnuplot scripts for charts. See chart.h. */
#include "report/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/gnuplot.h"
#include "cli/messages.h"

#define WIDTH 420
#define HEIGHT 330
#define LABEL_GAP 0.056         /* between labels, as a share of the height */
#define LABEL_GAP_SLANTED 0.073 /* the same with slanted tics */
#define LIST_GAP 0.068          /* the same in a list */

/* One for each filter: squares, circles, triangles, diamonds, pentagons, crosses. */
static const int shapes[] = {4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 1, 2};
#define SHAPES ((int)(sizeof shapes / sizeof *shapes))

struct series *chart_add(struct chart *c, const char *name, int hue)
{
    struct series *s = &c->series[c->count < SERIES_MAX - 1 ? c->count++ : SERIES_MAX - 1];

    *s = (struct series){.name = name, .hue = hue};
    s->shape = hue < HUE_FIRST ? 0 : shapes[(hue - HUE_FIRST) % SHAPES];
    return s;
}

void series_point(struct series *s, double x, double y)
{
    if (isnan(x) || isnan(y) || s->n == POINTS_MAX)
        return;
    s->x[s->n] = x;
    s->y[s->n++] = y;
}

bool chart_is_empty(const struct chart *c)
{
    uint32_t points = 0;

    for (uint32_t i = 0; i < c->count; i++)
        points += c->series[i].n;
    return points == 0;
}

/* ---- scales ---- */

static double reach(const struct chart *c, bool of_x)
{
    double most = 0;

    for (uint32_t i = 0; i < c->count; i++)
        for (uint32_t j = 0; j < c->series[i].n; j++)
            most = fmax(most, of_x ? c->series[i].x[j] : c->series[i].y[j]);
    return most;
}

/* Four or five round numbers of records. */
static void tic_counts(struct axis *a)
{
    static const double round[] = {1, 2, 2.5, 5, 10};
    static const char *const units[] = {"", "k", "M", "G", "T"};
    double step = pow(10, floor(log10(a->most / 4))), by = 0;
    size_t used = 0;

    for (int i = 0; by * step * 5 < a->most && i < 5; i++)
        by = round[i];
    for (double at = 0; at <= a->most && used + 48 < sizeof a->tics; at += by * step) {
        int unit = at < 1000 ? 0 : (int)fmin(floor(log10(at * 1.0001) / 3), 4);

        used += (size_t)snprintf(a->tics + used, sizeof a->tics - used, "%s'%g%s' %g",
                                 used ? ", " : "", at / pow(1000, unit), units[unit], at);
    }
}

static void fit_axis(struct axis *a, double most)
{
    if (a->counts)
        tic_counts(a);
    if (a->most > a->least)
        return;
    if (a->log)
        a->most = fmax(most * 1.25, a->least * 10);
    else
        a->most = most > 0 ? most * 1.06 : 1;
}

/* 0 at the beginning of the axis, 1 at its end. */
static double place(const struct axis *a, double value)
{
    value = fmin(fmax(value, a->least), a->most);
    return a->log ? log(value / a->least) / log(a->most / a->least)
                  : (value - a->least) / (a->most - a->least);
}

/* ---- labels at the ends of lines, moved apart ---- */

struct label {
    const struct series *series;
    double at;
};

static int by_place(const void *a, const void *b)
{
    double x = ((const struct label *)a)->at, y = ((const struct label *)b)->at;

    return x < y ? -1 : x > y;
}

static uint32_t place_labels(const struct chart *c, struct label *label)
{
    double gap = c->x.slanted ? LABEL_GAP_SLANTED : LABEL_GAP;
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->count; i++) {
        const struct series *s = &c->series[i];

        if (s->n > 0 && s->name)
            label[n++] = (struct label){s, place(&c->y, s->y[s->n - 1])};
    }
    qsort(label, n, sizeof *label, by_place);
    for (uint32_t i = 1; i < n; i++)
        label[i].at = fmax(label[i].at, label[i - 1].at + gap);
    for (uint32_t i = n; i-- > 0;)
        label[i].at = fmin(label[i].at, i + 1 < n ? label[i + 1].at - gap : 1);
    return n;
}

/* A list from the top, for points without lines. */
static uint32_t list_labels(const struct chart *c, struct label *label)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->count; i++)
        if (c->series[i].n > 0 && c->series[i].name) {
            label[n] = (struct label){&c->series[i], 1 - n * LIST_GAP};
            n++;
        }
    return n;
}

static void write_labels(const struct chart *c, FILE *out)
{
    struct label label[SERIES_MAX];
    uint32_t n = c->points ? list_labels(c, label) : place_labels(c, label);

    for (uint32_t i = 0; i < n; i++) {
        const struct series *s = label[i].series;

        fprintf(out, "set label '%s' at graph %s, graph %.4f left textcolor rgb '%s' font ',%d'",
                s->name, c->points ? "1.05" : "1.025", label[i].at, plotter_hue(s->hue).text,
                s->bold ? 13 : 12);
        if (c->points && s->shape)
            fprintf(out, " point pt %d ps 0.6 lc rgb '%s' offset 0.8,0", s->shape,
                    plotter_hue(s->hue).text);
        fprintf(out, "\n");
    }
}

/* ---- the script ---- */

static void write_axis(const struct axis *a, char letter, FILE *out)
{
    if (a->label)
        fprintf(out, "set %clabel '%s'\n", letter, a->label);
    if (a->log)
        fprintf(out, "set logscale %c\nset m%ctics 1\nset %ctics %d\n", letter, letter, letter,
                a->most / a->least > 3e4 ? 100 : 10);
    fprintf(out, "set %crange [%g:%g]\nset format %c '%%g'\n", letter, a->least, a->most, letter);
    if (*a->tics)
        fprintf(out, "set %ctics %s (%s)\n", letter,
                a->slanted ? "rotate by -35 left font ',11'" : "", a->tics);
}

static void write_head(const struct chart *c, FILE *out)
{
    const char *text = plotter_hue(HUE_TEXT).text;

    fprintf(out,
            "set terminal svg size %d,%d font 'sans-serif,13' name '%s'\nset encoding utf8\n"
            "set border 3 lc rgb '%s'\nset title '%s' textcolor rgb '%s'\n",
            WIDTH, HEIGHT, c->id, text, c->title, text);
    fprintf(out, "set tics nomirror out scale 0.5 textcolor rgb '%s'\n", text);
    fprintf(out, "set grid lt 1 lc rgb '%s' lw 1\n", plotter_hue(HUE_FAINT).text);
    fprintf(out, "set xlabel textcolor rgb '%s'\nset ylabel textcolor rgb '%s'\n", text, text);
    write_axis(&c->x, 'x', out);
    write_axis(&c->y, 'y', out);
}

static void write_points(const struct series *s, const struct axis *x, const struct axis *y,
                         uint32_t number, FILE *out)
{
    fprintf(out, "$d%u << END\n", number);
    for (uint32_t j = 0; j < s->n; j++)
        fprintf(out, "%.8g %.8g\n", fmin(fmax(s->x[j], x->least), x->most),
                fmin(fmax(s->y[j], y->least), y->most));
    fprintf(out, "END\n");
}

static void write_series(const struct series *s, uint32_t number, bool first, FILE *out)
{
    fprintf(out, "%s$d%u using 1:2 with %s lc rgb '%s' lw %s dt %s", first ? "plot " : ", \\\n  ",
            number,
            s->loose   ? "points"
            : s->shape ? "linespoints"
                       : "lines",
            plotter_hue(s->hue).text, s->bold ? "3" : "1.5", s->dashed ? "'-'" : "1");
    if (s->shape)
        fprintf(out, " pt %d ps %s", s->shape, s->bold ? "0.8" : "0.6");
    if (s->name)
        fprintf(out, " title '%s'", s->name);
    else
        fprintf(out, " notitle");
}

static void write_lines(const struct chart *c, FILE *out)
{
    bool first = true;

    fprintf(out, "unset key\nset rmargin %d\n", c->points ? 13 : 12);
    write_labels(c, out);
    if (c->ring)
        fprintf(out, "set label '' at %s point pt 6 ps 2.2 lw 2 lc rgb '%s' front\n", c->ring,
                plotter_hue(HUE_TEXT).text);
    for (uint32_t i = 0; i < c->count; i++)
        write_points(&c->series[i], &c->x, &c->y, i, out);
    for (uint32_t i = 0; i < c->count; i++)
        if (c->series[i].n > 0) {
            write_series(&c->series[i], i, first, out);
            first = false;
        }
    fprintf(out, "\n");
}

static void write_bars(const struct chart *c, FILE *out)
{
    fprintf(out, "unset key\nset ytics (");
    for (uint32_t i = 0; i < c->count; i++)
        fprintf(out, "%s'%s' %u", i ? ", " : "", c->series[i].name, c->count - i);
    fprintf(out,
            ") scale 0\nset yrange [0.4:%.1f]\nset grid noytics\nset style fill solid 0.85 "
            "noborder\nset rmargin 7\n",
            c->count + 0.6);
    for (uint32_t i = 0; i < c->count; i++)
        fprintf(out, "set label '%.3g' at %g, %u left offset 0.5,0 textcolor rgb '%s'\n",
                c->series[i].x[0], c->series[i].x[0], c->count - i, plotter_hue(HUE_TEXT).text);
    for (uint32_t i = 0; i < c->count; i++)
        fprintf(out,
                "%s'+' using (0):(%u):(0):(%g):(%g):(%g) every ::0::0 with boxxyerror lc rgb "
                "'%s' title '%s'",
                i ? ", \\\n  " : "plot ", c->count - i, c->series[i].x[0], c->count - i - 0.35,
                c->count - i + 0.35, plotter_hue(c->series[i].hue).text, c->series[i].name);
    fprintf(out, "\n");
}

bool chart_draw(struct chart *c, bool first, FILE *page)
{
    char *script = NULL;
    size_t size;
    FILE *out = open_memstream(&script, &size);
    bool ok;

    if (!out)
        return reject("out of memory");
    fit_axis(&c->x, reach(c, true));
    fit_axis(&c->y, reach(c, false));
    write_head(c, out);
    if (c->bars)
        write_bars(c, out);
    else
        write_lines(c, out);
    ok = (fclose(out) == 0 || reject("out of memory")) &&
         plotter_draw(script, size, c->title, first, page);
    free(script);
    return ok;
}

bool chart_ready(void)
{
    return plotter_ready();
}
