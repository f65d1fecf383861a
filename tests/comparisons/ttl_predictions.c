/* ttl_predictions.c - weir_predict_ttl(), compared with filters.
 *
 * New keys arrive at random times, with log-uniform TTLs. One in 100 has one of three exact TTLs
 * instead, and is looked up at half of it, and when the filter may forget it at the earliest. Loads
 * are live keys per slot: the mean TTL times the rate, divided by all slots. */
#include "papers/stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WEIR_UNSTABLE
#include <weir/plan.h>

#define TTLS 3
#define PROBE_EVERY 100
#define STRANGERS_EVERY 4
#define LINES 1024
#define TIMES (is_quick() ? 10 : 40) /* the longest TTL */
#define PROBES_MAX 100000

/* Measured differences are at most 1.6 points, and 2.9 for a group. */
#define TOLERANCE (is_quick() ? 0.05 : 0.025)
#define GROUP_TOLERANCE (is_quick() ? 0.1 : 0.05)

struct settings {
    const char *parameters;
    double fpr, load;
    uint64_t min, max;   /* milliseconds */
    const char *stream;  /* or NULL */
    uint32_t importance; /* keys have 0 to this */
};

/* All probes of a TTL, in order of arrival. */
struct probes {
    uint64_t ttl, n, asked[2]; /* at half, and at the end */
    uint64_t *at;
    struct weir_key *key;
    uint8_t *group;
    uint64_t of_group[2][WEIR_TTL_GROUPS], seen[2][WEIR_TTL_GROUPS]; /* of those asked */
};

/* Keys that never arrive, and are looked up at all times. */
struct strangers {
    uint64_t n, seen;
};

static double uniform(struct source *s)
{
    return ldexp((double)(source_next(s) >> 11) + 1, -53);
}

/* The quarter of the classes: with percentile and with a range, classes are equal parts. */
static uint8_t group_of(const struct settings *s, uint64_t slots, uint32_t importance)
{
    double class = floor(importance / (s->importance + 1.0) * (double)slots);

    return s->importance ? (uint8_t)(class * WEIR_TTL_GROUPS / (double)slots) : 0;
}

/* Look up the probes that are due, before the clock moves on. */
static void ask_due(weir_filter *w, struct probes *p, bool late, uint64_t now)
{
    const uint64_t age[2] = {p->ttl / 2, late ? p->ttl : p->ttl * 3 / 4};

    for (int i = 0; i < 2; i++)
        for (; p->asked[i] < p->n && p->at[p->asked[i]] + age[i] <= now; p->asked[i]++) {
            const uint8_t group = p->group[p->asked[i]];

            p->of_group[i][group]++;
            p->seen[i][group] += weir_ask(w, p->key[p->asked[i]]);
        }
}

static void add_probe(struct probes *p, uint64_t now, struct weir_key key, uint8_t group)
{
    assert_true(p->n < PROBES_MAX);
    p->at[p->n] = now;
    p->key[p->n] = key;
    p->group[p->n++] = group;
}

static void run(weir_filter *w, const struct settings *s, double rate, uint64_t slots, bool late,
                struct probes *probes, struct strangers *strangers)
{
    const double ratio = (double)s->max / (double)s->min, end = TIMES * (double)s->max;
    struct source source = source_of(31);
    double time = 1e9; /* milliseconds */

    for (uint64_t i = 0; time < 1e9 + end; i++, time -= log(uniform(&source)) / rate) {
        uint64_t now = (uint64_t)time;
        uint64_t ttl = (uint64_t)((double)s->min * pow(ratio, uniform(&source)));
        struct weir_key key = weir_hash(w, &i, sizeof i);
        struct probes *p = &probes[i / PROBE_EVERY % TTLS];
        bool is_probe = i % PROBE_EVERY == 0 && time > 1e9 + 2 * (double)s->max;
        uint8_t seen;

        key.importance = (uint32_t)source_below(&source, s->importance + UINT64_C(1));
        for (int t = 0; t < TTLS; t++)
            ask_due(w, &probes[t], late, now);
        if (i % STRANGERS_EVERY == 0 && time > 1e9 + 2 * (double)s->max) {
            const uint64_t other = ~i;
            strangers->n++;
            strangers->seen += weir_ask(w, weir_hash(w, &other, sizeof other));
        }
        weir_observe_many_ttl(w, &key, &now, is_probe ? &p->ttl : &ttl, 1, &seen);
        if (is_probe)
            add_probe(p, now, key, group_of(s, slots, key.importance));
    }
}

