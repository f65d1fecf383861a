/* predict.h - predictions of filters that are planned but not opened. */
#ifndef WEIR_PLAN_PREDICT_H
#define WEIR_PLAN_PREDICT_H

#include <weir/plan.h>

#include "filter/filter.h"

/* WEIR_UNSUPPORTED where the filter has no model for this, or WEIR_NO_MEMORY. */
enum weir_status plan_predict(const struct config *c, const struct shape *s,
                              const struct stream_model *m, struct weir_prediction *out);

#endif
