/* stream.h - the model of a stream that was described in words. */
#ifndef WEIR_LIB_STREAM_H
#define WEIR_LIB_STREAM_H

#include <weir/plan.h>

#include "theory/model.h"

void stream_model(const struct weir_stream *s, struct stream_model *m);

#endif
