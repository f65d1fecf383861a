/* predict.c - predictions for a spec and a described stream: of a filter, of its misses by gap, of
 * its retention by TTL, and of a screen. The models are in lib/theory. */
#include "plan/predict.h"

#include <math.h>
#include <string.h>

#include "filter/filter.h"
#include "screen/screen.h"
#include "spec/caller_struct.h"
#include "theory/sets.h"

double weir_min_fnr(double bits, double keys, double fpr)
{
    return bound_fnr(bits, keys, fpr);
}

/* The bound is known for a fixed set of equally probable keys, the LRU list's misses for any. */
static void add_limits(struct weir_prediction *p, const struct stream_model *m, double bits)
{
    bool even = m->bins == 1 && m->fresh == 0 && !isinf(m->n);

    p->least_fnr = even ? bound_fnr(bits, model_distinct(m, m->n), p->fpr) : NAN;
    p->lru_fnr = p->fpr > 0 && p->fpr < 1 ? bound_lru_fnr(m, bits / log2(1 / p->fpr)) : NAN;
}

/* Rounding can leave a model's sum a little below 0. */
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

/* The number of keys it remembers if only new ones arrive, with the importance of this stream's
 * keys. Computed from the misses of a few keys with gaps that are long compared with the memory. */
static double remembered(const struct config *c, const struct shape *s,
                         const struct stream_model *of)
{
    double gap = 64.0 * (double)s->cells * s->planes * s->width, few = 1e-6;
    struct stream_model m;
    struct prediction p;

    model_uniform(&m, INFINITY, few * gap, 1 - few);
    if (of->important)
        model_importance(&m, of->fresh_importance.low, of->fresh_importance.high);
    prediction_clear(&p);
    if (!c->ops->predict(c, s, &m, &p))
        return NAN;
    return fmax(0, gap * (1 - p.fnr / (1 - p.fpr)));
}

enum weir_status plan_predict(const struct config *c, const struct shape *s,
                              const struct stream_model *m, struct weir_prediction *out)
{
    struct prediction p;

    prediction_clear(&p);
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
    out->rank = NAN;
    copy_classes(out, &p);
    add_limits(out, m, 8 * (double)out->memory);
    return WEIR_OK;
}

enum weir_status plan_no_model(const struct config *c, struct weir_error *error)
{
    return error_say(error, WEIR_ERROR_NO_MODEL, "there is no model of ", c->is.of->about.name,
                     " with these parameters on such a stream", NULL);
}

/* The plan of a spec, and the model of the stream. */
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
        error_say(error, WEIR_ERROR_NO_MEMORY, "not enough memory for a prediction", NULL);
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
        caller_struct_return(p, size, &known, sizeof known);
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
                         "invalid gap; use at least 1 arrival, and less than the stream has", NULL);
    prediction_clear(&p);
    p.gap = gap;
    if (!c->ops->predict || !c->ops->predict(c, &planned.shape, &m, &p))
        return refuse(p.no_memory ? WEIR_NO_MEMORY : WEIR_UNSUPPORTED, c, error);
    struct weir_gap_prediction known = {.missed = chance(p.gap_missed), .classes = p.classes};
    spec_describe(&filter_grammar, c, known.config, sizeof known.config);
    known.memory = cells_size(planned.shape.cells * planned.shape.planes, planned.shape.width);
    memcpy(known.class_share, p.class_share, sizeof known.class_share);
    for (uint32_t i = 0; i < MODEL_CLASSES; i++)
        known.class_missed[i] = chance(p.class_gap_missed[i]);
    caller_struct_return(out, size, &known, sizeof known);
    return WEIR_OK;
}

/* ---- retention by TTL ---- */

/* A key that was evicted can be a false positive. */
static double or_false_positive(double kept, double fpr)
{
    return kept + (1 - kept) * fpr;
}

static enum weir_status check_ttl(const struct config *c, const struct stream_model *m,
                                  const struct ttl_load *load, struct weir_error *error)
{
    if (c->ttl.min == 0)
        return error_say(error, WEIR_ERROR_INVALID_ARGUMENT,
                         "TTLs are predicted for filters with ttl=, for example recent ttl=1m-2h",
                         NULL);
    if (!(load->rate >= 0) || isinf(load->rate))
        return error_say(error, WEIR_ERROR_INVALID_ARGUMENT,
                         "invalid rate; use new keys per second, or 0 for as many as fit", NULL);
    if (load->ttl != 0 && !(load->ttl >= (double)c->ttl.min && load->ttl <= (double)c->ttl.max))
        return error_say(error, WEIR_ERROR_INVALID_ARGUMENT,
                         "invalid TTL; use one in the range of ttl=, in milliseconds", NULL);
    if (m && (!isinf(m->n) || m->fresh < 1))
        return error_say(error, WEIR_ERROR_NO_MODEL,
                         "ttl= is predicted for endless streams of new keys; use 'endless' without "
                         "n= and universe=",
                         NULL);
    if (load->importance.high > 0 || c->importance.mode == IMPORTANCE_NONE ||
        c->importance.mode == IMPORTANCE_PERCENTILE)
        return WEIR_OK;
    return error_say(error, WEIR_ERROR_INVALID_ARGUMENT,
                     "which importances do the keys have? Use the stream "
                     "endless:importance=LO-HI, or importance=percentile",
                     NULL);
}

