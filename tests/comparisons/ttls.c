/* ttls.c - recent with ttl= and importance=, compared at equal memory with a span of the shortest
 * TTL, with ttl= alone, and with ibf-mc: the share of missed repeats whose TTL is not over,
 * weighted by importance.
 *
 * TTLs are lognormal per key, and differ by up to 128 times. The median is a multiple of the time
 * in which the line of a full filter is filled. Streams are synthetic: Zipf keys with exponents and
 * drifts that no parameter was tuned for. WEIR_TRACES adds real ones. */
#include "comparisons/traces_in.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define RECORDS 200000
#define STEP 10 /* milliseconds per record */
#define TTL_RATIO 128

struct life_stream {
    char name[64];
    size_t n, keys;
    uint32_t *key;
    uint32_t *importance; /* of each key */
    uint64_t *ttl;
    uint64_t min, max;
};

static double uniform(uint64_t seed, uint64_t i)
{
    struct rng r = rng_at(seed, i);

    return ((double)rng_below(&r, UINT32_MAX) + 1) / ((double)UINT32_MAX + 1);
}

static double gauss(uint64_t seed, uint64_t i)
{
    return sqrt(-2 * log(uniform(seed, 2 * i))) * cos(2 * M_PI * uniform(seed, 2 * i + 1));
}

static void make_stream(struct life_stream *s, const char *name, size_t n, size_t keys)
{
    *s = (struct life_stream){.n = n, .keys = keys};
    snprintf(s->name, sizeof s->name, "%.63s", name);
    s->key = calloc(n, sizeof *s->key);
    s->importance = calloc(keys, sizeof *s->importance);
    s->ttl = calloc(keys, sizeof *s->ttl);
    for (uint64_t k = 0; k < keys; k++)
        s->importance[k] = (uint32_t)fmin(exp(9.2 + 1.5 * gauss(77, k)), 4e9);
}

static void free_stream(struct life_stream *s)
{
    free(s->key);
    free(s->importance);
    free(s->ttl);
}

static void set_ttls(struct life_stream *s, double median)
{
    const double half = sqrt(TTL_RATIO);

    s->min = (uint64_t)(median / half) > 4 ? (uint64_t)(median / half) : 4;
    s->max = s->min * TTL_RATIO;
    for (uint64_t k = 0; k < s->keys; k++) {
        double ttl = median * fmin(fmax(exp(1.2 * gauss(131, k)), 1 / half), half);

        s->ttl[k] = ttl < (double)s->min ? s->min : ttl > (double)s->max ? s->max : (uint64_t)ttl;
    }
}

static int compare_keys(const void *a, const void *b)
{
    const struct record *const *x = a, *const *y = b;

    return strcmp((*x)->key, (*y)->key);
}

/* The keys of a trace, numbered. Where all have the same importance, it is drawn. */
static void make_traced(struct life_stream *s, const struct trace *t)
{
    const struct record **sorted = calloc(t->n, sizeof(struct record *));
    bool important = false;
    size_t keys = 0;

    make_stream(s, t->name, t->n, t->n);
    for (size_t i = 0; i < t->n; i++) {
        sorted[i] = &t->record[i];
        important |= t->record[i].importance != t->record[0].importance;
    }
    qsort(sorted, t->n, sizeof(struct record *), compare_keys);
    for (size_t i = 0; i < t->n; i++) {
        keys += i > 0 && strcmp(sorted[i]->key, sorted[i - 1]->key) != 0;
        s->key[sorted[i] - t->record] = (uint32_t)keys;
        if (important)
            s->importance[keys] = sorted[i]->importance;
    }
    free(sorted);
}

/* Keys with Zipf ranks; a share of the records has keys of its own, and ranks move. */
static void make_zipf(struct life_stream *s, double exponent, double once, double drift,
                      uint64_t seed)
{
    const size_t ranks = 60000;
    double *sum = calloc(ranks, sizeof *sum), all = 0;
    char name[64];

    snprintf(name, sizeof name, "zipf %.2f once %.2f drift %.2f", exponent, once, drift);
    make_stream(s, name, RECORDS, 2 * RECORDS + ranks);
    for (size_t i = 0; i < ranks; i++)
        sum[i] = all += pow((double)i + 1, -exponent);
    for (size_t i = 0, fresh = s->keys; i < s->n; i++) {
        double u = uniform(seed, 2 * i) * all;
        size_t low = 0, high = ranks - 1;

        while (low < high) {
            size_t middle = (low + high) / 2;
            if (sum[middle] < u)
                low = middle + 1;
            else
                high = middle;
        }
        s->key[i] = uniform(seed, 2 * i + 1) < once
                        ? (uint32_t)--fresh
                        : (uint32_t)((low + (size_t)((double)i * drift)) % ranks);
    }
    free(sum);
}

struct life_score {
    double missed, live; /* importance of repeats within their TTL */
    uint64_t seen_dead, dead;
};

static struct life_score score_lives(const struct life_stream *s, const char *spec)
{
    weir_filter *w = open_filter("%s", spec);
    uint64_t *end = calloc(s->keys, sizeof *end);
    struct life_score score = {0};

