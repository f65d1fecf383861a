/* predict.h - what the files of lib/plan share. */
#ifndef WEIR_PLAN_PREDICT_H
#define WEIR_PLAN_PREDICT_H

#define WEIR_UNSTABLE
#include <weir/plan.h>

#include "filter/filter.h"

/* Errors: WEIR_UNSUPPORTED if the filter has no model for this; WEIR_NO_MEMORY. */
enum weir_status plan_predict(const struct config *c, const struct shape *s,
                              const struct stream_model *m, struct weir_prediction *out);

/* The error of a filter without a model. */
enum weir_status plan_no_model(const struct config *c, struct weir_error *error);

/* Make the model of a described stream. Errors: those of caller_struct_copy(), and WEIR_UNSUPPORTED
 * if there is no model. */
enum weir_status stream_model(const struct weir_stream *s, struct stream_model *m,
                              struct weir_error *error);

/* The share of the repeats that are missed, each weighted by its importance. Classes are ranges of
 * importance, ascending. */
double plan_weighed_fnr(const struct stream_model *m, const struct weir_prediction *p);

#endif
