/* rows.h - the figures of an evaluation, for tables and charts: a row per filter, per point of its
 * curve, or per group of importances. */
#ifndef WEIR_EVAL_ROWS_H
#define WEIR_EVAL_ROWS_H

#include "cli/table.h"
#include "eval/evaluation.h"

/* Rates are NaN if there were no such records, predictions if there is no model. */
struct row {
    const char *name, *settings; /* owned by the entrant */
    uint64_t memory;             /* bytes */
    char importance[48];         /* of a group: "7", "10-19" */
    uint64_t n, distinct;        /* arrivals and distinct keys of one order */
    double fpr, fnr;
    double weighted_fpr, weighted_fnr;         /* each arrival counted as its importance */
    double weighted_fpr_all, weighted_fnr_all; /* the same, of the weight of all arrivals */
    double interval_fpr, interval_fnr;         /* since the point before */
    double fill, error;                        /* at the end */
    double nanoseconds;                        /* per record */
    double predicted_fpr, predicted_fnr, predicted_fill;
    double limit_fnr;                                    /* lower bound for this memory and fpr */
    double lost_low, lost_high, passed_low, passed_high; /* intervals of a report, see choice.h */
    const char *meets, *advised;                         /* yes or no */
};

struct rows {
    struct row *row;
    uint32_t count;
};

enum rows_kind {
    ROWS_OF_FILTERS = 1,
    ROWS_OF_ADVICE = 2,     /* the same, with the columns of a report */
    ROWS_OF_CURVES = 4,     /* with curves */
    ROWS_OF_IMPORTANCES = 8 /* with classes */
};

/* False after a message. */
bool rows_of(struct rows *rows, const struct evaluation *ev, enum rows_kind kind);
void rows_close(struct rows *rows);

/* Print it before the next call. */
struct table rows_table(const struct rows *rows, enum rows_kind kind);

#endif
