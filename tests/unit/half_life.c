/* half_life.c - counts with half-life=, compared with exact ones: a record counts as 2^-(age /
 * half-life). Steps of 1/256 half-life cost 0.28 %, units less than 0.01 %; halving all counts once
 * per half-life would be 41 % off. */
#include "support/sketches.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sketch/half_life.h"

#define STEP 0.0028 /* 2^(1/256) - 1, rounded up */

static const double alphas[] = {0, 0.8, 1.0, 1.5};

/* The exact counts of draws from..to, just after the last of them. */
static double *exact_of(const struct counted *c, size_t from, size_t to, double half_life)
{
    double *exact = calloc(c->universe, sizeof *exact);

    for (size_t i = from; i < to; i++)
        exact[c->draws[i]] += exp2(-(double)(to - 1 - i) / half_life);
    return exact;
}

static double sum_of(const double *exact, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += exact[i];
    return sum;
}

static void is_near(uint64_t count, double exact)
{
    if ((double)count < exact * (1 - STEP) - 0.001 || (double)count > exact * (1 + STEP) + 1.001)
        fail_msg("count %llu, expected %.3f", (unsigned long long)count, exact);
}

/* ---- in records ---- */

TEST(counts_decay_exponentially_if_all_keys_fit)
{
    static const char *const forms[] = {"top keys=200 seed=3", "count-min memory=1M seed=3"};
    static const int lives[] = {7, 100, 1000, 30000};
    struct counted c = counted_of(20000, 150, 1.0, 5);

    for (size_t i = 0; i < 8; i++) {
        char spec[100];

        snprintf(spec, sizeof spec, "%s half-life=%d", forms[i % 2], lives[i / 2]);
        weir_sketch *s = open_sketch(spec);
        double *exact = exact_of(&c, 0, c.n, lives[i / 2]);
        show_draws(s, &c, 0, c.n);
        for (size_t key = 0; key < c.universe; key++)
            is_near(weir_sketch_ask(s, name_of(&c, key)).count, exact[key]);
        is_near(weir_sketch_stats_of(s).total, sum_of(exact, c.universe));
        free(exact);
        weir_sketch_close(s);
    }
    counted_free(c);
}

static void check_bounds(const weir_sketch *s, const struct counted *c, const double *exact)
{
    for (size_t i = 0; i < c->universe; i++) {
        struct weir_estimate e = weir_sketch_ask(s, name_of(c, i));

        assert_true((double)e.count >= exact[i] * (1 - STEP) - 0.001);
        assert_true((double)(e.count - e.error) <= exact[i] * (1 + STEP) + 0.001);
    }
}

TEST(bounds_of_top_hold_and_its_floor_is_the_remaining_total)
{
    for (size_t i = 0; i < 4; i++) {
        struct counted c = counted_of(60000, 5000, alphas[i], 5 + i);
        weir_sketch *s = open_sketch("top keys=300 seed=7 half-life=5000");
        double *exact = exact_of(&c, 0, c.n, 5000);

        show_draws(s, &c, 0, c.n);
        check_bounds(s, &c, exact);
        assert_true((double)weir_sketch_stats_of(s).error <= sum_of(exact, c.universe) / 300 + 1);
        free(exact);
        weir_sketch_close(s);
        counted_free(c);
    }
}

TEST(fading_counts_of_count_min_are_never_too_low_and_within_the_bound)
{
    static const char *const forms[] = {"", "update=conservative", "layout=line"};

    for (size_t i = 0; i < 12; i++) {
        struct counted c = counted_of(60000, 5000, alphas[i % 4], 5 + i);
        double *exact = exact_of(&c, 0, c.n, 5000);
        char spec[100];
        size_t beyond = 0;

        snprintf(spec, sizeof spec, "count-min memory=16K seed=3 half-life=5000 %s", forms[i / 4]);
        weir_sketch *s = open_sketch(spec);
        show_draws(s, &c, 0, c.n);
        struct weir_sketch_stats stats = weir_sketch_stats_of(s);
        for (size_t key = 0; key < c.universe; key++) {
            double told = (double)weir_sketch_ask(s, name_of(&c, key)).count;

            assert_true(told >= exact[key] * (1 - STEP) - 0.001);
            beyond += told - exact[key] > (double)stats.error + 1;
        }
        assert_true((double)beyond <= (1 - stats.confidence) * (double)c.universe);
        free(exact);
        weir_sketch_close(s);
        counted_free(c);
    }
}

TEST(an_old_heavy_hitter_is_replaced_by_a_new_one)
{
    weir_sketch *s = open_sketch("top keys=10 seed=1 half-life=1000");
    struct weir_heavy first;

    for (int i = 0; i < 100000; i++)
        weir_sketch_add(s, (struct weir_bytes){"old", 3}, 1);
    for (int i = 0; i < 900; i++) /* 1443 of those remained, and soon half of that */
        weir_sketch_add(s, (struct weir_bytes){"new", 3}, 1);
    assert_int_equal(weir_sketch_top(s, &first, 1), 1);
    assert_memory_equal(first.key.data, "old", 3);
    for (int i = 0; i < 500; i++)
        weir_sketch_add(s, (struct weir_bytes){"new", 3}, 1);
    assert_int_equal(weir_sketch_top(s, &first, 1), 1);
    assert_memory_equal(first.key.data, "new", 3);
    for (int i = 0; i < 40000; i++)
        weir_sketch_add(s, (struct weir_bytes){"new", 3}, 1);
    assert_true(weir_sketch_ask(s, (struct weir_bytes){"old", 3}).count <= 1);
    is_near(weir_sketch_ask(s, (struct weir_bytes){"new", 3}).count, 1 / (1 - exp2(-0.001)));
    weir_sketch_close(s);
}

