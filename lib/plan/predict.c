/* predict.c - from specs to predictions. */
#include <math.h>
#include <string.h>

#include "base/hand_out.h"
#include "filter/filter.h"
#include "plan/predict.h"
#include "theory/limits.h"

double weir_min_fnr(double bits, double keys, double fpr)
{
    return limit_fnr(bits, keys, fpr);
}

/* The limit is known for repeats of a fixed set, the list's misses for any. */
static void add_limits(struct weir_prediction *p, const struct stream_model *m, double bits)
{
    bool even = m->bins == 1 && m->fresh == 0 && !isinf(m->n);

    p->least_fnr = even ? limit_fnr(bits, model_distinct(m, m->n), p->fpr) : NAN;
    p->lru_fnr = p->fpr > 0 && p->fpr < 1 ? limit_lru(m, bits / log2(1 / p->fpr)) : NAN;
}

/* What models add up and take off is rounded, and can end a little below 0. */
static double chance(double sum)
{
    return sum < 0 ? 0 : sum;
}

static void copy_classes(struct weir_prediction *to, const struct prediction *p)
{
    to->classes = p->classes;
    memcpy(to->class_share, p->class_share, sizeof to->class_share);
    for (uint32_t i = 0; i < MODEL_CLASSES; i++)
        to->class_fnr[i] = chance(p->class_fnr[i]);
}

/* Keys that it remembers, if only new ones come, as important as in this stream. A few
 * that do come again, after gaps that are long against its memory, tell: what they are
 * not missed by. */
static double remembered(const struct config *c, const struct shape *s,
                         const struct stream_model *of)
{
    double gap = 64.0 * (double)s->cells * s->planes * s->width, few = 1e-6;
    struct stream_model m;
    struct prediction p;

    model_uniform(&m, INFINITY, few * gap, 1 - few);
    if (of->important)
        model_importance(&m, of->fresh_importance.low, of->fresh_importance.high);
    prediction_none(&p);
    if (!c->ops->predict(c, s, &m, &p))
        return NAN;
    return fmax(0, gap * (1 - p.fnr / (1 - p.fpr)));
}

enum weir_status plan_predict(const struct config *c, const struct shape *s,
                              const struct stream_model *m, struct weir_prediction *out)
{
    struct prediction p;

    prediction_none(&p);
    if (!c->ops->predict || !c->ops->predict(c, s, m, &p))
        return p.no_memory ? WEIR_NO_MEMORY : WEIR_UNSUPPORTED;
    spec_describe(&filter_grammar, c, out->config, sizeof out->config);
    out->memory = cells_size(s->cells * s->planes, s->width);
    out->fpr = chance(p.fpr);
    out->fnr = chance(p.fnr);
    out->fill = p.fill;
    out->error = p.error;
    out->stable = p.stable;
    out->paper = p.paper;
    out->remembered = isinf(m->n) ? remembered(c, s, m) : NAN;
    out->cost = NAN;
    copy_classes(out, &p);
    add_limits(out, m, 8 * (double)out->memory);
    return WEIR_OK;
}

enum weir_status plan_no_model(const struct config *c, struct weir_error *error)
{
    return error_say(error, WEIR_ERROR_NO_MODEL, "there is no model of ", c->is.of->about.name,
                     " with these parameters on such a stream", NULL);
}

/* What a spec plans, and the model of the stream. */
static enum weir_status read_planned(struct planned *planned, struct stream_model *m,
                                     const char *filter, const struct weir_stream *s,
                                     struct weir_error *error)
{
    if (!spec_read(&filter_grammar, filter, planned, error) || !filter_grammar.plan(planned, error))
        return WEIR_BAD_CONFIG;
    return stream_model(s, m, error);
}

static enum weir_status refuse(enum weir_status status, const struct config *c,
                               struct weir_error *error)
{
    if (status == WEIR_NO_MEMORY)
        error_say(error, WEIR_ERROR_NO_MEMORY,
                  "the system does not give the memory for a prediction", NULL);
    if (status == WEIR_UNSUPPORTED)
        plan_no_model(c, error);
    return status;
}

enum weir_status weir_predict(struct weir_prediction *p, size_t size, const char *filter,
                              const struct weir_stream *s, struct weir_error *error)
{
    struct planned planned;
    struct stream_model m;
    struct weir_prediction known;
    enum weir_status status = read_planned(&planned, &m, filter, s, error);

    if (status != WEIR_OK)
        return status;
    status = plan_predict(&planned.config, &planned.shape, &m, &known);
    if (status == WEIR_OK)
        hand_out(p, size, &known, sizeof known);
    return refuse(status, &planned.config, error);
}

enum weir_status weir_predict_gap(struct weir_gap_prediction *out, size_t size, const char *filter,
                                  const struct weir_stream *s, double gap, struct weir_error *error)
{
    struct planned planned;
    struct stream_model m;
    struct prediction p;
    enum weir_status status = read_planned(&planned, &m, filter, s, error);
    const struct config *c = &planned.config;

    if (status != WEIR_OK)
        return status;
    if (!(gap >= 1) || isinf(gap) || gap >= m.n)
        return error_say(error, WEIR_ERROR_INVALID_ARGUMENT,
                         "a gap is from 1 arrival up to those of the stream", NULL);
    prediction_none(&p);
    p.gap = gap;
    if (!c->ops->predict || !c->ops->predict(c, &planned.shape, &m, &p))
        return refuse(p.no_memory ? WEIR_NO_MEMORY : WEIR_UNSUPPORTED, c, error);
    struct weir_gap_prediction known = {.missed = chance(p.gap_missed), .classes = p.classes};
    spec_describe(&filter_grammar, c, known.config, sizeof known.config);
    known.memory = cells_size(planned.shape.cells * planned.shape.planes, planned.shape.width);
    memcpy(known.class_share, p.class_share, sizeof known.class_share);
    for (uint32_t i = 0; i < MODEL_CLASSES; i++)
        known.class_missed[i] = chance(p.class_gap_missed[i]);
    hand_out(out, size, &known, sizeof known);
    return WEIR_OK;
}
