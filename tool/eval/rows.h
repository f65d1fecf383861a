/* rows.h - the tables of an evaluation. */
#ifndef WEIR_EVAL_ROWS_H
#define WEIR_EVAL_ROWS_H

#include "cli/table.h"
#include "eval/evaluation.h"

void list_filters(struct grid *g, const struct evaluation *t);
void list_importances(struct grid *g,
                      const struct evaluation *t); /* of a run with --by-importance */

#endif
