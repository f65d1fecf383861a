/* count_min.c - Count-Min compared with exact counts: never too low, and more than (e/w)N too high
 * no more often than its confidence allows; merge, subtraction, saturation. */
#include "support/sketches.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    double alpha;
} laws[] = {{"uniform", 0}, {"zipf 0.8", 0.8}, {"zipf 1.0", 1.0}, {"zipf 1.5", 1.5}};

#define LAWS (sizeof laws / sizeof *laws)

/* Mean error over all keys, after checking the guarantees. */
static double check_bound(const char *spec, const struct counted *c)
{
    weir_sketch *s = open_sketch(spec);
    size_t beyond = 0;
    double sum = 0;

    show_draws(s, c, 0, c->n);
    struct weir_sketch_stats stats = weir_sketch_stats_of(s);
    assert_int_equal(stats.total, c->n);
    for (size_t i = 0; i < c->universe; i++) {
        struct weir_estimate e = weir_sketch_ask(s, name_of(c, i));

        assert_true(e.count >= c->exact[i]);
        beyond += e.count - c->exact[i] > stats.error;
        sum += (double)(e.count - c->exact[i]);
    }
    assert_true((double)beyond <= (1 - stats.confidence) * (double)c->universe);
    weir_sketch_close(s);
    return sum / (double)c->universe;
}

TEST(counts_are_never_too_low_and_within_the_bound)
{
    static const char *const forms[] = {"",
                                        "update=conservative",
                                        "counter=64",
                                        "layout=line",
                                        "layout=line update=conservative counter=64",
                                        "depth=1"};

    for (size_t i = 0; i < LAWS; i++) {
        struct counted c = counted_of(sized(200000), 20000, laws[i].alpha, 5 + i);

        for (size_t j = 0; j < sizeof forms / sizeof *forms; j++) {
            char spec[128];

            snprintf(spec, sizeof spec, "count-min memory=32K seed=3 %s", forms[j]);
            check_bound(spec, &c);
        }
        counted_free(c);
    }
}

/* In one row of w counters, the other keys add (N - own) / w on average. A sketch with an uneven
 * hash, or one that uses half of its counters, fails by far. */
TEST(the_error_of_one_row_is_as_computed)
{
    struct counted c = counted_of(100000, 20000, 0, 11);
    double mean = check_bound("count-min memory=8K depth=1 seed=3", &c);

    assert_true(fabs(mean - 100000.0 / 2048) < 1.0);
    mean = check_bound("count-min memory=8K depth=1 layout=line seed=3", &c);
    assert_true(fabs(mean - 100000.0 / 2048) < 1.0);
    counted_free(c);
}

TEST(conservative_updates_reduce_the_error)
{
    struct counted c = counted_of(sized(200000), 20000, 1.0, 12);
    double plain = check_bound("count-min memory=32K seed=3", &c);
    double careful = check_bound("count-min memory=32K seed=3 update=conservative", &c);

    assert_true(careful < 0.75 * plain);
    counted_free(c);
}

TEST(a_merged_plain_sketch_equals_one_of_all_keys)
{
    static const char *const forms[] = {"count-min memory=8K seed=3",
                                        "count-min memory=8K seed=3 "
                                        "layout=line counter=64 depth=8"};
    struct counted c = counted_of(20000, 3000, 1.0, 13);

    for (size_t i = 0; i < 2; i++) {
        weir_sketch *a = open_sketch(forms[i]), *b = open_sketch(forms[i]);
        weir_sketch *all = open_sketch(forms[i]);

        show_draws(a, &c, 0, 9000);
        show_draws(b, &c, 9000, c.n);
        show_draws(all, &c, 0, c.n);
        assert_int_equal(weir_sketch_merge(a, b, NULL), WEIR_OK);
        assert_same_sketch(a, all);
        weir_sketch_close(a);
        weir_sketch_close(b);
        weir_sketch_close(all);
    }
    counted_free(c);
}

TEST(a_merged_conservative_sketch_is_never_too_low)
{
    const char *spec = "count-min memory=4K seed=3 update=conservative";
    weir_sketch *a = open_sketch(spec), *b = open_sketch(spec);
    struct counted c = counted_of(20000, 3000, 1.0, 14);

    show_draws(a, &c, 0, 9000);
    show_draws(b, &c, 9000, c.n);
    assert_int_equal(weir_sketch_merge(a, b, NULL), WEIR_OK);
    for (size_t i = 0; i < c.universe; i++)
        assert_true(weir_sketch_ask(a, name_of(&c, i)).count >= c.exact[i]);
    weir_sketch_close(a);
    weir_sketch_close(b);
    counted_free(c);
}

