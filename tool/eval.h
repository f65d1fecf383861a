/* eval.h - the tables of an evaluation. */
#ifndef WEIR_EVAL_H
#define WEIR_EVAL_H

#include "grid.h"
#include "trial.h"

void list_filters(struct grid *g, const struct trial *t);
void list_importances(struct grid *g, const struct trial *t); /* of a run with --by-importance */

#endif
