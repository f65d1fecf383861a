/* gnuplot.h - gnuplot as a child process: a script in, SVG for a page out. */
#ifndef WEIR_REPORT_GNUPLOT_H
#define WEIR_REPORT_GNUPLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The colour to give gnuplot for a hue; see chart.h. */
struct hue {
    char text[8];
};
struct hue plotter_hue(int hue);

/* Is it there? False after a message. */
bool plotter_ready(void);

/* Run a script that draws one SVG, and append that to a page, without what only
 * a file of its own needs, and without the shapes of points if they are in the
 * page already. False after a message. */
bool plotter_draw(const char *script, size_t size, const char *title, bool shapes, FILE *page);

#endif
