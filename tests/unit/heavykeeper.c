/* heavykeeper.c - HeavyKeeper compared with exact counts, and its probabilities with decay^count.
 */
#include "support/sketches.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double alphas[] = {0.8, 1.0, 1.5};

/* ---- frequent keys ---- */

/* How many of the first n keys are correct; keys are numbered by rank. */
static size_t right_ones(const weir_sketch *s, const struct counted *c, size_t n)
{
    struct weir_heavy list[100];
    size_t right = 0, found = weir_sketch_top(s, list, n);

    for (size_t i = 0; i < found; i++)
        for (size_t j = 0; j < n; j++)
            right += memcmp(list[i].key.data, &c->names[j], 8) == 0;
    return right;
}

TEST(frequent_keys_are_found_in_little_memory)
{
    static const size_t least[] = {36, 38, 39}; /* of 40 */

    for (size_t i = 0; i < 3; i++) {
        struct counted c = counted_of(400000, 50000, alphas[i], 21 + i);
        weir_sketch *s = open_sketch("heavykeeper keys=50 memory=12K seed=7");

        show_draws(s, &c, 0, c.n);
        if (right_ones(s, &c, 40) < least[i])
            fail_msg("zipf %.1f: %zu of 40", alphas[i], right_ones(s, &c, 40));
        assert_int_equal(weir_sketch_stats_of(s).total, c.n);
        assert_int_equal(weir_sketch_stats_of(s).keys, 50);
        weir_sketch_close(s);
        counted_free(c);
    }
}

/* No count is too high, because no two of these keys share bucket and fingerprint; the first ten
 * lose less than 1 %. */
TEST(counts_are_slightly_low_and_have_no_bound)
{
    for (size_t i = 0; i < 3; i++) {
        struct counted c = counted_of(400000, 50000, alphas[i], 21 + i);
        weir_sketch *s = open_sketch("heavykeeper keys=50 memory=12K seed=7");
        double share = 0;

        show_draws(s, &c, 0, c.n);
        for (size_t key = 0; key < c.universe; key++) {
            struct weir_estimate e = weir_sketch_ask(s, name_of(&c, key));

            assert_true(e.count <= c.exact[key] && e.error == WEIR_NO_BOUND);
            share += key < 10 ? (double)e.count / (double)c.exact[key] / 10 : 0;
        }
        assert_true(share > 0.99);
        assert_true(weir_sketch_stats_of(s).error == WEIR_NO_BOUND);
        assert_true(weir_sketch_stats_of(s).confidence == 0);
        weir_sketch_close(s);
        counted_free(c);
    }
}

TEST(top_and_ask_return_the_same_counts)
{
    struct counted c = counted_of(20000, 3000, 1.0, 5);
    weir_sketch *s = open_sketch("heavykeeper keys=30 width=100 depth=3 seed=7");
    struct weir_heavy list[40];

    show_draws(s, &c, 0, c.n);
    assert_int_equal(weir_sketch_top(s, list, 40), 30);
    for (size_t i = 0; i < 30; i++) {
        assert_true(list[i].error == WEIR_NO_BOUND);
        assert_true(i == 0 || list[i - 1].count >= list[i].count);
        assert_int_equal(weir_sketch_ask(s, list[i].key).count, list[i].count);
    }
    weir_sketch_close(s);
    counted_free(c);
}

/* ---- probabilities ---- */

static const struct weir_bytes a = {"a", 1}, b = {"b", 1};

#define SKETCHES 20000

/* One key has a count in the only bucket. Then another key is added, in one call or one at a time.
 * The result is the first key's count if it keeps the bucket, otherwise the negated count of the
 * other; averaged over many seeds. */
static double left_of(uint64_t count, uint64_t others, bool at_once)
{
    double sum = 0;

    for (int seed = 0; seed < SKETCHES; seed++) {
        char spec[100];

        snprintf(spec, sizeof spec, "heavykeeper keys=1 width=1 depth=1 seed=%d", seed);
        weir_sketch *s = open_sketch(spec);
        weir_sketch_add(s, a, count);
        for (uint64_t i = 0; i < (at_once ? 1 : others); i++)
            weir_sketch_add(s, b, at_once ? others : 1);
        uint64_t of_b = weir_sketch_ask(s, b).count;
        sum += of_b ? -(double)of_b : 1;
        weir_sketch_close(s);
    }
    return sum / SKETCHES;
}

/* A count of one is lost with probability 0.9, and then the other key has one: the mean of -1 and 1
 * is -0.8. */
TEST(a_count_of_one_is_lost_with_probability_decay)
{
    assert_true(fabs(left_of(1, 1, false) + 0.8) < 0.02);
}

/* Two attempts to remove a count of two: 0.81 * 0.9, and the other key has one. */
TEST(a_count_of_c_is_lowered_with_probability_decay_to_the_c)
{
    double both = 0.9 * 0.9 * 0.9;

    assert_true(fabs(left_of(2, 2, false) - (1 - 2 * both)) < 0.03);
}

