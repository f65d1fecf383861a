/* search.c - search a filter's parameters for two limits: false positives and false negatives.
 *
 * The search does not use what parameters mean. It first tries values for all of them at once (a
 * range of fpr=, k, width and window). From the best of these it changes one parameter at a time,
 * up or down, as long as that improves the result. The filter's plan() rejects invalid settings. */
#include <math.h>
#include <string.h>

#include "plan/predict.h"
#include "spec/caller_struct.h"

#define FPR_DEFAULT 0.001
#define FNR_DEFAULT 0.05
#define FPR_COUNTS 0.01 /* of the value, within the limits: enough to decide between equals */
#define CLIMBS 40
#define WORTH 0.999 /* a step that lowers the value by less is not taken */
#define HOPELESS 3  /* times a limit */

#define TRIED_MOST 512 /* settings that are remembered; after that some are tried again */

static const enum parameter climbed[] = {PARAMETER_K,      PARAMETER_CELL,   PARAMETER_DECAY,
                                         PARAMETER_WINDOW, PARAMETER_SLICES, PARAMETER_WIDTH,
                                         PARAMETER_SLOTS};
#define CLIMBED (sizeof climbed / sizeof *climbed)

/* All that a prediction depends on, of one filter on one stream. */
struct tried {
    uint64_t number[CLIMBED], cells;
};

/* What is searched for, and the best so far. */
struct settings_search {
    const struct stream_model *m;
    struct weir_plan_request wish;
    uint32_t fixed; /* parameters that the caller has set */
    bool sparing;   /* only the limits count */
    bool found;
    double value;
    struct config config;
    struct weir_prediction best;
    uint32_t tries;
    struct tried tried[TRIED_MOST];
};

/* ---- the value of settings: less is better ---- */

/* How far above the limits: 1 or less if it keeps them. */
static double excess(const struct weir_plan_request *w, const struct weir_prediction *p)
{
    double fpr = p->fpr / w->fpr, fnr = p->fnr / w->fnr;

    return fmax(isnan(fpr) ? 0 : fpr, isnan(fnr) ? 0 : fnr);
}

/* At most 1 if both limits are kept, at most 2 if only that of false negatives is exceeded. */
static double value_of(const struct settings_search *s, const struct weir_prediction *p)
{
    double over = excess(&s->wish, p), missed = plan_weighed_fnr(s->m, p);

    if (s->sparing)
        return over;
    if (p->fpr > s->wish.fpr)
        return 1 + p->fpr / s->wish.fpr;
    if (over > 1)
        return 1 + fmin(1, missed);
    if (isinf(s->m->n) && s->m->fresh == 1)
        return 1 / p->remembered;
    return (isnan(missed) ? 0 : missed) + FPR_COUNTS * (isnan(p->fpr) ? 0 : p->fpr);
}

/* ---- trying ---- */

static bool is_free(const struct settings_search *s, const struct config *c,
                    enum parameter parameter)
{
    return (c->ops->is.parameters & HAS(parameter)) && !(s->fixed & HAS(parameter));
}

/* A filter for importance whose cells have one level: used only if asked for. */
static bool is_single_level(const struct settings_search *s, struct config *c)
{
    return s->m->important && is_free(s, c, PARAMETER_CELL) &&
           *config_number(c, PARAMETER_CELL, NULL) == 1 &&
           (c->ops->is.about.traits & WEIR_FOR_IMPORTANCE);
}

/* Were these settings tried before? fpr=, k= and a step of one often give the same. */
static bool is_tried(struct settings_search *s, struct config *c, const struct shape *shape)
{
    struct tried now = {.cells = shape->cells};

    for (size_t i = 0; i < CLIMBED; i++)
        now.number[i] =
            (c->ops->is.parameters & HAS(climbed[i])) ? *config_number(c, climbed[i], NULL) : 0;
    for (uint32_t i = 0; i < s->tries; i++)
        if (memcmp(&s->tried[i], &now, sizeof now) == 0)
            return true;
    if (s->tries < TRIED_MOST)
        s->tried[s->tries++] = now;
    return false;
}

static bool consider(struct settings_search *s, struct config c)
{
    struct shape shape = {0};
    struct weir_prediction p;

    if (s->found && s->sparing && s->value <= 1)
        return false;
    if (!c.ops->plan(&c, &shape, NULL) || is_single_level(s, &c) || is_tried(s, &c, &shape) ||
        plan_predict(&c, &shape, s->m, &p) != WEIR_OK)
        return false;
    double value = p.rank = value_of(s, &p);
    if (isnan(value) || (s->found && value >= s->value * WORTH))
        return false;
    s->found = true;
    s->value = value;
    s->config = c;
    s->best = p;
    return true;
}

