/* streams.c - parse a stream description such as "zipf:n=1M,alpha=1.1", and make its model. */
#include "plan/predict.h"

#include <math.h>
#include <string.h>

#include "spec/error.h"
#include "spec/caller_struct.h"
#include "spec/grammar.h"

#define SPEC 512

/* ---- the grammar ---- */

/* The record that the parser fills. */
struct described_stream {
    struct spec is;
    struct weir_stream stream;
};

static bool read_share(struct span text, void *value)
{
    return span_rate(text, value) && *(double *)value <= 1;
}

static bool read_some(struct span text, void *value)
{
    return read_share(text, value) && *(double *)value > 0;
}

static bool read_alpha(struct span text, void *value)
{
    return span_rate(text, value) && *(double *)value > 0 && *(double *)value <= 20;
}

static bool read_range(struct span text, void *value)
{
    struct weir_stream *s = value;
    const char *dash = memchr(text.s, '-', text.n);
    size_t before = dash ? (size_t)(dash - text.s) : text.n;
    uint64_t lo, hi;

    if (!dash || !span_whole((struct span){text.s, before}, &lo) ||
        !span_whole((struct span){dash + 1, text.n - before - 1}, &hi) || lo > hi ||
        hi > UINT32_MAX)
        return false;
    s->important = true;
    s->lo = (uint32_t)lo;
    s->hi = (uint32_t)hi;
    return true;
}

/* "10%/100k" */
static bool read_drift(struct span text, void *value)
{
    struct weir_stream *s = value;
    const char *slash = memchr(text.s, '/', text.n);
    size_t before = slash ? (size_t)(slash - text.s) : text.n;

    return slash && span_rate((struct span){text.s, before}, &s->drift) && s->drift > 0 &&
           s->drift <= 1 &&
           span_count((struct span){slash + 1, text.n - before - 1}, &s->drift_every) &&
           s->drift_every > 0;
}

static const char *const biases[] = {"none", "direct", "inverse", NULL};

enum { N, DISTINCT, UNIVERSE, ALPHA, FRESH, IMPORTANCE, BIAS, DRIFT, LENGTH, SEED, ROWS };

/* clang-format off */
static const struct parameter_row rows[ROWS] = {
#define AT(member) offsetof(struct described_stream, stream.member)
    [N] = {{"n", "a count from 1: 500, 10k, 1M", "arrivals"},
        .kind = A_COUNT, .offset = AT(n), .min = 1, .max = UINT64_C(1000000000000000)},
    [DISTINCT] = {{"distinct", "a share above 0: 0.3 or 30%", "share of arrivals that are distinct"},
        .kind = ITS_OWN, .offset = AT(distinct), .read = read_some},
    [UNIVERSE] = {{"universe", "a count from 1: 500, 10k, 1M", "keys to draw from"},
        .kind = A_COUNT, .offset = AT(universe), .min = 1, .max = UINT64_C(1000000000000000)},
    [ALPHA] = {{"alpha", "a number above 0, up to 20: 1.1", "exponent of zipf"},
        .kind = ITS_OWN, .offset = AT(alpha), .read = read_alpha},
    [FRESH] = {{"fresh", "a share: 0.3 or 30%", "share of arrivals with a unique key"},
        .kind = ITS_OWN, .offset = AT(fresh), .read = read_share},
    [IMPORTANCE] = {{"importance", "a range: 1-50", "importance of the keys"},
        .kind = ITS_OWN, .offset = offsetof(struct described_stream, stream), .read = read_range},
    [BIAS] = {{"bias", "direct, inverse or none", "whether frequent keys have the highest or the lowest importance"},
        .kind = A_WORD, .offset = AT(bias), .words = biases},
    [DRIFT] = {{"drift", "a share and a count: 10%/100k", "share of the keys replaced, and every how many arrivals"},
        .kind = ITS_OWN, .offset = offsetof(struct described_stream, stream), .read = read_drift},
    [LENGTH] = {{"length", "a number of bytes from 16 to 65536", "length of a key"},
        .kind = A_COUNT, .offset = AT(length), .min = 16, .max = 65536},
    [SEED] = {{"seed", "a whole number below 2^64", "seed of the draws"},
        .kind = A_COUNT, .offset = AT(seed), .min = 0, .max = UINT64_MAX},
#undef AT
};
/* clang-format on */