    for (size_t i = 0; i < s->n; i++) {
        uint32_t k = s->key[i];
        uint64_t now = 1000000 + i * STEP;
        struct weir_key key = weir_hash(w, &k, sizeof k);
        uint8_t seen;

        key.importance = s->importance[k];
        weir_observe_many_ttl(w, &key, &now, &s->ttl[k], 1, &seen);
        if (i >= s->n / 10 && now < end[k]) {
            score.live += s->importance[k];
            score.missed += seen ? 0 : s->importance[k];
        } else if (i >= s->n / 10) {
            score.dead++;
            score.seen_dead += seen;
        }
        end[k] = now + s->ttl[k];
    }
    free(end);
    weir_close(w);
    return score;
}

/* ---- */

enum { OURS, BY_SPAN, WITHOUT_IMPORTANCE, BY_IBF, ONLY_IMPORTANCE, RIVALS };

struct sums {
    double missed[RIVALS];
    uint32_t cases;
};

static size_t distinct(const struct life_stream *s)
{
    bool *known = calloc(s->keys, 1);
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        n += !known[s->key[i]];
        known[s->key[i]] = true;
    }
    free(known);
    return n;
}

static void compare(struct life_stream *s, double fpr, struct sums *sums)
{
    const size_t keys = distinct(s), memory = (size_t)fmax(4096, (double)keys * 2 / 8);
    const double lines = (double)memory / 64 * (fpr < 0.005 ? 32 : 40);

    for (int m = -1; m <= 1; m++) {
        char spec[RIVALS][200];

        set_ttls(s, ldexp((double)s->n * STEP * lines / (double)keys, m));
        unsigned long long min = s->min, max = s->max;
        snprintf(spec[OURS], 200,
                 "recent seed=1 memory=%zu fpr=%g importance=percentile ttl=%llums-%llums", memory,
                 fpr, min, max);
        snprintf(spec[BY_SPAN], 200, "recent seed=1 memory=%zu fpr=%g span=%llums", memory, fpr,
                 min);
        snprintf(spec[WITHOUT_IMPORTANCE], 200, "recent seed=1 memory=%zu fpr=%g ttl=%llums-%llums",
                 memory, fpr, min, max);
        snprintf(spec[BY_IBF], 200, "ibf-mc seed=1 memory=%zu fpr=%g importance=percentile", memory,
                 fpr);
        snprintf(spec[ONLY_IMPORTANCE], 200,
                 "recent seed=1 memory=%zu fpr=%g importance=percentile", memory, fpr);
        for (int i = 0; i < RIVALS; i++) {
            struct life_score score = score_lives(s, spec[i]);

            sums->missed[i] += score.missed / score.live;
            if (getenv("WEIR_SHOW"))
                fprintf(stderr, "%s\t%g\t%d\t%s\t%.4f\t%.5f\n", s->name, fpr, m, spec[i],
                        score.missed / score.live, (double)score.seen_dead / (double)score.dead);
        }
        sums->cases++;
    }
}

static void assert_ratios(const struct sums *s)
{
    if (getenv("WEIR_SHOW"))
        for (int i = 0; i < RIVALS; i++)
            fprintf(stderr, "mean of %u cases: %.4f\n", s->cases, s->missed[i] / s->cases);
    assert_true(s->missed[OURS] <= 0.5 * s->missed[BY_SPAN]);
    assert_true(s->missed[OURS] <= 0.8 * s->missed[WITHOUT_IMPORTANCE]);
    assert_true(s->missed[OURS] <= 0.4 * s->missed[BY_IBF]);
}

static void fewer_important_repeats_are_missed(void **state)
{
    static const double fprs[] = {0.01, 0.001};
    static const struct {
        double exponent, once, drift;
    } kinds[] = {{0.7, 0.1, 0}, {0.95, 0.3, 0.02}, {1.1, 0.5, 0}, {0.85, 0.2, 0.2}};

    (void)state;
    for (size_t f = 0; f < 2; f++) {
        struct sums sums = {0};

        for (size_t i = 0; i < 4; i++) {
            struct life_stream s;
            make_zipf(&s, kinds[i].exponent, kinds[i].once, kinds[i].drift, 1000 + i);
            compare(&s, fprs[f], &sums);
            free_stream(&s);
        }
        assert_ratios(&sums);
    }
}

static void fewer_important_repeats_of_traces_are_missed(void **state)
{
    struct sums sums[2] = {{.cases = 0}};

    (void)state;
    for (size_t i = 0; i < trace_count; i++) {
        struct life_stream s;
        make_traced(&s, &traces[i]);
        compare(&s, 0.01, &sums[0]);
        compare(&s, 0.001, &sums[1]);
        free_stream(&s);
    }
    assert_ratios(&sums[0]);
    assert_ratios(&sums[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fewer_important_repeats_are_missed),
        cmocka_unit_test(fewer_important_repeats_of_traces_are_missed),
    };

    if (getenv("WEIR_TRACES") && *getenv("WEIR_TRACES") && traces_read())
        return cmocka_run_group_tests(tests, NULL, traces_free);
    const struct CMUnitTest synthetic[] = {tests[0]};
    return cmocka_run_group_tests(synthetic, NULL, NULL);
}
