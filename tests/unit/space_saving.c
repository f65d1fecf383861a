/* space_saving.c - Space-Saving compared with exact counts: bounds always hold and no heavy key is
 * missed, also after merges; keys may contain any bytes and have any length. */
#include "support/sketches.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

static const double alphas[] = {0, 0.8, 1.0, 1.5};

/* Every count is within its bounds; all keys above the floor are kept. */
static void check(const weir_sketch *s, const struct counted *c)
{
    struct weir_sketch_stats stats = weir_sketch_stats_of(s);
    struct weir_heavy *list = calloc(stats.keys + 1, sizeof *list);

    assert_int_equal(weir_sketch_top(s, list, stats.keys + 1), stats.keys);
    for (size_t i = 0; i < c->universe; i++) {
        struct weir_estimate e = weir_sketch_ask(s, name_of(c, i));

        assert_true(c->exact[i] <= e.count);
        assert_true(c->exact[i] >= e.count - e.error);
        if (c->exact[i] > stats.error)
            assert_true(e.error < e.count);
    }
    for (size_t i = 0; i < stats.keys; i++) {
        assert_true(list[i].error <= list[i].count &&
                    (i == 0 || list[i - 1].count >= list[i].count));
        assert_int_equal(weir_sketch_ask(s, list[i].key).count, list[i].count);
    }
    free(list);
}

TEST(bounds_hold_and_no_heavy_key_is_missed)
{
    for (size_t i = 0; i < 4; i++) {
        struct counted c = counted_of(sized(200000), 20000, alphas[i], 5 + i);
        weir_sketch *s = open_sketch("top keys=300 seed=7");

        show_draws(s, &c, 0, c.n);
        check(s, &c);
        /* proved by Metwally et al.: the floor is at most N / keys */
        assert_true(weir_sketch_stats_of(s).error <= c.n / 300);
        assert_int_equal(weir_sketch_stats_of(s).keys, 300);
        weir_sketch_close(s);
        counted_free(c);
    }
}

TEST(top_lists_the_most_frequent_keys_first)
{
    struct counted c = counted_of(sized(500000), 50000, 1.0, 21);
    weir_sketch *s = open_sketch("top keys=1000 seed=7");
    struct weir_heavy list[20];

    show_draws(s, &c, 0, c.n);
    assert_int_equal(weir_sketch_top(s, list, 20), 20);
    size_t right = 0;
    for (size_t i = 0; i < 20; i++) /* the key of rank i + 1 has the number i */
        for (size_t j = 0; j < 20; j++)
            right += memcmp(list[i].key.data, &c.names[j], 8) == 0;
    assert_true(right >= 19);
    weir_sketch_close(s);
    counted_free(c);
}

TEST(bounds_hold_after_merges)
{
    for (size_t i = 0; i < 4; i++) {
        struct counted c = counted_of(60000, 8000, alphas[i], 31 + i);
        weir_sketch *parts[4];

        for (size_t j = 0; j < 4; j++) {
            parts[j] = open_sketch("top keys=200 seed=7");
            show_draws(parts[j], &c, j * c.n / 4, (j + 1) * c.n / 4);
        }
        assert_int_equal(weir_sketch_merge(parts[0], parts[1], NULL), WEIR_OK);
        assert_int_equal(weir_sketch_merge(parts[2], parts[3], NULL), WEIR_OK);
        assert_int_equal(weir_sketch_merge(parts[0], parts[2], NULL), WEIR_OK);
        assert_int_equal(weir_sketch_stats_of(parts[0]).total, c.n);
        check(parts[0], &c);
        assert_true(weir_sketch_stats_of(parts[0]).error <= 4 * c.n / 200);
        show_draws(parts[0], &c, 0, c.n); /* and it still works */
        for (size_t j = 0; j < c.universe; j++)
            c.exact[j] *= 2;
        check(parts[0], &c);
        for (size_t j = 0; j < 4; j++)
            weir_sketch_close(parts[j]);
        counted_free(c);
    }
}

TEST(bounds_hold_with_weights)
{
    struct counted c = counted_of(30000, 5000, 0.8, 41);
    weir_sketch *s = open_sketch("top keys=150 seed=7");
    uint64_t total = 0;

    memset(c.exact, 0, c.universe * sizeof *c.exact);
    for (size_t i = 0; i < c.n; i++) {
        uint64_t amount = 1 + bits_fold(i, RNG_STEP) % 1500;

        weir_sketch_add(s, name_of(&c, c.draws[i]), amount);
        c.exact[c.draws[i]] += amount;
        total += amount;
    }
    assert_int_equal(weir_sketch_stats_of(s).total, total);
    check(s, &c);
    assert_true(weir_sketch_stats_of(s).error <= total / 150);
    weir_sketch_close(s);
    counted_free(c);
}

/* Keys of 0 to 200 bytes with all byte values: fewer fit, and the bounds hold. The model is a plain
 * array. */
TEST(keys_of_any_bytes_and_length_are_stored_completely)
{
    enum { KEYS = 200 };
    static uint8_t names[KEYS][KEYS];
    uint64_t exact[KEYS] = {0};
    weir_sketch *s = open_sketch("top keys=100 memory=10K seed=7");
    struct rng r = rng_at(9, 9);

    for (size_t i = 0; i < KEYS; i++)
        for (size_t j = 0; j < i; j++)
            names[i][j] = (uint8_t)(j == 0 ? i : rng_next(&r));
    for (size_t i = 0; i < 50000; i++) {
        size_t key = (size_t)(rng_below(&r, KEYS) * rng_below(&r, KEYS) / KEYS);

        exact[key]++;
        weir_sketch_add(s, (struct weir_bytes){names[key], key}, 1);
    }
    assert_true(weir_sketch_stats_of(s).keys < 100 && weir_sketch_stats_of(s).keys > 10);
    assert_int_equal(weir_sketch_stats_of(s).too_long, 0);
    for (size_t i = 0; i < KEYS; i++) {
        struct weir_estimate e = weir_sketch_ask(s, (struct weir_bytes){names[i], i});

        assert_true(exact[i] <= e.count && exact[i] >= e.count - e.error);
    }
    weir_sketch_close(s);
}

TEST(a_key_too_long_for_the_arena_is_reported)
{
    static char longest[4096];
    weir_sketch *s = open_sketch("top keys=10 memory=2K seed=7");

    weir_sketch_add(s, (struct weir_bytes){"a", 1}, 3);
    weir_sketch_add(s, (struct weir_bytes){longest, sizeof longest}, 5);
    assert_int_equal(weir_sketch_stats_of(s).too_long, 5);
    assert_int_equal(weir_sketch_stats_of(s).total, 8);
    assert_int_equal(weir_sketch_ask(s, (struct weir_bytes){"a", 1}).count, 3);
    assert_int_equal(weir_sketch_stats_of(s).keys, 1);
    weir_sketch_close(s);
}

TEST(a_sketch_that_is_not_full_counts_exactly)
{
    struct counted c = counted_of(5000, 99, 1.0, 51);
    weir_sketch *s = open_sketch("top keys=100 seed=7");

    show_draws(s, &c, 0, c.n);
    for (size_t i = 0; i < c.universe; i++) {
        struct weir_estimate e = weir_sketch_ask(s, name_of(&c, i));

        assert_int_equal(e.count, c.exact[i]);
        assert_int_equal(e.error, 0);
    }
    weir_sketch_close(s);
    counted_free(c);
}

RUN_TESTS("top")