#define ALL (HAS(ROWS) - 1)

/* In the order of enum weir_stream_kind. */
static const struct named kinds[] = {
    {{.name = "uniform"}, ALL & ~HAS(ALPHA)},
    {{.name = "zipf"}, ALL & ~HAS(DISTINCT)},
    {{.name = "endless"}, ALL & ~(HAS(ALPHA) | HAS(BIAS) | HAS(DISTINCT))},
};
static const struct named *const names[] = {&kinds[WEIR_STREAM_UNIFORM], &kinds[WEIR_STREAM_ZIPF],
                                            &kinds[WEIR_STREAM_ENDLESS], NULL};

static void begin(void *record)
{
    struct described_stream *d = record;

    d->stream = (struct weir_stream){.kind = (uint64_t)(d->is.of - kinds),
                                     .n = d->is.of == &kinds[WEIR_STREAM_ENDLESS] ? 0 : 1000000,
                                     .distinct = 0.6,
                                     .alpha = 1,
                                     .length = 19};
}

/* Does a uniform stream relate frequency to importance? */
static bool is_biased(const struct weir_stream *s)
{
    return s->kind == WEIR_STREAM_UNIFORM && s->bias != WEIR_BIAS_NONE;
}

static void model_biased(const struct weir_stream *s, double n, double keys, double fresh,
                         struct stream_model *m)
{
    model_by_importance(m, n, keys, fresh, s->lo, s->hi + 1.0, s->bias == WEIR_BIAS_INVERSE);
}

/* The share of distinct keys among the draws, at this number of draws per key. */
static double distinct_share(const struct weir_stream *s, double draws, double per_key)
{
    struct stream_model m;

    if (!is_biased(s))
        return -expm1(-per_key) / per_key;
    model_biased(s, draws, draws / per_key, 0, &m);
    return model_distinct(&m, draws) / draws;
}

/* Draws per key for the given share, by bisection. */
static double solve(const struct weir_stream *s, double draws)
{
    double lo = 1e-12, hi = 1 / s->distinct + 1;

    for (int i = 0; i < 200; i++) {
        double x = (lo + hi) / 2;

        if (distinct_share(s, draws, x) > s->distinct)
            lo = x;
        else
            hi = x;
    }
    return hi;
}

/* Set what was not given: the number of keys, or the share of fresh ones. */
static void complete(struct weir_stream *s, uint32_t given)
{
    double drawn = (double)s->n * (1 - s->fresh);

    if (s->kind == WEIR_STREAM_ENDLESS && !(given & HAS(FRESH)))
        s->fresh = s->universe ? 0 : 1;
    else if (s->kind == WEIR_STREAM_ZIPF && !s->universe)
        s->universe = s->n;
    else if (s->kind == WEIR_STREAM_UNIFORM && !s->universe && s->distinct < 1)
        s->universe = (uint64_t)(drawn / solve(s, drawn)) + 1;
}