static bool agrees(const char *what, double ttl, double said, double came, double tolerance)
{
    bool ok = fabs(said - came) <= tolerance;

    if (!ok || getenv("WEIR_SHOW"))
        fprintf(stderr, "  %s, TTL %.0f: predicted %.4f, measured %.4f%s\n", what, ttl, said, came,
                ok ? "" : " (differs)");
    return ok;
}

static bool compare_probes(const struct probes *p, const struct weir_ttl_prediction *said)
{
    static const char *const ages[] = {"half", "end"};
    bool ok = true;

    for (int i = 0; i < 2; i++) {
        const double *share = i == 0 ? said->seen_half : said->seen;
        uint64_t n = 0, seen = 0;

        for (uint32_t g = 0; g < WEIR_TTL_GROUPS; g++) {
            const double of = (double)p->of_group[i][g];
            char what[32];

            n += p->of_group[i][g];
            seen += p->seen[i][g];
            if (g >= said->groups)
                continue;
            snprintf(what, sizeof what, "group %u, %s", g + 1, ages[i]);
            ok &= agrees(what, (double)p->ttl, share[g + 1], (double)p->seen[i][g] / of,
                         GROUP_TOLERANCE);
        }
        ok &= agrees(ages[i], (double)p->ttl, share[0], (double)seen / (double)n, TOLERANCE);
    }
    return ok;
}

/* The error is a limit: below capacity, lines have wider fingerprints. */
static bool compare_error(const struct strangers *s, const struct weir_ttl_prediction *said,
                          double load)
{
    const double n = (double)s->n, error = (double)s->seen / n, noise = 4 * sqrt(said->fpr / n);

    if (getenv("WEIR_SHOW"))
        fprintf(stderr, "  error: predicted %.6f, measured %.6f\n", said->fpr, error);
    return error < 1.03 * said->fpr + noise && (load < 1 || error > 0.97 * said->fpr - noise);
}

static bool is_predicted(const struct settings *s)
{
    const double min = (double)s->min, max = (double)s->max;
    const double mean = max > min ? (max - min) / log(max / min) : min;
    struct probes probes[TTLS] = {
        {.ttl = s->min}, {.ttl = (uint64_t)sqrt(min * max)}, {.ttl = s->max}};
    struct weir_ttl_prediction said;
    struct weir_stream stream, *known = s->stream ? &stream : NULL;
    struct strangers strangers = {0, 0};
    struct weir_error error;
    uint64_t slots;
    char spec[200], config[WEIR_SPEC_MAX];
    bool ok = true;

    snprintf(spec, sizeof spec, "recent seed=5 memory=%d fpr=%g ttl=%llums-%llums%s", LINES * 64,
             s->fpr, (unsigned long long)s->min, (unsigned long long)s->max, s->parameters);
    weir_filter *w = open_filter("%s", spec);
    weir_config(w, config, sizeof config);
    assert_true(weir_spec_number(config, "slots", &slots));
    if (known)
        assert_int_equal(weir_stream_read(known, sizeof *known, s->stream, &error), WEIR_OK);
    const double rate = s->load * (double)slots * LINES / mean;
    for (int t = 0; t < TTLS; t++) {
        probes[t].at = calloc(PROBES_MAX, sizeof *probes[t].at);
        probes[t].key = calloc(PROBES_MAX, sizeof *probes[t].key);
        probes[t].group = calloc(PROBES_MAX, 1);
    }
    run(w, s, rate, slots, strstr(s->parameters, "late") != NULL, probes, &strangers);
    if (getenv("WEIR_SHOW"))
        fprintf(stderr, "%s, load %g\n", spec, s->load);
    for (int t = 0; t < TTLS; t++) {
        assert_int_equal(weir_predict_ttl(&said, sizeof said, spec, known, 1000 * rate,
                                          (double)probes[t].ttl, &error),
                         WEIR_OK);
        ok &= compare_probes(&probes[t], &said);
        free(probes[t].at);
        free(probes[t].key);
        free(probes[t].group);
    }
    ok &= compare_error(&strangers, &said, s->load);
    if (!ok)
        fprintf(stderr, "%s, load %g: not as predicted\n", spec, s->load);
    weir_close(w);
    return ok;
}

