/* metrics.h - the figures of a run in the text format of Prometheus. */
#ifndef WEIR_VERDICT_METRICS_H
#define WEIR_VERDICT_METRICS_H

#include "verdict/verdict.h"

/* What the verdict describes, a sample per figure, labelled with the name of the run; and
 * whether that has ended. To be freed; NULL if memory is short. */
char *metrics_text(const struct verdict *v, const struct tally *t, const char *run, bool ended,
                   size_t *size);

#endif
