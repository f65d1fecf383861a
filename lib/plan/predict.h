/* predict.h - predictions of filters that are planned but not opened, on streams that
 * were described in words. */
#ifndef WEIR_PLAN_PREDICT_H
#define WEIR_PLAN_PREDICT_H

#define WEIR_UNSTABLE
#include <weir/plan.h>

#include "filter/filter.h"

/* WEIR_UNSUPPORTED where the filter has no model for this, or WEIR_NO_MEMORY. */
enum weir_status plan_predict(const struct config *c, const struct shape *s,
                              const struct stream_model *m, struct weir_prediction *out);

/* The refusal of a filter that has none. */
enum weir_status plan_no_model(const struct config *c, struct weir_error *error);

/* The model of a stream that was described; statuses as of caller_struct_copy(), and
 * WEIR_UNSUPPORTED where there is none. */
enum weir_status stream_model(const struct weir_stream *s, struct stream_model *m,
                              struct weir_error *error);

/* The share of the repeats that are missed, each counted as it matters. Classes are
 * stretches of importance, from the least on. */
double plan_weighed_fnr(const struct stream_model *m, const struct weir_prediction *p);

#endif
