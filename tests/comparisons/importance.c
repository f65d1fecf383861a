/* importance.c - the filter recent keeps important keys: compared with the importance-aware filters
 * of Bhoraskar et al. 2013 (k=5, decay=10, cell=3) at 16 KB, on streams of 100,000 records of
 * importance 1 to 50.
 *
 * A share of the records repeats an earlier key. Importance is uniform, or important records are
 * more frequent (direct) or less frequent (inverse), among all records or among repeats only. */
#include "comparisons/side_by_side.h"

#include <stdio.h>
#include <stdlib.h>

#define RECORDS 100000
#define MEMORY 16384
#define VALUES 50
#define IN_REACH 0.2 /* a filter with more than 20 % false positives is useless */

static const char *const others[] = {"ibf-2c", "ibf-mc", "ibf-h"};
#define OTHERS 3

/* ---- streams ---- */

/* The probability of a record of this importance, relative to the most probable one. */
static double even(uint32_t importance)
{
    (void)importance;
    return 1;
}

static double direct(uint32_t importance)
{
    return (double)importance / VALUES;
}

static double inverse(uint32_t importance)
{
    return 1.0 / importance;
}

struct kind {
    const char *name;
    double (*fresh)(uint32_t), (*repeats)(uint32_t);
};

static const struct kind kinds[] = {
    {"uniform", even, even},
    {"direct", direct, direct},
    {"inverse", inverse, inverse},
    {"direct repeats", even, direct},
    {"inverse repeats", even, inverse},
};
#define KINDS (sizeof kinds / sizeof *kinds)

struct stream {
    struct trace trace;
    uint32_t number[RECORDS]; /* keys: the records' and, */
    uint32_t first[RECORDS];  /* by number, the record in which a key first occurred */
    uint32_t keys;
};

static bool passes(struct source *s, double probability)
{
    return (double)source_next(s) / 0x1p64 < probability;
}

static uint32_t fresh_importance(struct source *s, const struct kind *kind)
{
    for (;;) {
        uint32_t importance = 1 + (uint32_t)source_below(s, VALUES);

        if (passes(s, kind->fresh(importance)))
            return importance;
    }
}

static uint32_t known_key(struct source *s, const struct kind *kind, const struct stream *st)
{
    for (;;) {
        uint32_t number = (uint32_t)source_below(s, st->keys);

        if (passes(s, kind->repeats(st->trace.record[st->first[number]].importance)))
            return number;
    }
}

static void add_record(struct stream *st, struct source *s, const struct kind *kind, double repeats)
{
    size_t i = st->trace.n++;
    bool again = st->keys > 0 && passes(s, repeats);

    st->number[i] = again ? known_key(s, kind, st) : st->keys++;
    if (!again)
        st->first[st->number[i]] = (uint32_t)i;
    st->trace.record[i] = (struct record){
        .key = (const char *)&st->number[i],
        .size = sizeof st->number[i],
        .importance = again ? st->trace.record[st->first[st->number[i]]].importance
                            : fresh_importance(s, kind),
    };
}

static struct stream *stream_of(const struct kind *kind, double repeats, uint64_t seed)
{
    struct stream *st = calloc(1, sizeof *st);
    struct source s = source_of(seed);

    assert_non_null(st);
    st->trace.record = calloc(RECORDS, sizeof *st->trace.record);
    assert_non_null(st->trace.record);
    snprintf(st->trace.name, sizeof st->trace.name, "%s, %.0f %% repeats", kind->name,
             100 * repeats);
    while (st->trace.n < RECORDS)
        add_record(st, &s, kind, repeats);
    trace_complete(&st->trace);
    return st;
}

static void stream_free(struct stream *st)
{
    free(st->trace.record);
    free(st);
}

/* ---- the comparison ---- */

/* How many of the other filters could be compared. */
static int compare(const struct kind *kind, double repeats, uint64_t seed)
{
    struct stream *st = stream_of(kind, repeats, seed);
    int made = 0;

    for (int i = 0; i < OTHERS; i++) {
        struct comparison c = {.trace = &st->trace,
                               .other = others[i],
                               .memory = MEMORY,
                               .importance = "1-50",
                               .seed = seed,
                               .most = IN_REACH};

        if (comparison_made(&c)) {
            assert_important_kept(&c);
            made++;
        }
    }
    stream_free(st);
    return made;
}

/* In all 56 comparisons (three seeds) recent is better: false negatives among the top 30 % are 0.35
 * to 0.71 of the other filter's, wFNR 0.46 to 0.77. Most are with ibf-h; ibf-2c is always above 20
 * %. */
TEST(at_equal_error_recent_keeps_more_important_keys)
{
    uint64_t seeds = is_quick() ? 1 : 3;
    int made = 0;

    for (uint64_t seed = 1; seed <= seeds; seed++)
        for (size_t kind = 0; kind < KINDS; kind++)
            for (int repeats = 10; repeats <= 50; repeats += 20)
                made += compare(&kinds[kind], repeats / 100.0, seed);
    assert_true(made >= 15 * (int)seeds);
}

RUN_TESTS("tests")
