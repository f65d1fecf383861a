/* style.h - the head of a report: how it looks, on a screen of any width, light
 * or dark, and on paper. */
#ifndef WEIR_REPORT_STYLE_H
#define WEIR_REPORT_STYLE_H

/* The name of the stream stands between them. */
extern const char page_head[], page_style[];

#endif
