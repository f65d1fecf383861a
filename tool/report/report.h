/* report.h - weir eval --report: one page with the advice, its reasons and charts. */
#ifndef WEIR_REPORT_REPORT_H
#define WEIR_REPORT_REPORT_H

#include <stdio.h>

#include "cli/units.h"
#include "eval/rows.h"
#include "eval/screens.h"
#include "report/choice.h"

#define RECORDS_MEASURED ((uint64_t)1 << 20)          /* at most; see replay.h */
#define RECORDS_MEASURED_GOING_ON ((uint64_t)1 << 18) /* HORIZON times as many keys may follow */
#define RECORDS_LEAST 1000 /* fewer are not enough for a stream that continues */
#define CURVE_POINTS 24

struct report {
    const struct options *request; /* as given */
    struct options detailed;       /* the same, with curves and classes of importance */
    struct evaluation evaluation;  /* its entrants: the best setting of each filter, at the end */
    struct entrants measured;      /* all that was measured */
    struct candidates candidates;
    struct growth growth;
    struct limits limits;
    struct choice choice;
    struct rows all;                  /* of measured */
    struct rows best, curves, groups; /* of the evaluation's entrants */
    double scale;                     /* records of the stream per record measured */
    uint64_t enough; /* memory that meets the limits, if none of -m does; 0: unknown */
    bool weighed;
    bool going_on; /* advice for the records after these */
};

/* weir eval --report, in full; the exit status. */
int report_run(const struct options *o);

/* The parts of the page. False after a message. */
void report_words(const struct report *r, FILE *page);  /* what to choose */
bool report_charts(const struct report *r, FILE *page); /* pictures */

/* The advice, on standard output. */
void report_say(const struct report *r);

/* ---- words that the parts of a report share ---- */

struct words {
    char text[64];
};

struct words words_range(struct range range);                     /* 0.1 % to 2 % */
struct shown words_size(const struct report *r, uint32_t memory); /* of that index: 64 KiB */

/* "-a recent -m 64K": the options for an entrant. */
void words_filter(FILE *page, const struct report *r, uint32_t entrant);

/* ---- weir eval --store --report: which screen to take, and the figures (screens_page.c) ---- */

/* Can the page be written? False after a message. */
bool report_screens_possible(const struct options *o);

/* Write it to the file of --report. False after a message. */
bool report_screens(const struct screens *s);

/* Its first words, for the terminal; true. */
bool report_screens_say(const struct screens *s);

#endif
