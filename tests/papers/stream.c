/* stream.c - see stream.h. */
#include "papers/stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BATCH 1024

__extension__ typedef unsigned __int128 u128;

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value && *value && *value != '0';
}

bool is_quick(void)
{
    return is_set("WEIR_QUICK");
}

bool is_long(void)
{
    return is_set("WEIR_LONG") && !is_quick();
}

struct source source_of(uint64_t seed)
{
    struct source s = {seed * 2 + 1, ~seed};

    for (int i = 0; i < 8; i++)
        source_next(&s);
    return s;
}

uint64_t source_next(struct source *s)
{
    const u128 factor = (u128)UINT64_C(0x2d99787926d46932) << 64 | UINT64_C(0xa4c1f32680f70c55);
    u128 state = ((u128)s->hi << 64 | s->lo) * factor + UINT64_C(0x5851f42d4c957f2d);

    *s = (struct source){(uint64_t)state, (uint64_t)(state >> 64)};
    return s->hi;
}

uint64_t source_below(struct source *s, uint64_t n)
{
    return (uint64_t)((u128)source_next(s) * n >> 64);
}

weir_filter *open_filter(const char *format, ...)
{
    char spec[256];
    struct weir_error error;
    weir_filter *w;
    va_list args;

    va_start(args, format);
    vsnprintf(spec, sizeof spec, format, args);
    va_end(args);
    if (weir_open(&w, spec, &error) != WEIR_OK)
        fail_msg("%s: %s", spec, error.text);
    return w;
}

/* U (1 - exp(-n/U)) increases with U from 0 to n: bisect its logarithm. */
double uniform_keys(double n, double distinct)
{
    double lo = log(n) - 40, hi = log(n) + 40;

    for (int i = 0; i < 100; i++) {
        double keys = exp((lo + hi) / 2);

        if (-keys * expm1(-n / keys) < distinct * n)
            lo = log(keys);
        else
            hi = log(keys);
    }
    return exp(lo);
}

struct tally {
    uint64_t all[2], wrong[2]; /* of the new, of the repeated records */
};

static void show_batch(weir_filter *w, struct source *s, uint64_t keys, uint8_t *truth, size_t n,
                       struct tally *t)
{
    uint64_t number[BATCH];
    struct weir_key key[BATCH];
    uint8_t verdict[BATCH];

    for (size_t i = 0; i < n; i++) {
        number[i] = source_below(s, keys);
        __builtin_prefetch(truth + number[i] / 8, 1);
        key[i] = weir_hash(w, &number[i], sizeof number[i]);
    }
    weir_observe_many(w, key, n, verdict);
    for (size_t i = 0; i < n; i++) {
        uint8_t bit = (uint8_t)(1u << number[i] % 8);
        bool seen = truth[number[i] / 8] & bit;

        truth[number[i] / 8] |= bit;
        t->all[seen]++;
        t->wrong[seen] += verdict[i] != seen;
    }
}

struct rates show_uniform(weir_filter *w, uint64_t n, double distinct, uint64_t seed)
{
    uint64_t keys = (uint64_t)uniform_keys((double)n, distinct);
    struct source s = source_of(seed);
    struct tally t = {{0, 0}, {0, 0}};
    uint8_t *truth = calloc(keys / 8 + 1, 1);

    assert_non_null(truth);
    for (uint64_t left = n; left > 0;) {
        size_t now = left < BATCH ? left : BATCH;

        show_batch(w, &s, keys, truth, now, &t);
        left -= now;
    }
    free(truth);
    return (struct rates){(double)t.wrong[0] / (double)t.all[0],
                          (double)t.wrong[1] / (double)t.all[1]};
}

struct weir_key fresh_key(const weir_filter *w, const struct fresh *f, uint64_t number)
{
    struct weir_key key = weir_hash(w, &number, sizeof number);

    if (f->importance) /* positions use the upper bits, which are unrelated */
        key.importance = f->importance[(key.lo ^ key.hi) % DEALT];
    return key;
}

static void make_keys(const weir_filter *w, struct fresh *f, struct weir_key *key, size_t n)
{
    for (size_t i = 0; i < n; i++)
        key[i] = fresh_key(w, f, f->next++);
}

static uint64_t count_seen(const uint8_t *verdict, size_t n)
{
    uint64_t seen = 0;

    for (size_t i = 0; i < n; i++)
        seen += verdict[i];
    return seen;
}

/* Observe n new keys, or only ask for them; returns how many were reported as seen. */
static uint64_t run_fresh(weir_filter *w, struct fresh *f, uint64_t n, bool asking)
{
    struct weir_key key[BATCH];
    uint8_t verdict[BATCH];
    uint64_t seen = 0;

    while (n > 0) {
        size_t now = n < BATCH ? n : BATCH;

        make_keys(w, f, key, now);
        if (asking)
            weir_ask_many(w, key, now, verdict);
        else
            weir_observe_many(w, key, now, verdict);
        seen += count_seen(verdict, now);
        n -= now;
    }
    return seen;
}

uint64_t show_fresh(weir_filter *w, struct fresh *f, uint64_t n)
{
    return run_fresh(w, f, n, false);
}

uint64_t ask_fresh(weir_filter *w, struct fresh *f, uint64_t n)
{
    return run_fresh(w, f, n, true);
}

void assert_within(const char *what, double actual, double expected, double share, double distance)
{
    double off = fabs(actual - expected);

    if (!(off <= share * fabs(expected) || off <= distance))
        fail_msg("%s: %.6g, should be %.6g (within %g %% or %g)", what, actual, expected,
                 100 * share, distance);
}
