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
    const struct table_column *column;
};

/* False after a message. */
bool rows_of_filters(struct rows *rows, const struct evaluation *ev);
bool rows_of_curves(struct rows *rows, const struct evaluation *ev);      /* with curves */
bool rows_of_importances(struct rows *rows, const struct evaluation *ev); /* with classes */
void rows_close(struct rows *rows);

/* For rows of a report, instead of their own. */
extern const struct table_column rows_advice_columns[];

struct table rows_table(const struct rows *rows);

#endif
