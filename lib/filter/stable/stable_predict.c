/* stable_predict.c - prediction for SBF and the IBF filters: divides a stream into classes of
 * importance for the model in theory/stable.h. */
#include "filter/stable/stable.h"

#include <math.h>
#include <stdlib.h>

#define VALUES (UINT64_C(1) << 32) /* number of importance values */

/* The minimum importance, from lo to hi, so that more than this share of the arrivals is not above
 * it. */
static uint32_t quantile(const struct stream_model *m, double share, uint64_t lo, uint64_t hi)
{
    while (lo < hi) {
        uint64_t mid = (lo + hi) / 2;

        if (model_below(m, (double)mid + 1) > share)
            hi = mid;
        else
            lo = mid + 1;
    }
    return (uint32_t)lo;
}

/* The expected running sample. */
static void sample_exactly(const struct stream_model *m, struct sample *s)
{
    double most = m->fresh_importance.high;
    uint32_t last = 0;

    for (uint32_t i = 0; i < m->bins; i++)
        most = fmax(most, m->bin[i].importance.high);
    for (s->n = 0; s->n < SAMPLE_SIZE; s->n++) {
        double share = (s->n + 0.5) / SAMPLE_SIZE;

        s->value[s->n] = last = quantile(m, share, last, (uint64_t)fmin(most, VALUES - 1));
    }
}

/* The minimum importance of a class; INFINITY if the class is empty. */
static double class_from(const struct importance *imp, const struct sample *s, uint32_t class,
                         uint32_t classes)
{
    uint64_t lo = 0, hi = VALUES;

    while (lo < hi) {
        uint64_t mid = (lo + hi) / 2;

        if (importance_class(imp, s, (uint32_t)mid, classes) >= class)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo < VALUES ? (double)lo : INFINITY;
}

static void divide(const struct raising *r, const struct config *c, const struct stream_model *m,
                   struct key_class *classes)
{
    struct sample sample = {.n = 0};
    double from = 0;

    if (importance_samples(&c->importance))
        sample_exactly(m, &sample);
    for (uint32_t i = 1; i <= r->classes; i++) {
        double to =
            i < r->classes ? class_from(&c->importance, &sample, i + 1, r->classes) : INFINITY;

        classes[i - 1].level = r->level_of(i, (1u << c->cell) - 1);
        model_part(m, from, to, &classes[i - 1].keys);
        from = to;
    }
}

bool predict_raising(const struct raising *r, const struct config *c, const struct shape *s,
                     const struct stream_model *m, struct prediction *p)
{
    struct cell_filter of = {(double)s->cells, (1u << c->cell) - 1, (double)c->k, (double)c->decay,
                             r->harmonic};
    struct key_class *classes = malloc(r->classes * sizeof *classes);
    bool ok = classes != NULL;

    if (ok) {
        divide(r, c, m, classes);
        ok = stable_predict(&of, classes, r->classes, p);
        p->classes = r->classes > 1 ? r->classes : 0;
    }
    free(classes);
    p->no_memory = !ok;
    return ok;
}
