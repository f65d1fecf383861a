/* gnuplot.h - run gnuplot as a child process: script in, SVG for a page out. */
#ifndef WEIR_REPORT_GNUPLOT_H
#define WEIR_REPORT_GNUPLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The placeholder colour of a hue; see chart.h. */
struct hue {
    char text[8];
};
struct hue plotter_hue(int hue);

/* Is it installed? False after a message. */
bool plotter_ready(void);

/* Run a script that draws one SVG, and append it to a page, without the parts that only a separate
 * file needs, and without the point shapes if the page has them. False after a message. */
bool plotter_draw(const char *script, size_t size, const char *title, bool shapes, FILE *page);

#endif