TEST(an_amount_equals_as_many_additions)
{
    assert_true(fabs(left_of(2, 2, true) - (1 - 2 * 0.729)) < 0.03);
    assert_true(fabs(left_of(8, 20, true) - left_of(8, 20, false)) < 0.12);
}

TEST(a_decay_of_one_lowers_a_count_at_every_attempt)
{
    weir_sketch *s = open_sketch("heavykeeper keys=1 width=1 depth=1 seed=1 decay=1");
    weir_sketch *t = weir_sketch_clone(s, NULL);

    weir_sketch_add(s, a, 1000000);
    weir_sketch_add(t, a, 7);
    weir_sketch_add(s, b, 999999);
    assert_int_equal(weir_sketch_ask(s, b).count, 0);
    weir_sketch_add(s, b, 1);
    assert_int_equal(weir_sketch_ask(s, b).count, 1);
    for (int i = 0; i < 9; i++)
        weir_sketch_add(t, b, 1);
    assert_int_equal(weir_sketch_ask(t, b).count, 3); /* six to lower it to one */
    weir_sketch_close(s);
    weir_sketch_close(t);
}

TEST(counts_of_heavykeeper_saturate)
{
    weir_sketch *s = open_sketch("heavykeeper keys=2 width=8 seed=1");

    weir_sketch_add(s, a, UINT32_MAX - 1);
    weir_sketch_add(s, a, 5);
    assert_int_equal(weir_sketch_ask(s, a).count, UINT32_MAX);
    weir_sketch_add(s, a, UINT64_MAX);
    assert_int_equal(weir_sketch_ask(s, a).count, UINT32_MAX);
    assert_true(weir_sketch_stats_of(s).total == UINT64_MAX);
    weir_sketch_close(s);
}

/* A count of 2^32 - 1 never decays, and 2^64 attempts take no time. */
TEST(the_largest_amounts_take_no_time)
{
    weir_sketch *s = open_sketch("heavykeeper keys=1 width=1 depth=1 seed=1 decay=0.99");

    weir_sketch_add(s, a, UINT32_MAX);
    for (int i = 0; i < 1000; i++)
        weir_sketch_add(s, b, 1);
    weir_sketch_add(s, b, UINT64_MAX);
    assert_true(weir_sketch_ask(s, a).count == UINT32_MAX);
    weir_sketch_close(s);
}

/* ---- unsupported calls ---- */

TEST(merging_is_refused_with_a_reason)
{
    weir_sketch *s = open_sketch("heavykeeper keys=2 width=8 seed=1"),
                *t = weir_sketch_clone(s, NULL);
    struct weir_error error;

    assert_int_equal(weir_sketch_merge(s, t, &error), WEIR_UNSUPPORTED);
    assert_string_equal(error.text, "heavykeeper cannot be merged: a bucket contains only one of "
                                    "the keys that it was used for; count-min, top can be");
    assert_int_equal(weir_sketch_take(s, a, 1, &error), WEIR_UNSUPPORTED);
    weir_sketch_close(s);
    weir_sketch_close(t);
}

TEST(a_key_too_long_for_the_arena_is_reported)
{
    static char longest[4096];
    weir_sketch *s = open_sketch("heavykeeper keys=10 width=8 seed=7");

    weir_sketch_add(s, (struct weir_bytes){longest, sizeof longest}, 5);
    assert_int_equal(weir_sketch_stats_of(s).too_long, 5);
    assert_int_equal(weir_sketch_stats_of(s).keys, 0);
    weir_sketch_close(s);
}

static void refused(const char *spec, const char *expected)
{
    struct weir_error error = {0};
    weir_sketch *s;

    assert_int_equal(weir_sketch_open(&s, spec, &error), WEIR_BAD_CONFIG);
    assert_non_null(strstr(error.text, expected));
}

TEST(an_impossible_spec_of_heavykeeper_is_refused)
{
    weir_sketch *s = open_sketch("heavykeeper keys=100 width=50 depth=7 seed=1");
    char config[200];

    weir_sketch_config(s, config, sizeof config);
    /* 128 + 100 * 88, rounded up to a line, and 7 * 50 * 8 */
    assert_string_equal(config, "heavykeeper memory=11760 keys=100 depth=7 decay=0.9 hash=xxh3 "
                                "seed=1");
    weir_sketch_close(s);
    refused("heavykeeper memory=1M width=8", "memory= or width=, not both");
    refused("heavykeeper memory=128", "needs a memory of");
    refused("heavykeeper width=1T depth=16", "more than 16T of memory");
    refused("heavykeeper decay=0.99991", "up to 0.9999, or 1");
    refused("heavykeeper depth=17", "a depth from 1 to 16");
    refused("heavykeeper half-life=1h", "no parameter 'half-life'");
}

RUN_TESTS("heavykeeper")