TEST(amounts_decay_like_records_and_saturate)
{
    weir_sketch *s = open_sketch("top keys=10 seed=1 half-life=100");
    struct weir_bytes a = {"a", 1}, b = {"b", 1};

    weir_sketch_add(s, a, 1000000);
    for (int i = 0; i < 300; i++)
        weir_sketch_add(s, b, 0);
    is_near(weir_sketch_ask(s, a).count, 125000);
    weir_sketch_add(s, a, UINT64_MAX);
    assert_true(weir_sketch_ask(s, a).count >= UINT64_C(1) << 36);
    weir_sketch_close(s);
}

/* ---- in time ---- */

#define HOUR UINT64_C(3600000)

TEST(time_passes_only_by_advance)
{
    static const char *const forms[] = {"top keys=10 seed=1 half-life=1h",
                                        "count-min memory=4K seed=1 half-life=60m"};
    struct weir_bytes a = {"a", 1}, b = {"b", 1};
    const uint64_t noon = UINT64_C(1700000000000);

    for (int i = 0; i < 2; i++) {
        weir_sketch *s = open_sketch(forms[i]);

        weir_sketch_add(s, a, 4096);
        weir_sketch_advance(s, noon);
        assert_int_equal(weir_sketch_ask(s, a).count, 4096);
        weir_sketch_advance(s, noon + HOUR);
        weir_sketch_advance(s, noon); /* backwards: ignored */
        assert_int_equal(weir_sketch_ask(s, a).count, 2048);
        weir_sketch_add(s, b, 100);
        is_near(weir_sketch_ask(s, b).count, 100);
        for (uint64_t minute = 1; minute <= 120; minute++)
            weir_sketch_advance(s, noon + HOUR + minute * HOUR / 60);
        is_near(weir_sketch_ask(s, a).count, 512);
        is_near(weir_sketch_ask(s, b).count, 25);
        weir_sketch_advance(s, noon + 12 * HOUR); /* 2^-12: everything is scaled */
        is_near(weir_sketch_ask(s, a).count, 1);
        weir_sketch_advance(s, noon + 100000 * HOUR);
        assert_true(weir_sketch_ask(s, a).count <= 1);
        weir_sketch_advance(s, UINT64_MAX);
        weir_sketch_add(s, a, 7);
        assert_true(weir_sketch_ask(s, a).count - 7 <= 1);
        weir_sketch_close(s);
    }
}

/* ---- merging ---- */

/* With ages in records, the last record of either sketch is the present. */
TEST(merged_counts_add_up_at_the_last_record_of_each)
{
    static const char *const forms[] = {"top keys=200 seed=3 half-life=900",
                                        "count-min memory=1M seed=3 half-life=900"};
    struct counted c = counted_of(20000, 150, 1.0, 8);
    double *first = exact_of(&c, 0, 13500, 900), *second = exact_of(&c, 13500, c.n, 900);

    for (int i = 0; i < 4; i++) {
        weir_sketch *a = open_sketch(forms[i / 2]), *b = open_sketch(forms[i / 2]);
        weir_sketch *into = i % 2 ? b : a, *from = i % 2 ? a : b;

        show_draws(a, &c, 0, 13500);
        show_draws(b, &c, 13500, c.n);
        assert_int_equal(weir_sketch_merge(into, from, NULL), WEIR_OK);
        for (size_t key = 0; key < c.universe; key++)
            is_near(weir_sketch_ask(into, name_of(&c, key)).count, first[key] + second[key]);
        weir_sketch_close(a);
        weir_sketch_close(b);
    }
    free(first);
    free(second);
    counted_free(c);
}

/* With ages in time, the sketch with the earlier time ages to the later one. */
TEST(merged_counts_add_up_at_the_later_time)
{
    static const char *const forms[] = {"top keys=10 seed=1 half-life=1h",
                                        "count-min memory=4K seed=1 half-life=1h"};
    struct weir_bytes a = {"a", 1}, b = {"b", 1};

    for (int i = 0; i < 4; i++) {
        weir_sketch *early = open_sketch(forms[i / 2]), *late = open_sketch(forms[i / 2]);
        weir_sketch *into = i % 2 ? early : late, *from = i % 2 ? late : early;

        weir_sketch_advance(early, 5 * HOUR);
        weir_sketch_add(early, a, 6400);
        weir_sketch_advance(late, 1 * HOUR); /* they began at different times */
        weir_sketch_advance(late, 11 * HOUR);
        weir_sketch_add(late, b, 1000);
        assert_int_equal(weir_sketch_merge(into, from, NULL), WEIR_OK);
        is_near(weir_sketch_ask(into, a).count, 100);
        is_near(weir_sketch_ask(into, b).count, 1000);
        weir_sketch_advance(into, 12 * HOUR);
        is_near(weir_sketch_ask(into, b).count, 500);
        weir_sketch_close(early);
        weir_sketch_close(late);
    }
}

