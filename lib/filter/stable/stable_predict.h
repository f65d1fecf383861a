/* stable_predict.h - what SBF and the IBF family will do: a stream cut into classes of
 * importance, for the model that they share (theory/stable_run.h). */
#ifndef WEIR_FILTER_STABLE_STABLE_PREDICT_H
#define WEIR_FILTER_STABLE_STABLE_PREDICT_H

#include "filter/filter.h"
#include "theory/stable_run.h"

/* A key of class i, of so many, raises its cells to level_of(i, top). */
struct raising {
    uint32_t classes;
    uint32_t (*level_of)(uint32_t class, uint32_t top);
    bool harmonic;
};

bool predict_raising(const struct raising *r, const struct config *c, const struct shape *s,
                     const struct stream_model *m, struct prediction *p);

#endif
