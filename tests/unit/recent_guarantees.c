/* recent_guarantees.c - the guarantees of the filter recent (docs/recent.md): streams that fit are
 * remembered completely; error rate, windows, merging, and the worst that a hostile stream can do.
 * comparisons/retention.c tests how long keys are remembered. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>

#include "filter/recent/recent.h"
#include "theory/recent.h"

/* ---- memory and error ---- */

TEST(a_stream_that_fits_is_remembered_completely)
{
    weir_filter *w =
        open_filter("recent memory=64K seed=2"); /* 1024 lines of 31 slots at the narrowest width */
    uint64_t n = 10000, wrong = 0;

    for (uint64_t i = 0; i < n; i++)
        wrong += weir_observe(w, numbered(w, i)) == WEIR_SEEN;
    assert_int_equal(wrong,
                     0); /* 24-bit fingerprints: at the end 10 false positives in 16 million keys */
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(weir_ask(w, numbered(w, i)), WEIR_SEEN);
    weir_close(w);
}

TEST(the_error_is_that_of_full_lines)
{
    for (uint32_t width = 8; width <= 14; width += 2) {
        char spec[64];
        uint64_t n = 2000000, wrong = 0;

        snprintf(spec, sizeof spec, "recent memory=16K seed=2 width=%u", width);
        weir_filter *w = open_filter(spec);
        for (uint64_t i = 0; i < 200000; i++)
            weir_observe(w, numbered(w, i));
        for (uint64_t i = 0; i < n; i++)
            wrong += weir_ask(w, numbered(w, 1000000 + i)) == WEIR_SEEN;
        double expected = slots_error(width, (uint32_t)w->config.slots);
        /* 6 % is four sigma of 4400 events; (1-1/M)^n would fail at 8 bits */
        assert_true(fabs((double)wrong / (double)n / expected - 1) < 0.06);
        assert_true(fabs(weir_stats_of(w).error / expected - 1) < 0.001);
        weir_close(w);
    }
}

/* ---- windows ---- */

TEST(keys_within_the_window_are_seen)
{
    const uint64_t window = 10000;
    weir_filter *w = open_filter("recent memory=128K width=20 window=10000 seed=4");
    uint64_t late = 0;

    for (uint64_t i = 0; i < 10 * window; i++) {
        weir_observe(w, numbered(w, i));
        if (i % 997 == 0 && i > 3 * window) {
            for (uint64_t age = 0; age < window; age += 89)
                assert_int_equal(weir_ask(w, numbered(w, i - age)), WEIR_SEEN);
            for (uint64_t age = window + window / 16; age < 3 * window; age += 89)
                late += weir_ask(w, numbered(w, i - age)) == WEIR_SEEN;
        }
    }
    assert_int_equal(w->reg[OVERFLOW], 0);
    assert_true(late <= 2); /* of 14000 keys: the error with 20 bits and 6 slots is 6e-6 */
    weir_close(w);
}

TEST(a_window_refuses_importance)
{
    struct weir_error error;
    weir_filter *w;

    assert_int_equal(weir_open(&w, "recent window=1k importance=1-50", &error), WEIR_BAD_CONFIG);
    assert_string_equal(error.text, "window= and importance= exclude each other: a line is ordered "
                                    "either by time or by importance");
}

TEST(a_line_unused_for_2_to_the_16_parts_is_old)
{
    weir_filter *w =
        open_filter("recent memory=128 window=16 seed=5"); /* two lines; a part is one record */
    struct weir_key here = {0, 1, 1, 0}, there = {UINT64_MAX, UINT64_MAX, 1, 0};

    weir_observe(w, here);
    for (uint64_t i = 0; i < 65535; i++)
        weir_observe(w, there);
    assert_int_equal(weir_ask(w, here), WEIR_NEW);
    weir_close(w);
}

/* ---- merging ---- */

