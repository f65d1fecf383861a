/* span.c - windows of time in the filter recent (span=). */
#include "support/support.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "filter/recent/recent.h"

#define MINUTE UINT64_C(60000)
#define START UINT64_C(1700000000000) /* the first time is arbitrary */

/* One key per second for an hour; after each, keys of every age are looked up. */
static void keys_within_the_span_are_seen(void **state)
{
    weir_filter *w = open_filter("recent memory=64K width=24 span=10m seed=1");
    uint64_t late = 0;

    for (uint64_t second = 0; second < 3600; second++) {
        weir_advance(w, START + 1000 * second);
        assert_int_equal(weir_observe(w, numbered(w, second)), WEIR_NEW);
        for (uint64_t age = 0; age < 600 && age <= second; age += 37)
            assert_int_equal(weir_ask(w, numbered(w, second - age)), WEIR_SEEN);
        for (uint64_t age = 638; age <= second; age += 37) /* a sixteenth later */
            late += weir_ask(w, numbered(w, second - age)) == WEIR_SEEN;
    }
    assert_int_equal(late, 0);
    assert_int_equal(w->reg[OVERFLOW], 0);
    weir_close(w);
}

/* ---- compared with exact times ---- */

#define KEYS 300

/* Random keys, some together, some a large part of a span apart: always seen within the span,
 * always new after 17 sixteenths of it. The span starts at the latest occurrence, or with
 * refresh=no at the latest one that was new. */
static void assert_keeps_its_span(uint64_t span, uint64_t keys, bool refresh)
{
    weir_filter *w = open_filtered("recent memory=64K width=32 span=%" PRIu64 "ms %s seed=1", span,
                                   refresh ? "" : "refresh=no");
    uint64_t from[KEYS] = {0}, now = START, x = 12345;
    uint64_t certain[2] = {0}, between[2] = {0};

    for (uint32_t i = 0; i < 60000; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        uint64_t key = (x >> 33) % keys;
        now += (x >> 50) % (i % 50 == 0 ? span / 10 * 3 + 2 : span / 120 + 2);
        struct weir_key hashed = numbered(w, key);
        uint8_t seen;
        weir_observe_many_at(w, &hashed, &now, 1, &seen);
        uint64_t age = from[key] ? now - from[key] : UINT64_MAX;
        bool old = age > 2 * span || 16 * age >= 17 * span;
        if (age <= span)
            assert_int_equal(seen, WEIR_SEEN);
        else if (old)
            assert_int_equal(seen, WEIR_NEW);
        (age <= span || old ? certain : between)[seen]++;
        if (refresh || !seen)
            from[key] = now;
    }
    /* the case that distinguishes the modes occurred, and so did the others */
    assert_true(certain[0] > 500 && certain[1] > 500);
    assert_true(span <= 50 || between[0] + between[1] > 100); /* few or no whole milliseconds */
    assert_int_equal(weir_stats_of(w).lost, 0);
    weir_close(w);
}

static void a_repeat_renews_a_key(void **state)
{
    assert_keeps_its_span(10 * MINUTE, KEYS, true);
}

static void with_refresh_no_a_repeat_does_not_renew(void **state)
{
    assert_keeps_its_span(10 * MINUTE, KEYS, false);
}

/* For most of them a part is not a whole number of milliseconds. */
static void short_spans_are_exact_to_the_millisecond(void **state)
{
    for (uint64_t span = 4; span <= 50; span++) {
        assert_keeps_its_span(span, 2 * span, true);
        assert_keeps_its_span(span, 2 * span, false);
    }
    assert_refused("recent span=3ms", "span=3ms: invalid value; use a time from 4ms to 36500d: "
                                      "500ms, 10s, 5m, 2h, 1d");
}

/* ---- compared with an exact model of lines ---- */

struct model_line {
    uint32_t n, print[LINE_SLOTS_MAX + 1];
    uint64_t part[LINE_SLOTS_MAX + 1]; /* in which each was observed */
};

static void model_to_front(struct model_line *l, uint32_t from, uint32_t print, uint64_t now)
{
    memmove(l->print + 1, l->print, from * sizeof *l->print);
    memmove(l->part + 1, l->part, from * sizeof *l->part);
    l->print[0] = print;
    l->part[0] = now;
}

/* Observe a key. Keys that are too old are only removed when the line is written. */
static bool model_observe(struct model_line *l, uint32_t print, uint64_t now, uint32_t slots,
                          bool refresh, uint64_t *lost)
{
    uint32_t live = 0, at = 0;

    while (live < l->n && now - l->part[live] <= PARTS)
        live++;
    while (at < live && l->print[at] != print)
        at++;
    if (at < live && !refresh)
        return true;
    l->n = live;
    if (at < live) {
        model_to_front(l, at, print, now);
        return true;
    }
    *lost += live == slots;
    l->n = live < slots ? live + 1 : slots;
    model_to_front(l, l->n - 1, print, now);
    return false;
}