/* With a parameter as near to a value as it can be. */
static struct config with(const struct config *base, enum parameter parameter, double value)
{
    struct config c = *base;
    uint64_t most, *number = config_number(&c, parameter, &most);

    *number = value < 1 ? 1 : config_at_most(value, most);
    c.is.given |= HAS(parameter);
    return c;
}

/* ---- all parameters at once ---- */

static void consider_rate(struct settings_search *s, const struct config *base, double fpr)
{
    struct config c = *base;

    c.fpr = fpr;
    c.is.given |= HAS(PARAMETER_FPR);
    consider(s, c);
}

static void consider_rates(struct settings_search *s, const struct config *base)
{
    if (!is_free(s, base, PARAMETER_FPR))
        return;
    for (double fpr = 0.5; fpr > 1e-9; fpr /= fpr > 1e-3 ? 1.6 : 8)
        consider_rate(s, base, fpr);
    if (s->wish.fpr > 0)
        consider_rate(s, base, s->wish.fpr);
}

static void consider_starts(struct settings_search *s, const struct config *base)
{
    double keys = model_distinct(s->m, s->m->n);

    consider(s, *base);
    consider_rates(s, base);
    for (int i = 1; i <= 10 && is_free(s, base, PARAMETER_K); i++) {
        struct config c = with(base, PARAMETER_K, i);

        consider(s, c);
        if (is_free(s, base, PARAMETER_CELL) && i <= 6)
            consider(s, with(&c, PARAMETER_CELL, 1));
    }
    for (int i = 8; i <= 32 && is_free(s, base, PARAMETER_WIDTH); i += i < 16 ? 1 : i < 24 ? 4 : 8)
        consider(s, with(base, PARAMETER_WIDTH, i));
    if (isinf(keys))
        return;
    if (is_free(s, base, PARAMETER_CAPACITY))
        consider(s, with(base, PARAMETER_CAPACITY, keys));
    for (double window = keys * 1.05; window > keys / 300 && is_free(s, base, PARAMETER_WINDOW);
         window /= 1.5)
        consider(s, with(base, PARAMETER_WINDOW, window));
}

/* ---- one parameter at a time ---- */

/* Everything as it was chosen, to be changed one by one. */
static struct config spelled_out(const struct settings_search *s)
{
    struct config c = s->config;

    for (size_t i = 0; i < CLIMBED; i++)
        if ((c.ops->is.parameters & HAS(climbed[i])) && *config_number(&c, climbed[i], NULL) > 0)
            c.is.given |= HAS(climbed[i]);
    c.is.given &= ~(HAS(PARAMETER_FPR) | HAS(PARAMETER_CAPACITY)) | s->fixed;
    c.capacity = config_has(&c, PARAMETER_CAPACITY) ? c.capacity : 0;
    return c;
}

static bool climb(struct settings_search *s)
{
    static const double factors[] = {1.02, 1.2};
    struct config at = spelled_out(s);
    bool higher = false;

    for (size_t i = 0; i < CLIMBED; i++) {
        enum parameter parameter = climbed[i];
        double now = (double)*config_number(&at, parameter, NULL);

        if (!is_free(s, &at, parameter) || now == 0)
            continue;
        for (size_t j = 0; j < 2; j++) {
            double by = fmax(1, now * (factors[j] - 1));

            higher |= consider(s, with(&at, parameter, now + by));
            higher |= now - by >= 1 && consider(s, with(&at, parameter, now - by));
        }
    }
    return higher;
}

/* If only the limits count, the first settings that keep them are enough. Settings far above them
 * do not improve enough in small steps. */
static bool is_decided(const struct settings_search *s)
{
    return !s->found || (s->sparing && (s->value <= 1 || s->value > HOPELESS));
}

static bool find(struct settings_search *s, const struct config *base)
{
    s->found = false;
    s->tries = 0;
    s->fixed = base->is.given & ~HAS(PARAMETER_MEMORY);
    consider_starts(s, base);
    for (int i = 0; i < CLIMBS && !is_decided(s) && climb(s); i++)
        ;
    if (!s->found)
        return false;
    s->found = false; /* once more, in full */
    s->tries = 0;
    return consider(s, spelled_out(s));
}

/* ---- the calls ---- */