TEST(a_merge_keeps_the_front_of_both_lists)
{
    weir_filter *a = open_filter("recent memory=16K seed=6 width=12");
    weir_filter *b = open_filter("recent memory=16K seed=6 width=12");
    uint64_t half = 256 * 42 / 2 * 3 / 4;

    for (uint64_t i = 0; i < 50000; i++) {
        weir_observe(a, numbered(a, i));
        weir_observe(b, numbered(b, 1000000 + i));
    }
    assert_int_equal(weir_merge(a, b, NULL), WEIR_OK);
    uint64_t seen = 0;
    for (uint64_t i = 0; i < half; i++) {
        seen += weir_ask(a, numbered(a, 49999 - i));
        seen += weir_ask(a, numbered(a, 1049999 - i));
    }
    assert_true((double)seen / (double)(2 * half) > 0.9);
    weir_close(a);
    weir_close(b);
}

TEST(merging_streams_that_fit_loses_no_key)
{
    weir_filter *a = open_filter("recent memory=64K seed=7"),
                *b = open_filter("recent memory=64K seed=7");

    for (uint64_t i = 0; i < 8000; i++) {
        weir_observe(a, numbered(a, i));
        weir_observe(b, numbered(b, 5000 + i));
    }
    assert_int_equal(weir_merge(a, b, NULL), WEIR_OK);
    for (uint64_t i = 0; i < 13000; i++)
        assert_int_equal(weir_ask(a, numbered(a, i)), WEIR_SEEN);
    weir_close(a);
    weir_close(b);
}

/* ---- hostile streams ---- */

TEST(keys_aimed_at_one_line_affect_only_that_line)
{
    weir_filter *w = open_filter("recent memory=64K seed=8");
    uint64_t n = 8000, lost = 0;

    for (uint64_t i = 0; i < n; i++)
        weir_observe(w, numbered(w, i));
    struct weir_key aimed = numbered(w, 0);
    for (uint64_t i = 0; i < 100000; i++) {
        struct rng r = rng_at(1, i);

        aimed.hi = rng_next(&r);
        weir_observe(w, aimed);
    }
    for (uint64_t i = 0; i < n; i++)
        lost += weir_ask(w, numbered(w, i)) == WEIR_NEW;
    assert_true(lost > 0 && lost <= 31);
    weir_close(w);
}

TEST(unimportant_keys_do_not_evict_important_ones)
{
    weir_filter *w =
        open_filter("recent memory=16K seed=9 width=12 importance=1-50"); /* 10752 slots */
    uint64_t lost = 0;

    for (uint64_t i = 0; i < 4000; i++) {
        struct weir_key key = numbered(w, i);

        key.importance = 50;
        weir_observe(w, key);
    }
    for (uint64_t i = 0; i < 200000; i++) {
        struct weir_key key = numbered(w, 1000000 + i);

        key.importance = 1;
        weir_observe(w, key);
    }
    for (uint64_t i = 0; i < 4000; i++)
        lost += weir_ask(w, numbered(w, i)) == WEIR_NEW;
    assert_int_equal(lost, 0);
    weir_close(w);
}

TEST(a_flood_of_important_keys_acts_as_without_importance)
{
    weir_filter *with = open_filter("recent memory=16K seed=10 importance=1-50");
    weir_filter *without = open_filter("recent memory=16K seed=10");

    for (uint64_t i = 0; i < 50000; i++) {
        struct weir_key key = numbered(with, i);

        key.importance = 1000000;
        weir_observe(with, key);
        weir_observe(without, key);
    }
    assert_memory_equal(with->cells, without->cells, with->shape.cells);
    weir_close(with);
    weir_close(without);
}

TEST(repeating_one_key_changes_nothing)
{
    weir_filter *w = open_filter("recent memory=4K seed=11");

    for (uint64_t i = 0; i < 1000; i++)
        weir_observe(w, numbered(w, i));
    weir_filter *before = weir_clone(w, NULL);
    for (uint64_t i = 0; i < 100000; i++)
        assert_int_equal(weir_observe(w, numbered(w, 999)), WEIR_SEEN);
    assert_memory_equal(w->cells, before->cells, w->shape.cells);
    weir_close(w);
    weir_close(before);
}

RUN_TESTS("tests")
