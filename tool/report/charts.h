/* charts.h - what the charts of a report share. */
#ifndef WEIR_REPORT_CHARTS_H
#define WEIR_REPORT_CHARTS_H

#include "report/chart.h"
#include "report/report.h"

/* A series in the colour of its filter; that of the choice is bold. */
struct series *add_filter(struct chart *c, const struct report *r, const char *name);

/* Percent, a power of ten: less than one error among so many. */
double floor_of(uint64_t n);

/* Draw it into the page, with its caption. False after a message. */
bool show(struct chart *c, FILE *page, bool *first, const char *caption);

const struct score *scored(const struct report *r); /* of the choice */

/* Each filter as it does best in the memory to take. */
enum measure { INTERVAL_FPR, INTERVAL_FNR, FILL };
bool draw_curve(const struct report *r, FILE *page, bool *first, enum measure what);
bool draw_groups(const struct report *r, FILE *page, bool *first, int truly);
bool draw_theory(const struct report *r, FILE *page, bool *first);
bool draw_speed(const struct report *r, FILE *page, bool *first);

#endif