static bool plan(void *record, struct weir_error *error)
{
    struct described_stream *d = record;
    struct weir_stream *s = &d->stream;

    if (s->bias && !s->important)
        return error_refuse(error, WEIR_ERROR_CONFLICTING_PARAMETERS,
                            "bias= needs importance=; it relates importance to frequency", NULL);
    if (s->kind == WEIR_STREAM_ENDLESS && (d->is.given & HAS(FRESH)) && s->fresh < 1 &&
        !s->universe)
        return error_refuse(error, WEIR_ERROR_CONFLICTING_PARAMETERS,
                            "fresh= below 1 needs universe=, the number of keys to draw from",
                            NULL);
    if (is_biased(s) && s->lo == 0)
        return error_refuse(
            error, WEIR_ERROR_CONFLICTING_PARAMETERS,
            "bias= of a uniform stream needs importance= from 1 on: the frequency of "
            "a key is proportional to it",
            NULL);
    complete(s, d->is.given);
    if (is_biased(s) && s->universe < (uint64_t)s->hi - s->lo + 1)
        return error_refuse(error, WEIR_ERROR_CONFLICTING_PARAMETERS,
                            "bias= of a uniform stream needs universe= with at least as "
                            "many keys as importances",
                            NULL);
    if (s->drift > 0 && s->universe == 0)
        return error_refuse(error, WEIR_ERROR_CONFLICTING_PARAMETERS,
                            "drift= needs universe=, the number of keys to draw from", NULL);
    if (s->drift > 0 && (double)s->universe * ((double)s->n / (double)s->drift_every + 2) > 4e18)
        return error_refuse(
            error, WEIR_ERROR_INVALID_VALUE,
            "drift= needs more keys than the maximum of 4e18; use a longer interval", NULL);
    return true;
}

static const struct grammar stream_grammar = {
    .noun = "stream",
    .example = "n=1M",
    .names = names,
    .rows = rows,
    .n = ROWS,
    .seed = SEED,
    .begin = begin,
    .plan = plan,
};

/* In a description a colon and commas separate what spaces separate in a spec. */
enum weir_status weir_stream_read(struct weir_stream *s, size_t size, const char *spec,
                                  struct weir_error *error)
{
    char copy[SPEC];
    struct described_stream d;

    if (strlen(spec ? spec : "") >= sizeof copy)
        return error_say(error, WEIR_ERROR_BAD_CONFIG, "the description of the stream is too long",
                         NULL);
    text_copy(copy, sizeof copy, spec ? spec : "");
    for (char *c = copy; *c; c++)
        *c = *c == ':' || *c == ',' ? ' ' : *c;
    if (!spec_read(&stream_grammar, copy, &d, error) || !plan(&d, error))
        return WEIR_BAD_CONFIG;
    d.stream.size = size;
    caller_struct_return(s, size, &d.stream, sizeof d.stream);
    return WEIR_OK;
}

/* ---- the model ---- */

static void make_model(const struct weir_stream *s, struct stream_model *m)
{
    double n = s->n ? (double)s->n : INFINITY, keys = (double)s->universe;

    if (s->universe == 0 || s->fresh == 1)
        model_endless(m, n);
    else if (s->kind == WEIR_STREAM_ZIPF)
        model_zipf(m, n, keys, s->alpha, s->fresh);
    else if (is_biased(s))
        model_biased(s, n, keys, s->fresh, m);
    else
        model_uniform(m, n, keys, s->fresh);
    if (!s->important || (is_biased(s) && m->bins))
        return;
    if (s->bias && s->kind == WEIR_STREAM_ZIPF)
        model_bias(m, s->lo, s->hi + 1.0, s->bias == WEIR_BIAS_INVERSE);
    else
        model_importance(m, s->lo, s->hi + 1.0);
}

enum weir_status stream_model(const struct weir_stream *s, struct stream_model *m,
                              struct weir_error *error)
{
    struct weir_stream known;
    struct caller_struct what = {"weir_stream", sizeof known,
                                 UP_TO_MEMBER(struct weir_stream, drift_every)};
    enum weir_status status = caller_struct_copy(&known, what, s, error);

    if (status != WEIR_OK)
        return status;
    if (known.drift > 0)
        return error_say(error, WEIR_ERROR_NO_MODEL,
                         "there is no model of streams with drift=; measure filters with "
                         "'weir eval --synthetic'",
                         NULL);
    make_model(&known, m);
    return WEIR_OK;
}

double weir_stream_distinct(const struct weir_stream *s)
{
    struct stream_model m;

    return stream_model(s, &m, NULL) == WEIR_OK ? model_distinct(&m, m.n) : NAN;
}