enum weir_status weir_predict_ttl(struct weir_ttl_prediction *out, size_t size, const char *filter,
                                  const struct weir_stream *s, double rate, double ttl,
                                  struct weir_error *error)
{
    struct weir_ttl_prediction known = {.memory = 0};
    struct ttl_load load = {.rate = rate, .ttl = ttl};
    struct ttl_prediction p;
    struct planned planned;
    struct stream_model m;
    enum weir_status status = WEIR_OK;
    const struct config *c = &planned.config;

    if (!spec_read(&filter_grammar, filter, &planned, error) ||
        !filter_grammar.plan(&planned, error))
        return WEIR_BAD_CONFIG;
    if (s)
        status = stream_model(s, &m, error);
    if (status != WEIR_OK)
        return status;
    if (s && m.important)
        load.importance = m.fresh_importance;
    status = check_ttl(c, s ? &m : NULL, &load, error);
    if (status != WEIR_OK)
        return status;
    if (load.ttl == 0)
        load.ttl = (double)c->ttl.max;
    if (!c->ops->predict_ttl(c, &planned.shape, &load, &p))
        return error_say(error, WEIR_ERROR_INVALID_ARGUMENT,
                         "the rate is more than 100 times the rate that fits; use more memory",
                         NULL);
    spec_describe(&filter_grammar, c, known.config, sizeof known.config);
    known.memory = cells_size(planned.shape.cells * planned.shape.planes, planned.shape.width);
    known.ttl_min = c->ttl.min;
    known.ttl_max = c->ttl.max;
    known.rate = p.rate;
    known.live = p.live;
    known.fpr = p.fpr;
    known.groups = p.groups;
    for (uint32_t i = 0; i <= TTL_GROUPS; i++) {
        known.share[i] = p.share[i];
        known.seen_half[i] = or_false_positive(p.kept_half[i], p.fpr);
        known.seen[i] = or_false_positive(p.kept[i], p.fpr);
    }
    caller_struct_return(out, size, &known, sizeof known);
    return WEIR_OK;
}

/* ---- misses weighted by importance ---- */

/* The importance below which this share of the arrivals is. */
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

/* Repeats per arrival of keys with an importance in this range. */
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
        missed += p->class_fnr[i] > 0 ? w * p->class_fnr[i] : 0; /* NaN: unknown */
        low = high;
    }
    return weight > 0 ? missed / weight : p->fnr;
}

/* ---- screens ---- */

static enum weir_status refuse_screen(const struct screen_config *c, struct weir_error *error)
{
    return error_say(error, WEIR_ERROR_NO_MODEL, "there is no model of the screen ",
                     c->is.of->about.name,
                     c->window ? " with window="
                     : c->span ? " with span="
                               : "",
                     "; 'weir eval --store' measures screens", NULL);
}

enum weir_status weir_predict_screen(struct weir_screen_prediction *p, size_t size,
                                     const char *screen, const struct weir_stream *s,
                                     double members, struct weir_error *error)
{
    struct weir_screen_prediction known = {.memory = 0};
    struct screen_config c;
    struct stream_model m;

    if (!spec_read(&screen_grammar, screen, &c, error) || !screen_grammar.plan(&c, error))
        return WEIR_BAD_CONFIG;
    enum weir_status status = stream_model(s, &m, error);
    if (status != WEIR_OK)
        return status;
    if (isinf(m.n))
        return error_say(error, WEIR_ERROR_INVALID_ARGUMENT,
                         "a screen is predicted for a finite stream; add n=", NULL);
    if (!c.ops->predict || !c.ops->predict(&c, &m, members, &known))
        return refuse_screen(&c, error);
    spec_describe(&screen_grammar, &c, known.config, sizeof known.config);
    for (uint32_t i = 0; i < c.shape.areas; i++)
        known.memory += cells_size(c.shape.area[i].cells, (uint32_t)c.shape.area[i].width);
    known.distinct = model_distinct(&m, m.n);
    known.members = members * known.distinct;
    caller_struct_return(p, size, &known, sizeof known);
    return WEIR_OK;
}
