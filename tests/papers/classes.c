/* classes.c - predictions of theory/stable.h for the filters of Bhoraskar et al. 2013, per class of
 * importance, compared with the filters in that paper's set-up: 16 KB, 100,000 records of
 * importance 1 to 50, K=5, P=10, M=7, about 10, 30 or 50 % repeats. Keys are uniform, or Zipf with
 * importance independent of frequency, increasing with it, or decreasing. SBF runs on the same
 * streams.
 *
 * 100,000 records contain few repeats per class, and the classes of the few most frequent keys are
 * random. So the figures come from seven runs with new draws, in which each key has an importance
 * of every class. Predictions hold within 5 % or 0.2 percentage points. */
#include "papers/stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"
#include "support/zipf.h"

#define RECORDS 100000
#define VALUES 50
#define TOP_MOST 7
#define RUNS 7 /* the importance of a key differs by this much from run to run */

enum bias { EVEN, DIRECT, INVERSE };

struct kind {
    const char *name;
    double alpha; /* 0: uniform */
    double keys, fresh;
    enum bias bias;
};

static const struct kind kinds[] = {
    {"uniform, 10 % repeats", 0, 483000, 0, EVEN},
    {"uniform, 30 % repeats", 0, 131000, 0, EVEN},
    {"uniform, 50 % repeats", 0, 62760, 0, EVEN},
    {"zipf, half fresh", 0.9, 30000, 0.5, EVEN},
    {"zipf, all from 50,000, direct", 0.8, 50000, 0, DIRECT},
    {"zipf, all from 50,000, inverse", 0.8, 50000, 0, INVERSE},
    {"zipf, half fresh, direct", 0.6, 30000, 0.5, DIRECT},
    {"zipf, half fresh, inverse", 0.6, 30000, 0.5, INVERSE},
};
#define KINDS (sizeof kinds / sizeof *kinds)

/* ---- the stream ---- */

struct stream {
    const struct kind *kind;
    struct source source;
    double *upto; /* by rank: cumulative share of records, without new keys */
    uint8_t *shown;
    uint64_t keys, next_fresh, run;
};

static struct stream stream_of(const struct kind *kind, uint64_t run)
{
    struct stream s = {kind, source_of(run), NULL, NULL, (uint64_t)kind->keys, 0, run};

    s.upto = zipf_sums(s.keys, kind->alpha);
    s.shown = calloc(s.keys, 1);
    assert_true(s.upto && s.shown);
    return s;
}

static double unit(struct stream *s)
{
    return (double)source_next(&s->source) / 0x1p64;
}

/* Importance of a key: by its number, or by its rank; new keys are last. By number: the most
 * frequent keys are in the middle of a class, in each run another one. */
static uint32_t importance_of(const struct stream *s, uint64_t number)
{
    double rank = number < s->keys ? (double)number / (double)s->keys : 1;

    if (s->kind->bias == EVEN)
        return 1 + (uint32_t)((number + 3 + s->run * (VALUES / RUNS)) % VALUES);
    return 1 + (uint32_t)((VALUES - 1) * (s->kind->bias == DIRECT ? 1 - rank : rank) + 0.5);
}

/* The number of the next key, and whether it occurred before. */
static uint64_t next_key(struct stream *s, bool *again)
{
    *again = false;
    if (unit(s) < s->kind->fresh)
        return s->keys + s->next_fresh++;
    uint64_t number = zipf_draw(s->upto, s->keys, unit(s));
    *again = s->shown[number];
    s->shown[number] = 1;
    return number;
}

static void model_of(const struct kind *kind, struct stream_model *m)
{
    if (kind->alpha > 0)
        model_zipf(m, RECORDS, kind->keys, kind->alpha, kind->fresh);
    else
        model_uniform(m, RECORDS, kind->keys, kind->fresh);
    if (kind->bias == EVEN)
        model_importance(m, 1, VALUES + 1);
    else /* rounded: the first and last values get half as many keys as others */
        model_bias(m, 1.5, VALUES + 0.5, kind->bias == INVERSE);
}

