/* chart.h - a chart of lines or bars, drawn by gnuplot as SVG in a page.
 *
 * Colours are the --hue-N of the page's style sheet (page.c), so they follow light and dark mode.
 */
#ifndef WEIR_REPORT_CHART_H
#define WEIR_REPORT_CHART_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SERIES_MAX 32
#define POINTS_MAX 96

enum { HUE_TEXT = 0, HUE_FAINT = 1, HUE_FPR = 2, HUE_FNR = 3, HUE_FIRST = 4 /* of filters */ };

struct series {
    const char *name;
    int hue, shape; /* of points: gnuplot's number; 0: a line alone */
    bool bold, dashed;
    bool loose; /* points without a line */
    double x[POINTS_MAX], y[POINTS_MAX];
    uint32_t n;
};

struct axis {
    const char *label;
    bool log;
    double least, most; /* of the scale; most 0: as the points need. On a log scale what is
                           less than least stands at the edge */
    bool counts;        /* 100k, 2M */
    bool slanted;       /* the tics */
    char tics[2048];    /* "'1K' 1024, ..."; empty: chosen by gnuplot */
};

struct chart {
    const char *id, *title; /* id: letters, digits and _ */
    struct axis x, y;
    bool bars;   /* x of the first points is the length; names at the left */
    bool points; /* names and shapes in a list, not at the ends of lines */
    struct series series[SERIES_MAX];
    uint32_t count;
    const char *ring; /* "x,y" of a point to circle; NULL: none */
};

struct series *chart_add(struct chart *c, const char *name, int hue);
void series_point(struct series *s, double x, double y); /* not a number: left out */

bool chart_is_empty(const struct chart *c);

/* Append its SVG. The first of a page defines the point shapes for all. False after a message. */
bool chart_draw(struct chart *c, bool first, FILE *page);

/* Is gnuplot installed? False after a message. */
bool chart_ready(void);

#endif
