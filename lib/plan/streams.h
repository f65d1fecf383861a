/* streams.h - the model of a stream that was described in words. */
#ifndef WEIR_PLAN_STREAMS_H
#define WEIR_PLAN_STREAMS_H

#include <weir/plan.h>

#include "theory/stream_model.h"

void stream_model(const struct weir_stream *s, struct stream_model *m);

#endif
