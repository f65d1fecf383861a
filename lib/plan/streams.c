/* streams.c - "zipf:n=1M,alpha=1.1" -> a description, and the model of it. */
#include "plan/streams.h"

#include <math.h>
#include <string.h>

#include "sentence/error.h"
#include "sentence/knobs.h"

#define SENTENCE 512

/* ---- the grammar ---- */

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

static const char *const biases[] = {"none", "direct", "inverse", NULL};

enum { N, DISTINCT, UNIVERSE, ALPHA, FRESH, IMPORTANCE, BIAS, LENGTH, SEED, ROWS };

/* clang-format off */
static const struct knob_row rows[ROWS] = {
#define AT(member) offsetof(struct weir_stream, member)
    [N] = {{"n", "a count from 1: 500, 10k, 1M", "arrivals"},
        .kind = A_COUNT, .offset = AT(n), .min = 1, .max = UINT64_C(1000000000000000)},
    [DISTINCT] = {{"distinct", "a share above 0: 0.3 or 30%", "share of arrivals that are distinct"},
        .kind = ITS_OWN, .offset = AT(distinct), .read = read_some},
    [UNIVERSE] = {{"universe", "a count from 1: 500, 10k, 1M", "keys to draw from"},
        .kind = A_COUNT, .offset = AT(universe), .min = 1, .max = UINT64_C(1000000000000000)},
    [ALPHA] = {{"alpha", "a number above 0, up to 20: 1.1", "exponent of zipf"},
        .kind = ITS_OWN, .offset = AT(alpha), .read = read_alpha},
    [FRESH] = {{"fresh", "a share: 0.3 or 30%", "share of arrivals with a key of their own"},
        .kind = ITS_OWN, .offset = AT(fresh), .read = read_share},
    [IMPORTANCE] = {{"importance", "a range: 1-50", "how much keys matter"},
        .kind = ITS_OWN, .offset = 0, .read = read_range},
    [BIAS] = {{"bias", "direct, inverse or none", "whether frequent keys matter most or least"},
        .kind = A_WORD, .offset = AT(bias), .words = biases},
    [LENGTH] = {{"length", "a number of bytes from 16 to 65536", "length of a key"},
        .kind = A_COUNT, .offset = AT(length), .min = 16, .max = 65536},
    [SEED] = {{"seed", "a whole number below 2^64", "seed of the draws"},
        .kind = A_COUNT, .offset = AT(seed), .min = 0, .max = UINT64_MAX},
#undef AT
};
/* clang-format on */

#define ALL ((1u << ROWS) - 1)

static const struct {
    const char *name, *owner;
    uint32_t has;
} kinds[] = {
    [WEIR_UNIFORM] = {"uniform", "a uniform stream", ALL & ~(1u << ALPHA | 1u << BIAS)},
    [WEIR_ZIPF] = {"zipf", "a zipf stream", ALL & ~(1u << DISTINCT)},
    [WEIR_ENDLESS] = {"endless", "an endless stream",
                      ALL & ~(1u << ALPHA | 1u << BIAS | 1u << DISTINCT)},
};
#define KINDS (sizeof kinds / sizeof *kinds)

/* x with (1 - exp(-x)) / x = share, by halves. */
static double solve(double share)
{
    double lo = 1e-12, hi = 1 / share + 1;

    for (int i = 0; i < 200; i++) {
        double x = (lo + hi) / 2;

        if (-expm1(-x) / x > share)
            lo = x;
        else
            hi = x;
    }
    return hi;
}

/* What was not said: how many keys to draw from, or how many are fresh. */
static void complete(struct weir_stream *s, uint32_t given)
{
    double drawn = (double)s->n * (1 - s->fresh);

    if (s->kind == WEIR_ENDLESS && !(given & 1u << FRESH))
        s->fresh = s->universe ? 0 : 1;
    else if (s->kind == WEIR_ZIPF && !s->universe)
        s->universe = s->n;
    else if (s->kind == WEIR_UNIFORM && !s->universe && s->distinct < 1)
        s->universe = (uint64_t)(drawn / solve(s->distinct)) + 1;
}

static enum weir_status refuse(struct weir_error *error, const char *what, const char *why)
{
    return error_say(error, WEIR_BAD_CONFIG, what, why, NULL);
}

enum weir_status weir_stream_read(struct weir_stream *s, const char *sentence,
                                  struct weir_error *error)
{
    char copy[SENTENCE];
    const char *at = copy;
    uint32_t given = 0;
    size_t kind = 0;

    *s = (struct weir_stream){.n = 1000000, .distinct = 0.6, .alpha = 1, .length = 19};
    if (strlen(sentence) >= sizeof copy)
        return refuse(error, "the description of the stream is too long", "");
    text_copy(copy, sizeof copy, sentence);
    for (char *c = copy; *c; c++)
        *c = *c == ':' || *c == ',' ? ' ' : *c;
    struct span name = sentence_word(&at);
    while (kind < KINDS && !span_is(name, kinds[kind].name))
        kind++;
    if (kind == KINDS)
        return error_say(error, WEIR_BAD_CONFIG, "there is no stream '", quote(name).text,
                         "'; there are uniform, zipf and endless, as in uniform:n=1M,distinct=60%",
                         NULL);
    s->kind = kind;
    s->n = kind == WEIR_ENDLESS ? 0 : s->n;
    struct knobs knobs = {kinds[kind].owner, rows, ROWS, kinds[kind].has};
    if (!knobs_read(&knobs, at, s, &given, error))
        return WEIR_BAD_CONFIG;
    if (s->bias && !s->important)
        return refuse(error, "bias= needs importance=", ": it ties that to how often a key comes");
    if (kind == WEIR_ENDLESS && (given & 1u << FRESH) && s->fresh < 1 && !s->universe)
        return refuse(error, "fresh= below 1 needs universe=", ": the keys that others come from");
    complete(s, given);
    return WEIR_OK;
}

/* ---- the model ---- */

void stream_model(const struct weir_stream *s, struct stream_model *m)
{
    double n = s->n ? (double)s->n : INFINITY, keys = (double)s->universe;

    if (s->universe == 0 || s->fresh == 1)
        model_endless(m, n);
    else if (s->kind == WEIR_ZIPF)
        model_zipf(m, n, keys, s->alpha, s->fresh);
    else
        model_uniform(m, n, keys, s->fresh);
    if (!s->important)
        return;
    if (s->bias)
        model_bias(m, s->lo, s->hi + 1.0, s->bias == WEIR_BIAS_INVERSE);
    else
        model_importance(m, s->lo, s->hi + 1.0);
}

double weir_stream_distinct(const struct weir_stream *s)
{
    struct stream_model m;

    stream_model(s, &m);
    return model_distinct(&m, m.n);
}