TEST(different_sketches_are_not_merged)
{
    weir_sketch *a = open_sketch("count-min memory=4K seed=3");
    weir_sketch *b = open_sketch("count-min memory=4K seed=4");
    struct weir_error error;

    assert_int_equal(weir_sketch_merge(a, b, &error), WEIR_MISMATCH);
    assert_non_null(strstr(error.text, "seed=3"));
    assert_non_null(strstr(error.text, "seed=4"));
    weir_sketch_close(a);
    weir_sketch_close(b);
}

TEST(a_weighted_sum_equals_that_of_the_counts)
{
    const struct weir_bytes key = {"key", 3}, other = {"other", 5};
    weir_sketch *a, *b, *c;
    struct weir_error error;

    assert_int_equal(weir_sketch_open(&a, "count-min memory=4K depth=20 seed=1", NULL), WEIR_OK);
    b = weir_sketch_clone(a, NULL);
    c = weir_sketch_clone(a, NULL);
    weir_sketch_add(a, key, 10);
    weir_sketch_add(b, key, 3);
    weir_sketch_add(b, other, 5);
    weir_sketch_add(c, key, 1000000);
    const weir_sketch *both[] = {a, b};
    assert_int_equal(weir_sketch_weigh(c, both, (int64_t[]){2, 7}, 2, &error), WEIR_OK);
    assert_int_equal(weir_sketch_ask(c, key).count, 41);
    assert_int_equal(weir_sketch_ask(c, other).count, 35);
    assert_int_equal(weir_sketch_stats_of(c).total, 76);

    /* one of them is the key itself; a weight may be negative, a count may not */
    assert_int_equal(weir_sketch_weigh(a, both, (int64_t[]){-1, 4}, 2, &error), WEIR_OK);
    assert_int_equal(weir_sketch_ask(a, key).count, 2);
    assert_int_equal(weir_sketch_weigh(a, both, (int64_t[]){1, -1}, 2, &error), WEIR_UNSUPPORTED);
    assert_int_equal(weir_sketch_weigh(a, both, (int64_t[]){INT64_MAX, INT64_MAX}, 2, &error),
                     WEIR_UNSUPPORTED);
    assert_int_equal(weir_sketch_ask(a, key).count, 2);
    assert_int_equal(weir_sketch_weigh(a, NULL, NULL, 0, &error), WEIR_OK);
    assert_int_equal(weir_sketch_ask(a, key).count, 0);
    weir_sketch_close(b);
    assert_int_equal(weir_sketch_open(&b, "count-min memory=4K depth=20 seed=2", NULL), WEIR_OK);
    both[1] = b;
    assert_int_equal(weir_sketch_weigh(c, both, (int64_t[]){1, 1}, 2, &error), WEIR_MISMATCH);
    weir_sketch_close(a);
    weir_sketch_close(b);
    weir_sketch_close(c);
}

TEST(subtracting_undoes_adding)
{
    weir_sketch *a = open_sketch("count-min memory=4K seed=3"), *b = weir_sketch_clone(a, NULL);
    struct counted c = counted_of(5000, 300, 1.0, 15);

    show_draws(a, &c, 0, 4000);
    show_draws(b, &c, 0, 5000);
    for (size_t i = 4000; i < 5000; i++)
        assert_int_equal(weir_sketch_take(b, name_of(&c, c.draws[i]), 1, NULL), WEIR_OK);
    assert_same_sketch(a, b);
    weir_sketch_close(a);
    weir_sketch_close(b);
    counted_free(c);
}

TEST(impossible_subtractions_are_refused)
{
    static const char *const forms[] = {"count-min memory=4K update=conservative", "top memory=4K"};
    struct weir_error error;

    for (size_t i = 0; i < 2; i++) {
        weir_sketch *s = open_sketch(forms[i]);

        weir_sketch_add(s, (struct weir_bytes){"a", 1}, 5);
        assert_int_equal(weir_sketch_take(s, (struct weir_bytes){"a", 1}, 1, &error),
                         WEIR_UNSUPPORTED);
        assert_int_equal(weir_sketch_ask(s, (struct weir_bytes){"a", 1}).count, 5);
        weir_sketch_close(s);
    }
}