static void assert_equals_model(const weir_filter *w, const struct model_line *l, uint64_t i)
{
    const uint8_t *line = w->cells + i * LINE_BYTES;

    for (uint32_t s = 0; s < w->config.slots; s++) {
        assert_int_equal(line_get(line, 32, s), s < l->n ? l->print[s] : 0);
        if (s < l->n)
            assert_int_equal((line_clock(line) - map_part(line_map(line), s)) % CLOCK_WRAP,
                             l->part[s] % CLOCK_WRAP);
    }
    assert_true(l->n == 0 || map_is_possible(line_map(line), l->n));
}

/* Lines of 32-bit slots are never cut. Some of them overflow. */
static void assert_model(const char *spec, uint64_t keys, bool refresh, uint64_t pause)
{
    enum { LINES = 4 };
    weir_filter *w = open_filtered("recent memory=256 width=32 seed=1 %s", spec);
    const uint64_t length = w->config.window ? w->config.window : w->config.span;
    static struct model_line lines[LINES];
    uint64_t lost = 0, x = 99, now = 0, seen = 0;

    memset(lines, 0, sizeof lines);
    for (uint64_t i = 0; i < 200000; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        struct weir_key key = numbered(w, (x >> 33) % keys);
        struct model_line *l = &lines[bits_scale(key.lo, LINES)];
        if (i > 0)
            now = w->config.window ? i : now + (x >> 50) % (i % 64 == 0 ? pause : 3);
        weir_advance(w, START + now);
        bool expected = model_observe(l, line_print(key.hi), now * PARTS / length,
                                      (uint32_t)w->config.slots, refresh, &lost);
        assert_int_equal(weir_observe(w, key), expected);
        seen += expected;
        if (i % 1000 == 0)
            assert_equals_model(w, l, bits_scale(key.lo, LINES));
    }
    assert_int_equal(w->reg[OVERFLOW], lost);
    assert_true(seen > 2000 && seen < 198000);
    weir_close(w);
}

static void lines_equal_an_exact_model(void **state)
{
    for (uint32_t refresh = 0; refresh < 2; refresh++)
        for (uint64_t length = 5; length < 1000; length = length * 2 + 1) {
            char spec[80];

            snprintf(spec, sizeof spec, "window=%" PRIu64 "%s", length,
                     refresh ? "" : " refresh=no");
            assert_model(spec, 80, refresh, 1);
            snprintf(spec, sizeof spec, "span=%" PRIu64 "ms%s", length,
                     refresh ? "" : " refresh=no");
            assert_model(spec, 80, refresh, length * 5 / 4);
        }
}

/* The same for a window of records: the first is new, and so is the next one after window= records.
 */
static void a_window_without_refresh_starts_at_the_first_record(void **state)
{
    weir_filter *w = open_filter("recent memory=64K width=32 window=1000 refresh=no seed=1");
    uint64_t passed = 0, last = 0;

    for (uint64_t i = 1; i < 20000; i++) {
        if (weir_observe(w, numbered(w, i % 10 ? 10 + i : 0)) == WEIR_SEEN || i % 10)
            continue;
        assert_true(passed == 0 || (i - last > 1000 && i - last <= 1070));
        last = i;
        passed++;
    }
    assert_true(passed >= 16);
    weir_close(w);
}

static void keys_that_were_evicted_early_are_counted(void **state)
{
    weir_filter *w = open_filter("recent memory=4K width=16 span=10m seed=1"), *one;
    uint64_t missed = 0;

    weir_advance(w, START);
    for (uint64_t i = 0; i < 10000; i++)
        weir_observe(w, numbered(w, i));
    for (uint64_t i = 0; i < 10000; i++)
        missed += weir_ask(w, numbered(w, i)) == WEIR_NEW;
    uint64_t lost = weir_stats_of(w).lost; /* except for a few with equal fingerprints */
    assert_true(missed > 7000 && lost > missed - 100 && lost < missed + 100);
    weir_close(w);
    one = open_filter("bloom memory=64 seed=1");
    assert_int_equal(weir_stats_of(one).lost, 0);
    weir_close(one);
}

static void without_advance_no_time_passes(void **state)
{
    weir_filter *w = open_filter("recent memory=64K span=4ms seed=1");

    for (uint64_t i = 0; i < 5000; i++)
        weir_observe(w, numbered(w, i));
    weir_advance(w, START); /* the start: keys observed before it count as observed now */
    for (uint64_t i = 0; i < 5000; i++)
        assert_int_equal(weir_ask(w, numbered(w, i)), WEIR_SEEN);
    weir_close(w);
}