/* ---- the filter ---- */

struct counts {
    uint64_t fresh, taken; /* new keys, and how many of them were false positives */
    uint64_t again[TOP_MOST + 1], missed[TOP_MOST + 1];
};

static weir_filter *open_as_published(const char *filter, uint32_t classes, unsigned seed)
{
    return open_filter("%s k=5 cell=3 decay=10 memory=16K seed=%u%s", filter, seed,
                       classes > 1 ? " importance=1-50" : "");
}

static void run(const char *filter, const struct kind *kind, uint32_t classes, unsigned turn,
                struct counts *counts)
{
    weir_filter *w = open_as_published(filter, classes, turn);
    struct stream s = stream_of(kind, turn);

    for (int i = 0; i < RECORDS; i++) {
        bool again;
        uint64_t number = next_key(&s, &again);
        struct weir_key key = weir_hash(w, &number, sizeof number);

        key.importance = importance_of(&s, number);
        bool seen = weir_observe(w, key) == WEIR_SEEN;
        uint32_t class =
            importance_class(&w->config.importance, &w->sample, key.importance, classes);
        counts->fresh += !again;
        counts->taken += !again && seen;
        counts->again[class] += again;
        counts->missed[class] += again && !seen;
    }
    free(s.upto);
    free(s.shown);
    weir_close(w);
}

static void predict(const char *filter, const struct kind *kind, uint32_t classes,
                    struct prediction *p)
{
    weir_filter *w = open_as_published(filter, classes, 1);
    struct stream_model m;

    model_of(kind, &m);
    prediction_clear(p);
    assert_true(w->ops->predict(&w->config, &w->shape, &m, p));
    assert_int_equal(p->classes, classes > 1 ? classes : 0);
    weir_close(w);
}

static void holds(const char *filter, const struct kind *kind, const char *what, double predicted,
                  uint64_t wrong, uint64_t all)
{
    char name[120];
    double measured = (double)wrong / (double)all;

    snprintf(name, sizeof name, "%s, %s: %s", filter, kind->name, what);
    printf("%-58s %8.4f predicted, %8.4f measured\n", name, 100 * predicted, 100 * measured);
    assert_within(name, predicted, measured, 0.05, 0.002);
}

static void holds_for(const char *filter, const struct kind *kind, uint32_t classes)
{
    struct counts counts = {0};
    struct prediction p;
    char what[24];
    uint64_t again = 0, missed = 0;

    predict(filter, kind, classes, &p);
    for (unsigned i = 0; i < RUNS; i++)
        run(filter, kind, classes, i, &counts);
    holds(filter, kind, "FPR", p.fpr, counts.taken, counts.fresh);
    for (uint32_t c = 1; c <= classes; c++) {
        snprintf(what, sizeof what, "FNR, class %u", c);
        holds(filter, kind, what, p.class_fnr[c], counts.missed[c], counts.again[c]);
        again += counts.again[c];
        missed += counts.missed[c];
    }
    holds(filter, kind, "FNR", p.fnr, missed, again);
}

static void holds_for_all(const char *filter, uint32_t classes)
{
    for (size_t i = 0; i < KINDS; i += is_quick() ? 4 : 1)
        holds_for(filter, &kinds[i], classes);
}

TEST(sbf_is_predicted)
{
    holds_for_all("sbf", 1);
}

TEST(ibf_2c_is_predicted_in_both_classes)
{
    holds_for_all("ibf-2c", 2);
}

TEST(ibf_mc_is_predicted_in_every_class)
{
    holds_for_all("ibf-mc", 7);
}

TEST(ibf_h_is_predicted_in_every_class)
{
    holds_for_all("ibf-h", 7);
}

RUN_TESTS("tests")
