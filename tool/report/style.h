/* style.h - how a report looks: on a screen of any width, light or dark, and on
 * paper. */
#ifndef WEIR_REPORT_STYLE_H
#define WEIR_REPORT_STYLE_H

/* The head of the page; the name of the stream stands between them. */
extern const char page_head[], page_style[];

/* The hue of a filter (see chart.h), the same in every chart of every report. */
int hue_of(const char *filter);

#endif