static void a_long_pause_evicts_all_keys_and_a_step_back_none(void **state)
{
    weir_filter *w = open_filter("recent memory=64K span=10m seed=1");

    weir_advance(w, START);
    weir_observe(w, numbered(w, 1));
    weir_advance(w, START + 9 * MINUTE);
    weir_advance(w, START - 100 * MINUTE);
    assert_int_equal(weir_ask(w, numbered(w, 1)), WEIR_SEEN);
    for (uint64_t days = 1; days < 3000; days *= 3) { /* beyond 2^16 parts, too */
        weir_advance(w, START + days * 24 * 60 * MINUTE);
        assert_int_equal(weir_ask(w, numbered(w, 1)), WEIR_NEW);
        weir_observe(w, numbered(w, 1));
        assert_int_equal(weir_ask(w, numbered(w, 1)), WEIR_SEEN);
    }
    weir_close(w);
}

/* Lines that were not used for any number of parts contain old keys, and none of them may appear
 * recent: a line counts parts modulo 2^16. */
static void a_jump_of_any_length_evicts_all_keys(void **state)
{
    weir_filter *w = open_filter("recent memory=4K width=32 span=4s seed=1");
    uint64_t now = START, x = 1;

    weir_advance(w, now);
    for (uint64_t round = 0; round < 3000; round++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        for (uint64_t i = round % 7; i < 40; i += 3)
            weir_observe(w, numbered(w, 40 * (round % 50) + i));
        uint64_t most = round % 3 ? 20 : 140000;
        now += 1000 * (5 + (x >> 33) % most);
        weir_advance(w, now);
        for (uint64_t i = 0; i < 2000; i++)
            assert_int_equal(weir_ask(w, numbered(w, i)), WEIR_NEW);
        assert_true(weir_stats_of(w).fill == 0);
    }
    weir_close(w);
}

static void time_continues_after_saving(void **state)
{
    static uint8_t bytes[1 << 17];
    weir_filter *w = open_filter("recent memory=64K span=10m seed=1"), *again;

    weir_advance(w, START);
    weir_observe(w, numbered(w, 1));
    weir_advance(w, START + 5 * MINUTE);
    weir_observe(w, numbered(w, 2));
    size_t size = weir_save_buffer(w, bytes, sizeof bytes, NULL);
    assert_int_equal(weir_load_buffer(&again, bytes, size, NULL, NULL, NULL), WEIR_OK);
    weir_advance(again, START + 13 * MINUTE);
    assert_int_equal(weir_ask(again, numbered(again, 1)), WEIR_NEW);
    assert_int_equal(weir_ask(again, numbered(again, 2)), WEIR_SEEN);
    weir_close(w);
    weir_close(again);
}

static void other_filters_ignore_advance(void **state)
{
    weir_filter *w = open_filter("two-buffer memory=1K seed=1"), *twin = weir_clone(w, NULL);

    weir_advance(w, START);
    assert_memory_equal(w->cells, twin->cells, w->stride);
    weir_close(w);
    weir_close(twin);
}

static void span_refuses_incompatible_parameters(void **state)
{
    static const char *const wrong[][2] = {
        {"recent span=10m window=5",
         "window= and span= exclude each other; give the window in records or in time"},
        {"recent span=10m importance=log", "window= and importance= exclude each other: a line is "
                                           "ordered either by time or by importance"},
        {"recent span=10", "span=10: invalid value; use a time from 4ms to 36500d: 500ms, 10s, "
                           "5m, 2h, 1d"},
        {"recent refresh=no",
         "refresh=no requires window=, span= or ttl=: it keeps a repeat from extending them"},
        {"recent span=10m refresh=maybe", "refresh=maybe: invalid value; use yes, or no with "
                                          "window=, span= or ttl="},
        {"recent span=3ms", "span=3ms: invalid value; use a time from 4ms to 36500d: 500ms, 10s, "
                            "5m, 2h, 1d"},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct weir_error error;
        weir_filter *w;

        assert_int_equal(weir_open(&w, wrong[i][0], &error), WEIR_BAD_CONFIG);
        assert_string_equal(error.text, wrong[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_within_the_span_are_seen),
        cmocka_unit_test(a_repeat_renews_a_key),
        cmocka_unit_test(with_refresh_no_a_repeat_does_not_renew),
        cmocka_unit_test(short_spans_are_exact_to_the_millisecond),
        cmocka_unit_test(lines_equal_an_exact_model),
        cmocka_unit_test(a_window_without_refresh_starts_at_the_first_record),
        cmocka_unit_test(keys_that_were_evicted_early_are_counted),
        cmocka_unit_test(without_advance_no_time_passes),
        cmocka_unit_test(a_long_pause_evicts_all_keys_and_a_step_back_none),
        cmocka_unit_test(a_jump_of_any_length_evicts_all_keys),
        cmocka_unit_test(time_continues_after_saving),
        cmocka_unit_test(other_filters_ignore_advance),
        cmocka_unit_test(span_refuses_incompatible_parameters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