TEST(counters_saturate)
{
    static const struct {
        const char *spec;
        uint64_t top;
    } forms[] = {{"count-min memory=64 depth=1 seed=1", UINT32_MAX},
                 {"count-min memory=64 depth=1 seed=1 update=conservative", UINT32_MAX},
                 {"count-min memory=64 depth=2 seed=1 counter=64 layout=line", UINT64_MAX},
                 {"top memory=4K seed=1", UINT64_MAX}};
    struct weir_bytes key = {"a", 1};

    for (size_t i = 0; i < 4; i++) {
        weir_sketch *s = open_sketch(forms[i].spec), *twin;

        weir_sketch_add(s, key, forms[i].top - 1);
        assert_int_equal(weir_sketch_ask(s, key).count, forms[i].top - 1);
        weir_sketch_add(s, key, 1);
        assert_int_equal(weir_sketch_ask(s, key).count, forms[i].top);
        weir_sketch_add(s, key, 1);
        weir_sketch_add(s, key, UINT64_MAX);
        assert_int_equal(weir_sketch_ask(s, key).count, forms[i].top);
        twin = weir_sketch_clone(s, NULL);
        assert_int_equal(weir_sketch_merge(s, twin, NULL), WEIR_OK);
        assert_int_equal(weir_sketch_ask(s, key).count, forms[i].top);
        if (weir_sketch_take(s, key, 5, NULL) == WEIR_OK)
            assert_int_equal(weir_sketch_ask(s, key).count, forms[i].top);
        weir_sketch_close(s);
        weir_sketch_close(twin);
    }
}

TEST(hashed_keys_count_as_their_bytes_do)
{
    weir_sketch *a = open_sketch("count-min memory=4K seed=3 hash=sip"),
                *b = weir_sketch_clone(a, NULL);
    weir_sketch *t = open_sketch("top memory=4K");
    struct weir_error error;

    for (uint64_t i = 0; i < 100; i++) {
        struct weir_key key = weir_sketch_hash(b, &i, sizeof i);
        uint64_t amount = i + 1;

        weir_sketch_add(a, (struct weir_bytes){&i, sizeof i}, amount);
        assert_int_equal(weir_sketch_add_hashed(b, &key, &amount, 1, NULL), WEIR_OK);
        assert_int_equal(weir_sketch_add_hashed(t, &key, NULL, 1, &error), WEIR_UNSUPPORTED);
    }
    assert_same_sketch(a, b);
    weir_sketch_close(a);
    weir_sketch_close(b);
    weir_sketch_close(t);
}

static void refused(const char *spec, const char *expected)
{
    struct weir_error error = {0};
    weir_sketch *s = (weir_sketch *)&error;

    assert_int_equal(weir_sketch_open(&s, spec, &error), WEIR_BAD_CONFIG);
    assert_null(s);
    assert_string_equal(error.text, expected);
}

TEST(impossible_specs_are_refused_with_a_reason)
{
    refused("heavy-keeper",
            "there is no sketch 'heavy-keeper'; there are count-min, top, heavykeeper");
    refused(NULL, "there is no sketch ''; there are count-min, top, heavykeeper");
    refused("top depth=1",
            "top has no parameter 'depth'; it takes memory, keys, half-life, hash, seed");
    refused("top half-life=0",
            "half-life=0: invalid value; use a count of records or a time: 10M, 1h, 7d");
    refused("count-min counter=32 half-life=10M",
            "half-life= requires counter=64, because fading counts are fractions");
    refused("count-min memory=1M error=1%", "count-min takes memory= or error=, not both");
    refused("count-min depth=4 confidence=99%", "count-min takes depth= or confidence=, not both");
    refused("count-min counter=16", "counter=16: invalid value; use 32 or 64");
    refused("count-min layout=line depth=3",
            "layout=line requires depth=1, 2, 4 or 8, because a line is divided evenly");
    refused(
        "top keys=1000 memory=1K",
        "top needs a memory of 128 bytes, and 81 for each of its keys= (104 if keys= is left out)");
}

TEST(error_and_confidence_become_width_and_depth)
{
    weir_sketch *s = open_sketch("count-min error=0.1% confidence=99% seed=1");
    char config[200];

    weir_sketch_config(s, config, sizeof config);
    /* w = ceil(e / 0.001) = 2719, d = ceil(ln 100) = 5, rounded up to a whole line */
    assert_string_equal(config, "count-min memory=54400 depth=5 counter=32 update=plain "
                                "layout=rows hash=xxh3 seed=1");
    weir_sketch_add(s, (struct weir_bytes){"a", 1}, 1000000);
    assert_true(weir_sketch_stats_of(s).error <= 1000 && weir_sketch_stats_of(s).error >= 990);
    assert_true(fabs(weir_sketch_stats_of(s).confidence - (1 - exp(-5))) < 1e-9);
    weir_sketch_close(s);
}

RUN_TESTS("count-min")
