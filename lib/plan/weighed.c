/* weighed.c - false negatives, each counted as its key matters: for the cost of
 * filters that heed importance. */
#include <math.h>

#include "plan/predict.h"

/* The importance that this share of the arrivals stays below. */
static double importance_at(const struct stream_model *m, double below)
{
    double lo = m->fresh_importance.low, hi = m->fresh_importance.high;

    for (uint32_t i = 0; i < m->bins; i++) {
        lo = fmin(lo, m->bin[i].importance.low);
        hi = fmax(hi, m->bin[i].importance.high);
    }
    for (int i = 0; i < 40; i++) {
        double middle = (lo + hi) / 2;
        bool reached = model_below(m, middle) >= below;

        lo = reached ? lo : middle;
        hi = reached ? middle : hi;
    }
    return hi;
}

/* Repeats of keys with such an importance, per arrival. */
static double repeats(const struct stream_model *m, double low, double high)
{
    struct stream_model part;

    model_part(m, low, high, &part);
    double share = model_below(m, high) - model_below(m, low);
    return fmax(0, share - (isinf(m->n) ? part.fresh : model_distinct(&part, m->n) / m->n));
}

double plan_weighed_fnr(const struct stream_model *m, const struct weir_prediction *p)
{
    double below = 0, low = 0, weight = 0, missed = 0;

    if (!m->important || p->classes < 2)
        return p->fnr;
    for (uint32_t i = 1; i <= p->classes; i++) {
        below += p->class_share[i];
        double high = importance_at(m, below) + 1e-9, w = repeats(m, low, high) * (low + high) / 2;

        weight += w;
        missed += p->class_fnr[i] > 0 ? w * p->class_fnr[i] : 0; /* not if it is not known */
        low = high;
    }
    return weight > 0 ? missed / weight : p->fnr;
}
