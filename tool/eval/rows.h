/* rows.h - the figures of an evaluation, a row for each filter, for each point of
 * its curve or for each group of importances. Tables and charts take them from
 * here. */
#ifndef WEIR_EVAL_ROWS_H
#define WEIR_EVAL_ROWS_H

#include "cli/table.h"
#include "eval/evaluation.h"

/* Rates are not a number where there was nothing to err on, predictions where
 * theory knows nothing. */
struct row {
    const char *name, *settings; /* of the entrant, which has to live as long */
    uint64_t memory;             /* bytes */
    char importance[48];         /* of a group: "7", "10-19" */
    uint64_t n, distinct;        /* arrivals and distinct keys of one order */
    double fpr, fnr;
    double weighted_fpr, weighted_fnr;         /* each arrival counted as its importance */
    double weighted_fpr_all, weighted_fnr_all; /* the same, of the weight of all arrivals */
    double interval_fpr, interval_fnr;         /* since the point before */
    double fill, error;                        /* at the end */
    double nanoseconds;                        /* of a record */
    double predicted_fpr, predicted_fnr, predicted_fill;
    double limit_fnr; /* no filter of this memory and fpr can miss less */
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

struct table rows_table(const struct rows *rows);

#endif