static enum weir_status begin(struct settings_search *s, struct stream_model *m,
                              const struct weir_stream *stream,
                              const struct weir_plan_request *wish, struct weir_error *error)
{
    struct caller_struct what = {"weir_plan_request", sizeof s->wish,
                                 UP_TO_MEMBER(struct weir_plan_request, fnr)};
    enum weir_status status = stream_model(stream, m, error);

    *s = (struct settings_search){.m = m};
    if (status == WEIR_OK)
        status = caller_struct_copy(&s->wish, what, wish, error);
    if (status != WEIR_OK)
        return status;
    if (s->wish.fpr == 0)
        s->wish.fpr = FPR_DEFAULT;
    if (s->wish.fnr == 0)
        s->wish.fnr = FNR_DEFAULT;
    return WEIR_OK;
}

static bool read_base(struct config *c, const char *filter, uint64_t memory,
                      struct weir_error *error)
{
    struct shape shape = {0};

    if (!spec_read(&filter_grammar, filter, c, error))
        return false;
    if (memory && !config_has(c, PARAMETER_MEMORY))
        c->memory = memory * 8;
    c->is.given |= HAS(PARAMETER_MEMORY);
    struct config tried = *c;
    if (c->memory >= MEMORY_MIN && c->memory <= MEMORY_MAX)
        return c->ops->plan(&tried, &shape, error);
    return error_refuse(error, WEIR_ERROR_INVALID_ARGUMENT,
                        "memory must be from 64 bytes to 16 TiB", NULL);
}

enum weir_status weir_choose(struct weir_prediction *p, size_t size, const char *filter,
                             const struct weir_stream *stream, const struct weir_plan_request *wish,
                             struct weir_error *error)
{
    struct settings_search s;
    struct stream_model m;
    struct config base;
    struct weir_prediction best;
    enum weir_status status = begin(&s, &m, stream, wish, error);

    if (status != WEIR_OK)
        return status;
    if (!read_base(&base, filter, s.wish.memory, error))
        return WEIR_BAD_CONFIG;
    if (!find(&s, &base))
        return plan_no_model(&base, error);
    best = s.best;
    caller_struct_return(p, size, &best, sizeof best);
    return WEIR_OK;
}

/* ---- how much memory ---- */

static bool keeps(struct settings_search *s, const struct config *base, double memory)
{
    struct config c = *base;

    c.memory = (uint64_t)memory / 8 * 8;
    return find(s, &c) && s->value <= 1;
}

/* Between a memory that is not enough and one that is; *p is the prediction for the latter. */
static void narrow(struct settings_search *s, const struct config *base, double lo, double hi,
                   struct weir_prediction *p)
{
    while (hi > lo * 1.02 + 8) {
        double middle = sqrt(lo * hi);

        if (keeps(s, base, middle)) {
            hi = middle;
            *p = s->best;
        } else {
            lo = middle;
        }
    }
}

/* A memory that is enough, and one a quarter of it that is not; false if none is. */
static bool bracket(struct settings_search *s, const struct config *base, double most, double *lo,
                    double *hi, struct weir_prediction *p)
{
    double keys = model_distinct(s->m, s->m->n);

    *hi = fmin(fmax(isinf(keys) ? 1e7 : 8 * keys, MEMORY_MIN), most);
    bool enough = keeps(s, base, *hi);
    for (; !enough; enough = keeps(s, base, *hi)) {
        if (!s->found || *hi == most)
            return false;
        *hi = fmin(*hi * 4, most);
    }
    do {
        *p = s->best;
        *lo = fmax(*hi / 4, MEMORY_MIN);
        enough = *hi > MEMORY_MIN && keeps(s, base, *lo);
        *hi = enough ? *lo : *hi;
    } while (enough);
    return true;
}

enum weir_status weir_min_memory(struct weir_prediction *p, size_t size, const char *filter,
                                 const struct weir_stream *stream,
                                 const struct weir_plan_request *wish, struct weir_error *error)
{
    struct settings_search s;
    struct stream_model m;
    struct config base;
    struct weir_prediction best;
    double lo, hi;
    enum weir_status status = begin(&s, &m, stream, wish, error);

    if (status != WEIR_OK)
        return status;
    if (!read_base(&base, filter, 0, error))
        return WEIR_BAD_CONFIG;
    s.sparing = true;
    double most = s.wish.memory ? 8 * (double)s.wish.memory : (double)MEMORY_MAX;
    if (!bracket(&s, &base, most, &lo, &hi, &best))
        return s.found ? error_say(error, WEIR_ERROR_UNSUPPORTED, base.ops->is.about.name,
                                   " does not keep these limits with any memory up to the maximum",
                                   NULL)
                       : plan_no_model(&base, error);
    narrow(&s, &base, lo, hi, &best);
    caller_struct_return(p, size, &best, sizeof best);
    return WEIR_OK;
}