TEST(retention_by_ttl_and_importance_is_predicted)
{
    static const struct settings settings[] = {
        {"", 0.01, 0.5, 4000, 512000, NULL, 0},
        {"", 0.01, 0.9, 4000, 512000, NULL, 0},
        {"", 0.01, 1.5, 4000, 512000, NULL, 0},
        {"", 0.001, 0.8, 4000, 32000, NULL, 0},
        {"", 0.001, 3, 4000, 32000, NULL, 0},
        {"", 0.01, 0.95, 60000, 60000, NULL, 0},
        {" expire=late", 0.01, 0.8, 4000, 32000, NULL, 0},
        {" importance=percentile", 0.01, 0.6, 4000, 512000, NULL, UINT32_MAX},
        {" importance=percentile", 0.01, 1, 4000, 512000, NULL, UINT32_MAX},
        {" importance=percentile", 0.01, 3, 4000, 512000, NULL, UINT32_MAX},
        {" importance=percentile", 0.001, 1.5, 4000, 32000, NULL, UINT32_MAX},
        {" importance=percentile expire=late", 0.001, 1, 4000, 32000, NULL, UINT32_MAX},
        {" importance=0-9999", 0.01, 1.5, 4000, 32000, "endless:importance=0-9999", 9999},
    };
    int differ = 0;

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        differ += !is_predicted(&settings[i]);
    assert_int_equal(differ, 0);
}

TEST(wrong_questions_are_rejected)
{
    static const struct {
        const char *filter, *stream;
        double rate, ttl;
        enum weir_status status;
        const char *saying;
    } wrong[] = {
        {"recent memory=64K", NULL, 1, 0, WEIR_BAD_CONFIG, "filters with ttl="},
        {"bloom memory=64K ttl=1m", NULL, 1, 0, WEIR_BAD_CONFIG, "no parameter 'ttl'"},
        {"recent memory=64K ttl=1m-1h", NULL, -1, 0, WEIR_BAD_CONFIG, "invalid rate"},
        {"recent memory=64K ttl=1m-1h", NULL, NAN, 0, WEIR_BAD_CONFIG, "invalid rate"},
        {"recent memory=64K ttl=1m-1h", NULL, INFINITY, 0, WEIR_BAD_CONFIG, "invalid rate"},
        {"recent memory=64K ttl=1m-1h", NULL, 1e9, 0, WEIR_BAD_CONFIG, "more than 100 times"},
        {"recent memory=64K ttl=1m-1h", NULL, 1, 59999, WEIR_BAD_CONFIG, "invalid TTL"},
        {"recent memory=64K ttl=1m-1h", NULL, 1, 3600001, WEIR_BAD_CONFIG, "invalid TTL"},
        {"recent memory=64K ttl=1m-1h", NULL, 1, NAN, WEIR_BAD_CONFIG, "invalid TTL"},
        {"recent memory=64K ttl=1m importance=log", NULL, 1, 0, WEIR_BAD_CONFIG, "importances"},
        {"recent memory=64K ttl=1m importance=log", "endless", 1, 0, WEIR_BAD_CONFIG,
         "importances"},
        {"recent memory=64K ttl=1m", "uniform:n=1M", 1, 0, WEIR_UNSUPPORTED, "endless streams"},
        {"recent memory=64K ttl=1m", "endless:universe=1k,fresh=10%", 1, 0, WEIR_UNSUPPORTED,
         "endless streams"},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct weir_ttl_prediction said;
        struct weir_stream stream;
        struct weir_error error = {.text = ""};

        if (wrong[i].stream)
            assert_int_equal(weir_stream_read(&stream, sizeof stream, wrong[i].stream, &error),
                             WEIR_OK);
        assert_int_equal(weir_predict_ttl(&said, sizeof said, wrong[i].filter,
                                          wrong[i].stream ? &stream : NULL, wrong[i].rate,
                                          wrong[i].ttl, &error),
                         wrong[i].status);
        if (!strstr(error.text, wrong[i].saying))
            fail_msg("%s: '%s', not '%s'", wrong[i].filter, error.text, wrong[i].saying);
    }
}

RUN_TESTS("tests")
