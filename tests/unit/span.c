/* span.c - windows of time: the weir filter told what time it is. */
#include "support/support.h"

#include <string.h>

#include "filter/recent/recent.h"

#define MINUTE UINT64_C(60000)
#define START UINT64_C(1700000000000) /* any time will do to begin with */

/* A key a second for an hour; after each, keys of every age are asked for. */
static void what_came_within_the_span_is_seen(void **state)
{
    weir *w = open_filter("weir memory=64K width=24 span=10m seed=1");
    uint64_t late = 0;

    (void)state;
    for (uint64_t second = 0; second < 3600; second++) {
        weir_advance(w, START + 1000 * second);
        assert_int_equal(weir_observe(w, numbered(w, second)), WEIR_NEW);
        for (uint64_t age = 0; age < 600 && age <= second; age += 37)
            assert_int_equal(weir_ask(w, numbered(w, second - age)), WEIR_SEEN);
        for (uint64_t age = 750; age <= second; age += 37) /* a quarter later */
            late += weir_ask(w, numbered(w, second - age)) == WEIR_SEEN;
    }
    assert_int_equal(late, 0);
    assert_int_equal(w->reg[OVERFLOW], 0);
    weir_close(w);
}

static void without_being_told_no_time_passes(void **state)
{
    weir *w = open_filter("weir memory=64K span=4ms seed=1");

    (void)state;
    for (uint64_t i = 0; i < 5000; i++)
        weir_observe(w, numbered(w, i));
    weir_advance(w, START); /* the beginning: what was shown before is of now */
    for (uint64_t i = 0; i < 5000; i++)
        assert_int_equal(weir_ask(w, numbered(w, i)), WEIR_SEEN);
    weir_close(w);
}

static void a_long_pause_forgets_all_and_a_step_back_nothing(void **state)
{
    weir *w = open_filter("weir memory=64K span=10m seed=1");

    (void)state;
    weir_advance(w, START);
    weir_observe(w, numbered(w, 1));
    weir_advance(w, START + 9 * MINUTE);
    weir_advance(w, START - 100 * MINUTE);
    assert_int_equal(weir_ask(w, numbered(w, 1)), WEIR_SEEN);
    for (uint64_t days = 1; days < 3000; days *= 3) { /* past every 2^16 quarters too */
        weir_advance(w, START + days * 24 * 60 * MINUTE);
        assert_int_equal(weir_ask(w, numbered(w, 1)), WEIR_NEW);
        weir_observe(w, numbered(w, 1));
        assert_int_equal(weir_ask(w, numbered(w, 1)), WEIR_SEEN);
    }
    weir_close(w);
}

static void time_goes_on_after_saving(void **state)
{
    static uint8_t bytes[1 << 17];
    weir *w = open_filter("weir memory=64K span=10m seed=1"), *again;

    (void)state;
    weir_advance(w, START);
    weir_observe(w, numbered(w, 1));
    weir_advance(w, START + 5 * MINUTE);
    weir_observe(w, numbered(w, 2));
    size_t size = weir_save(w, bytes, sizeof bytes);
    assert_int_equal(weir_load(&again, bytes, size, NULL, NULL), WEIR_OK);
    weir_advance(again, START + 13 * MINUTE);
    assert_int_equal(weir_ask(again, numbered(again, 1)), WEIR_NEW);
    assert_int_equal(weir_ask(again, numbered(again, 2)), WEIR_SEEN);
    weir_close(w);
    weir_close(again);
}

static void other_filters_take_no_notice(void **state)
{
    weir *w = open_filter("two-buffer memory=1K seed=1"), *twin = weir_clone(w);

    (void)state;
    weir_advance(w, START);
    assert_memory_equal(w->cells, twin->cells, w->stride);
    weir_close(w);
    weir_close(twin);
}

static void a_span_refuses_what_it_cannot_go_with(void **state)
{
    static const char *const wrong[][2] = {
        {"weir span=10m window=5", "window= and span= do not go together: a window is of records "
                                   "or of time"},
        {"weir span=10m importance=log", "window= and importance= do not go together: the order "
                                         "within a line is either by time or by importance"},
        {"weir span=10", "span=10 does not fit: it takes a time from 4ms to 36500d: 500ms, 10s, "
                         "5m, 2h, 1d"},
        {"weir span=3ms", "span=3ms does not fit: it takes a time from 4ms to 36500d: 500ms, 10s, "
                          "5m, 2h, 1d"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct weir_error error;
        weir *w;

        assert_int_equal(weir_open(&w, wrong[i][0], &error), WEIR_BAD_CONFIG);
        assert_string_equal(error.text, wrong[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_came_within_the_span_is_seen),
        cmocka_unit_test(without_being_told_no_time_passes),
        cmocka_unit_test(a_long_pause_forgets_all_and_a_step_back_nothing),
        cmocka_unit_test(time_goes_on_after_saving),
        cmocka_unit_test(other_filters_take_no_notice),
        cmocka_unit_test(a_span_refuses_what_it_cannot_go_with),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
