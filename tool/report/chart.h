/* chart.h - a chart of lines, points or bars, drawn by gnuplot as SVG in a page.
 *
 * A hue N is the --hue-N of the page's style sheet (page.c), so charts follow light and dark mode.
 */
#ifndef WEIR_REPORT_CHART_H
#define WEIR_REPORT_CHART_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { HUE_TEXT = 0, HUE_FAINT = 1, HUE_FPR = 2, HUE_FNR = 3, HUE_FIRST = 4 /* of filters */ };

#define CHART_COLOUR "rgb '#0100%02x'" /* of a hue, in gnuplot commands */

struct chart {
    const char *id, *title; /* id: letters, digits and _ */
    FILE *script, *plot;    /* settings and data; the command that draws them */
    char *script_text, *plot_text;
    size_t script_size, plot_size;
    char style[160]; /* of the current series */
    uint32_t series; /* that have points */
    bool open;       /* the current one has points */
};

void chart_open(struct chart *c, const char *id, const char *title);

/* Add gnuplot commands, such as the labels and scales of the axes. Ends the current series. */
void chart_set(struct chart *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Begin a series. with: how gnuplot draws it, such as "lines lw 3"; it may begin with "using".
 * name: for the key; NULL: none. Series without points are omitted. */
void chart_series(struct chart *c, const char *name, int hue, const char *with);
void chart_point(struct chart *c, double x, double y); /* not a number: left out */

/* Append a figure with its SVG, or with a text if there are no points. *drawn: whether the page has
 * a chart, which then defines the shapes of points for all. False after a message. */
bool chart_close(struct chart *c, const char *caption, bool *drawn, FILE *page);

/* Is gnuplot installed? False after a message. */
bool chart_ready(void);

#endif
