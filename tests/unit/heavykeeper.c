/* heavykeeper.c - HeavyKeeper against exact counts, and its chances against
 * decay^count. */
#include "support/sketches.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double alphas[] = {0.8, 1.0, 1.5};

/* ---- what it finds ---- */

/* How many of the first n keys are the true ones; names go by rank. */
static size_t right_ones(const weir_sketch *s, const struct counted *c, size_t n)
{
    struct weir_heavy list[100];
    size_t right = 0, found = weir_sketch_top(s, list, n);

    for (size_t i = 0; i < found; i++)
        for (size_t j = 0; j < n; j++)
            right += memcmp(list[i].key.data, &c->names[j], 8) == 0;
    return right;
}

static void frequent_keys_are_found_in_little_memory(void **state)
{
    static const size_t least[] = {36, 38, 39}; /* of 40 */

    (void)state;
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

/* None is too high, as no two keys of these share bucket and fingerprint; the
 * first ten lose less than a hundredth. */
static void counts_are_a_little_low_and_without_a_bound(void **state)
{
    (void)state;
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

static void the_list_says_what_asking_says(void **state)
{
    struct counted c = counted_of(20000, 3000, 1.0, 5);
    weir_sketch *s = open_sketch("heavykeeper keys=30 width=100 depth=3 seed=7");
    struct weir_heavy list[40];

    (void)state;
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

/* ---- its chances ---- */

static const struct weir_bytes a = {"a", 1}, b = {"b", 1};

#define SKETCHES 20000

/* The only bucket has a count of one key, then another comes, at once or one by
 * one: 1 if it stays the first one's, less what the other has if not. The mean
 * over many seeds. */
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

/* A count of one is lost with a chance of 0.9, and then the other has one: the
 * mean of -1 and 1 is -0.8. */
static void a_count_of_one_is_lost_with_the_chance_of_decay(void **state)
{
    (void)state;
    assert_true(fabs(left_of(1, 1, false) + 0.8) < 0.02);
}

/* Two tries to lose two: 0.81 * 0.9, and the other has one. */
static void a_count_of_c_is_lowered_with_the_chance_of_decay_to_the_c(void **state)
{
    double both = 0.9 * 0.9 * 0.9;

    (void)state;
    assert_true(fabs(left_of(2, 2, false) - (1 - 2 * both)) < 0.03);
}

static void an_amount_is_as_many_arrivals(void **state)
{
    (void)state;
    assert_true(fabs(left_of(2, 2, true) - (1 - 2 * 0.729)) < 0.03);
    assert_true(fabs(left_of(8, 20, true) - left_of(8, 20, false)) < 0.12);
}

static void a_decay_of_one_wears_down_at_every_try(void **state)
{
    weir_sketch *s = open_sketch("heavykeeper keys=1 width=1 depth=1 seed=1 decay=1");
    weir_sketch *t = weir_sketch_clone(s, NULL);

    (void)state;
    weir_sketch_add(s, a, 1000000);
    weir_sketch_add(t, a, 7);
    weir_sketch_add(s, b, 999999);
    assert_int_equal(weir_sketch_ask(s, b).count, 0);
    weir_sketch_add(s, b, 1);
    assert_int_equal(weir_sketch_ask(s, b).count, 1);
    for (int i = 0; i < 9; i++)
        weir_sketch_add(t, b, 1);
    assert_int_equal(weir_sketch_ask(t, b).count, 3); /* six to wear it down to one */
    weir_sketch_close(s);
    weir_sketch_close(t);
}

static void counts_stop_at_the_most_they_can_be(void **state)
{
    weir_sketch *s = open_sketch("heavykeeper keys=2 width=8 seed=1");

    (void)state;
    weir_sketch_add(s, a, UINT32_MAX - 1);
    weir_sketch_add(s, a, 5);
    assert_int_equal(weir_sketch_ask(s, a).count, UINT32_MAX);
    weir_sketch_add(s, a, UINT64_MAX);
    assert_int_equal(weir_sketch_ask(s, a).count, UINT32_MAX);
    assert_true(weir_sketch_stats_of(s).total == UINT64_MAX);
    weir_sketch_close(s);
}

/* Nothing is worn of a count of 2^32 - 1, and 2^64 tries are soon told. */
static void the_largest_amounts_take_no_time(void **state)
{
    weir_sketch *s = open_sketch("heavykeeper keys=1 width=1 depth=1 seed=1 decay=0.99");

    (void)state;
    weir_sketch_add(s, a, UINT32_MAX);
    for (int i = 0; i < 1000; i++)
        weir_sketch_add(s, b, 1);
    weir_sketch_add(s, b, UINT64_MAX);
    assert_true(weir_sketch_ask(s, a).count == UINT32_MAX);
    weir_sketch_close(s);
}

/* ---- what it cannot do ---- */

static void merging_is_refused_with_a_reason(void **state)
{
    weir_sketch *s = open_sketch("heavykeeper keys=2 width=8 seed=1"),
                *t = weir_sketch_clone(s, NULL);
    struct weir_error error;

    (void)state;
    assert_int_equal(weir_sketch_merge(s, t, &error), WEIR_UNSUPPORTED);
    assert_string_equal(error.text, "heavykeeper cannot be merged: of two keys that met in one "
                                    "bucket it knows only the one that won; count-min, top can be");
    assert_int_equal(weir_sketch_take(s, a, 1, &error), WEIR_UNSUPPORTED);
    weir_sketch_close(s);
    weir_sketch_close(t);
}

static void a_key_too_long_for_the_arena_is_told_of(void **state)
{
    static char longest[4096];
    weir_sketch *s = open_sketch("heavykeeper keys=10 width=8 seed=7");

    (void)state;
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

static void a_spec_that_cannot_be_is_refused(void **state)
{
    weir_sketch *s = open_sketch("heavykeeper keys=100 width=50 depth=7 seed=1");
    char config[200];

    (void)state;
    weir_sketch_config(s, config, sizeof config);
    /* 128 + 100 * 88, up to a line, and 7 * 50 * 8 */
    assert_string_equal(config, "heavykeeper memory=11760 keys=100 depth=7 decay=0.9 hash=xxh3 "
                                "seed=1");
    weir_sketch_close(s);
    refused("heavykeeper memory=1M width=8", "memory= or width=, not both");
    refused("heavykeeper memory=128", "needs a memory of");
    refused("heavykeeper width=1T depth=16", "more memory than 16T");
    refused("heavykeeper decay=0.99991", "up to 0.9999, or 1");
    refused("heavykeeper depth=17", "a depth from 1 to 16");
    refused("heavykeeper half-life=1h", "no parameter 'half-life'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frequent_keys_are_found_in_little_memory),
        cmocka_unit_test(counts_are_a_little_low_and_without_a_bound),
        cmocka_unit_test(the_list_says_what_asking_says),
        cmocka_unit_test(a_count_of_one_is_lost_with_the_chance_of_decay),
        cmocka_unit_test(a_count_of_c_is_lowered_with_the_chance_of_decay_to_the_c),
        cmocka_unit_test(an_amount_is_as_many_arrivals),
        cmocka_unit_test(a_decay_of_one_wears_down_at_every_try),
        cmocka_unit_test(counts_stop_at_the_most_they_can_be),
        cmocka_unit_test(the_largest_amounts_take_no_time),
        cmocka_unit_test(merging_is_refused_with_a_reason),
        cmocka_unit_test(a_key_too_long_for_the_arena_is_told_of),
        cmocka_unit_test(a_spec_that_cannot_be_is_refused),
    };

    return cmocka_run_group_tests_name("heavykeeper", tests, NULL, NULL);
}