/* A clock at its maximum, from a forged file or a caller who passes nanoseconds. Old counts have
 * decayed to the minimum. */
TEST(the_first_and_the_last_possible_time_can_be_merged)
{
    static const char *const forms[] = {"top keys=10 seed=1 half-life=1ms",
                                        "count-min memory=4K seed=1 half-life=1ms"};
    struct weir_bytes key = {"a", 1};

    for (size_t i = 0; i < 4; i++) {
        weir_sketch *early = open_sketch(forms[i / 2]), *late = open_sketch(forms[i / 2]);
        weir_sketch *into = i % 2 ? early : late;

        weir_sketch_advance(early, 1);
        weir_sketch_advance(early, 12); /* eleven half-lives: its units are large */
        weir_sketch_add(early, key, 1000000);
        weir_sketch_advance(late, 1);
        weir_sketch_add(late, key, 5);
        weir_sketch_advance(late, UINT64_MAX);
        weir_sketch_add(late, key, 7);
        assert_int_equal(weir_sketch_merge(into, i % 2 ? late : early, NULL), WEIR_OK);
        assert_in_range(weir_sketch_ask(into, key).count, 7, 9);
        weir_sketch_close(early);
        weir_sketch_close(late);
    }
}

TEST(bounds_hold_after_merging_fading_counts)
{
    struct counted c = counted_of(60000, 5000, 0.8, 9);
    weir_sketch *a = open_sketch("top keys=300 seed=7 half-life=5000");
    weir_sketch *b = open_sketch("top keys=300 seed=7 half-life=5000");
    double *first = exact_of(&c, 0, 20000, 5000), *second = exact_of(&c, 20000, c.n, 5000);

    show_draws(a, &c, 0, 20000);
    show_draws(b, &c, 20000, c.n);
    assert_int_equal(weir_sketch_merge(a, b, NULL), WEIR_OK);
    for (size_t i = 0; i < c.universe; i++)
        first[i] += second[i];
    check_bounds(a, &c, first);
    free(first);
    free(second);
    weir_sketch_close(a);
    weir_sketch_close(b);
    counted_free(c);
}

/* ---- arithmetic ---- */

TEST(units_are_scaled_by_powers_of_two)
{
    assert_int_equal(fade_scale(1000, 0, false), 1000);
    assert_int_equal(fade_scale(1000, 256, false), 2000);
    assert_int_equal(fade_scale(1000, -256, true), 500);
    assert_int_equal(fade_scale(1001, -256, false), 500);
    assert_int_equal(fade_scale(1001, -256, true), 501);
    assert_int_equal(fade_scale(1000000, 128, false), 1414213);
    assert_int_equal(fade_scale(1000000, -128, true), 707107);
    assert_int_equal(fade_scale(UINT64_MAX, 1, false), UINT64_MAX);
    assert_int_equal(fade_scale(UINT64_MAX, -63 * 256, false), 1);
    assert_int_equal(fade_scale(UINT64_MAX, INT64_MIN / 2, true), 1);
    assert_int_equal(fade_scale(UINT64_MAX, INT64_MIN / 2, false), 0);
    assert_int_equal(fade_scale(1, INT64_MAX / 2, false), UINT64_MAX);
    for (int i = -3000; i <= 3000; i++) {
        double exact = 1e9 * exp2(i / 256.0);

        assert_true(fabs((double)fade_scale(1000000000, i, false) - exact) <= 1 + exact * 1e-15);
    }
}

/* Times stand still, go back, and jump over whole half-lives. */
TEST(a_time_per_key_equals_an_advance_before_each)
{
    static const char *const forms[] = {
        "top keys=50 seed=3 half-life=1h", "count-min memory=64K seed=3 half-life=2s",
        "heavykeeper memory=4K seed=3", "top keys=50 seed=3 half-life=700"};
    struct counted c = counted_of(5000, 150, 1.0, 5);
    static struct weir_bytes keys[5000];
    static uint64_t times[5000];

    for (uint64_t i = 0; i < c.n; i++) {
        keys[i] = name_of(&c, c.draws[i]);
        times[i] = 77 + i / 3 * 7 + (i % 11 == 0 ? 40000 : 0) + i / 1000 * 14 * HOUR;
    }
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        weir_sketch *a = open_sketch(forms[i]), *b = open_sketch(forms[i]);

        weir_sketch_add_many_at(a, keys, NULL, times, c.n);
        for (size_t j = 0; j < c.n; j++) {
            weir_sketch_advance(b, times[j]);
            weir_sketch_add(b, keys[j], 1);
        }
        assert_same_sketch(a, b);
        weir_sketch_close(a);
        weir_sketch_close(b);
    }
    counted_free(c);
}

RUN_TESTS("fade")
