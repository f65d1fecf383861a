/* weir.c - the weir filter against a plain model of it: a list of fingerprints
 * per line, in an array, cut and moved one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "filters/weir.h"
#include "theory/slots.h"

/* ---- the model ---- */

struct model_line {
    uint32_t index, n;
    uint32_t value[64];
};

struct model {
    const weir *w;
    struct model_line *line;
    uint64_t lines;
};

static struct model model_of(const weir *w)
{
    uint64_t lines = w->shape.cells / LINE_BYTES;

    return (struct model){w, calloc(lines, sizeof(struct model_line)), lines};
}

static uint32_t model_slots(const struct model *m, const struct model_line *l)
{
    uint32_t room = LINE_ROOM / line_width[l->index];

    return room < m->w->config.slots ? room : (uint32_t)m->w->config.slots;
}

static uint32_t print_of(struct weir_key key)
{
    uint32_t first = 1 + (uint32_t)bits_scale(key.hi, 255);

    return first << 24 | (uint32_t)((key.hi * 255) >> 40);
}

static int model_find(const struct model_line *l, uint32_t print)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (l->value[i] == print >> (32 - line_width[l->index]))
            return (int)i;
    return -1;
}

static void model_cut(struct model_line *l)
{
    uint32_t by = (uint32_t)line_width[l->index] - line_width[l->index + 1], n = l->n;

    l->index++;
    l->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t value = l->value[i] >> by;

        if (model_find(l, value << (32 - line_width[l->index])) < 0)
            l->value[l->n++] = value;
    }
}

static void model_remove(struct model_line *l, uint32_t at)
{
    memmove(l->value + at, l->value + at + 1, (l->n - at - 1) * sizeof *l->value);
    l->n--;
}

static void model_insert(struct model_line *l, uint32_t at, uint32_t print)
{
    memmove(l->value + at + 1, l->value + at, (l->n - at) * sizeof *l->value);
    l->value[at] = print >> (32 - line_width[l->index]);
    l->n++;
}

static bool model_observe(struct model *m, struct weir_key key, uint32_t depth)
{
    struct model_line *l = &m->line[bits_scale(key.lo, m->lines)];
    uint32_t print = print_of(key);
    int at = model_find(l, print);

    if (at >= 0) {
        if ((uint32_t)at > depth / 2) {
            model_remove(l, (uint32_t)at);
            model_insert(l, depth / 2, print);
        }
        return true;
    }
    while (l->n == model_slots(m, l) && line_width[l->index] > m->w->config.width)
        model_cut(l);
    uint32_t slots = model_slots(m, l);
    if (l->n == slots)
        l->n--;
    model_insert(l, depth < l->n ? depth : l->n, print);
    return false;
}

static void assert_equal_lines(const struct model *m)
{
    for (uint64_t i = 0; i < m->lines; i++) {
        const uint8_t *line = m->w->cells + i * LINE_BYTES;
        const struct model_line *l = &m->line[i];

        assert_int_equal(line_index(line), l->index);
        for (uint32_t s = 0; s < model_slots(m, l); s++)
            assert_int_equal(line_get(line, line_width[l->index], s), s < l->n ? l->value[s] : 0);
    }
}

/* ---- streams ---- */

static weir *open_filter(const char *sentence)
{
    struct weir_error error;
    weir *w;

    if (weir_open(&w, sentence, &error) != WEIR_OK)
        fail_msg("%s", error.text);
    return w;
}

static struct weir_key numbered(const weir *w, uint64_t number)
{
    return weir_hash(w, &number, sizeof number);
}

/* The same numbers again and again, some far more often than others. */
static uint64_t number_at(uint64_t i, uint64_t universe)
{
    struct rng r = rng_at(9, i);
    uint64_t a = rng_below(&r, universe), b = rng_below(&r, universe);

    return a < b ? a : b;
}

#define STREAM 60000

static void follows_the_model(const char *sentence, bool ranked)
{
    weir *w = open_filter(sentence);
    struct model m = model_of(w);

    for (uint64_t i = 0; i < STREAM; i++) {
        struct weir_key key = numbered(w, number_at(i, 4000));

        key.importance = 1 + (uint32_t)(key.lo % 50);
        uint32_t depth = ranked ? (uint32_t)w->config.slots -
                                      importance_class(&w->config.importance, &w->sample,
                                                       key.importance, (uint32_t)w->config.slots)
                                : 0;
        bool expected = model_observe(&m, key, depth);
        assert_int_equal(weir_observe(w, key), expected);
    }
    assert_equal_lines(&m);
    free(m.line);
    weir_close(w);
}

static void every_width_follows_the_model(void **state)
{
    char sentence[64];

    (void)state;
    for (uint32_t i = 0; i < LINE_WIDTHS; i++) {
        snprintf(sentence, sizeof sentence, "weir memory=4K seed=1 width=%u", line_width[i]);
        follows_the_model(sentence, false);
    }
    follows_the_model("weir memory=4K seed=1 fpr=1%", false);
    follows_the_model("weir memory=64 seed=1 width=11 slots=7", false);
}

static void importance_is_the_depth_of_insertion(void **state)
{
    (void)state;
    follows_the_model("weir memory=4K seed=1 width=8 importance=1-50", true);
    follows_the_model("weir memory=4K seed=1 width=13 importance=1-50", true);
    follows_the_model("weir memory=4K seed=1 width=24 importance=log", true);
}

static void both_paths_give_the_same_bytes(void **state)
{
    static const char *const sentences[] = {
        "weir memory=4K seed=1",          "weir memory=4K seed=1 width=8",
        "weir memory=4K seed=1 width=11", "weir memory=4K seed=1 width=14 importance=1-50",
        "weir memory=4K seed=1 width=20", "weir memory=4K seed=1 width=9 importance=percentile",
        "weir memory=4K seed=1 fpr=1%",   "weir memory=4K seed=1 width=12 window=2000",
    };

    (void)state;
#ifdef __x86_64__
    if (!__builtin_cpu_supports("avx2"))
        skip();
    for (size_t c = 0; c < sizeof sentences / sizeof *sentences; c++) {
        weir *a = open_filter(sentences[c]), *b = open_filter(sentences[c]);

        for (uint64_t i = 0; i < STREAM; i++) {
            struct weir_key key = numbered(a, number_at(i, 4000));

            key.importance = 1 + (uint32_t)(key.lo % 50);
            assert_int_equal(weir_paths_plain.ask(a, key), weir_paths_avx2.ask(b, key));
            assert_int_equal(weir_paths_plain.observe(a, key), weir_paths_avx2.observe(b, key));
        }
        assert_memory_equal(a->cells, b->cells, a->shape.cells);
        weir_close(a);
        weir_close(b);
    }
#else
    (void)sentences;
    skip();
#endif
}

/* ---- what it promises ---- */

static void a_stream_that_fits_is_remembered_whole(void **state)
{
    weir *w = open_filter("weir memory=64K seed=2"); /* 1024 lines of 31 slots at the floor */
    uint64_t n = 10000, wrong = 0;

    (void)state;
    for (uint64_t i = 0; i < n; i++)
        wrong += weir_observe(w, numbered(w, i)) == WEIR_SEEN;
    assert_int_equal(wrong, 0); /* 24-bit fingerprints: 10 in 16 million a key at the end */
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(weir_ask(w, numbered(w, i)), WEIR_SEEN);
    weir_close(w);
}

static void the_error_is_that_of_full_lines(void **state)
{
    (void)state;
    for (uint32_t width = 8; width <= 14; width += 2) {
        char sentence[64];
        uint64_t n = 2000000, wrong = 0;

        snprintf(sentence, sizeof sentence, "weir memory=16K seed=2 width=%u", width);
        weir *w = open_filter(sentence);
        for (uint64_t i = 0; i < 200000; i++)
            weir_observe(w, numbered(w, i));
        for (uint64_t i = 0; i < n; i++)
            wrong += weir_ask(w, numbered(w, 1000000 + i)) == WEIR_SEEN;
        double expected = slots_error(width, (uint32_t)w->config.slots);
        /* 3 % is more than four sigma of 4400 events; (1-1/M)^n would miss it at 8 bits */
        assert_true(fabs((double)wrong / (double)n / expected - 1) < 0.06);
        assert_true(fabs(weir_stats(w).error / expected - 1) < 0.001);
        weir_close(w);
    }
}

/* Share of keys of an age, and up to 2000 younger, still seen, over an endless stream of new keys.
 */
static double still_seen(weir *w, uint64_t age)
{
    uint64_t shown = 400000, n = 20000, seen = 0;

    for (uint64_t i = 0; i < shown; i++)
        weir_observe(w, numbered(w, i));
    for (uint64_t i = 0; i < n; i++)
        seen += weir_ask(w, numbered(w, shown - 1 - age + i % 2000)) == WEIR_SEEN;
    return (double)seen / (double)n;
}

static void nine_tenths_as_old_as_three_quarters_of_capacity_are_seen(void **state)
{
    (void)state;
    for (uint32_t width = 10; width <= 20; width += width < 16 ? 2 : 4) {
        char sentence[64];

        snprintf(sentence, sizeof sentence, "weir memory=128K seed=3 width=%u", width);
        weir *w = open_filter(sentence);
        uint64_t capacity = w->shape.cells / LINE_BYTES * w->config.slots;
        assert_true(still_seen(w, capacity * 3 / 4) >= 0.9);
        weir_clear(w);
        assert_true(still_seen(w, capacity * 3 / 2) < 0.1 + slots_error(width, 63));
        weir_close(w);
    }
}

/* ---- windows ---- */

static void what_came_within_the_window_is_seen(void **state)
{
    const uint64_t window = 10000;
    weir *w = open_filter("weir memory=128K width=20 window=10000 seed=4");
    uint64_t late = 0;

    (void)state;
    for (uint64_t i = 0; i < 10 * window; i++) {
        weir_observe(w, numbered(w, i));
        if (i % 997 == 0 && i > 3 * window) {
            for (uint64_t age = 0; age < window; age += 89)
                assert_int_equal(weir_ask(w, numbered(w, i - age)), WEIR_SEEN);
            for (uint64_t age = window + window / 4; age < 3 * window; age += 89)
                late += weir_ask(w, numbered(w, i - age)) == WEIR_SEEN;
        }
    }
    assert_int_equal(w->reg[OVERFLOW], 0);
    assert_true(late <= 2); /* of 14000 asked: the error of 20 bits and 6 slots is 6e-6 */
    weir_close(w);
}

static void a_window_refuses_importance(void **state)
{
    struct weir_error error;
    weir *w;

    (void)state;
    assert_int_equal(weir_open(&w, "weir window=1k importance=1-50", &error), WEIR_BAD_CONFIG);
    assert_string_equal(error.text, "window= and importance= do not go together: the order within "
                                    "a line is either by time or by importance");
}

static void a_line_untouched_for_2_to_the_16_quarters_is_not_young(void **state)
{
    weir *w = open_filter("weir memory=128 window=4 seed=5"); /* two lines, quarters of one */
    struct weir_key here = {0, 1, 1}, there = {UINT64_MAX, UINT64_MAX, 1};

    (void)state;
    weir_observe(w, here);
    for (uint64_t i = 0; i < 65535; i++)
        weir_observe(w, there);
    assert_int_equal(weir_ask(w, here), WEIR_NEW);
    weir_close(w);
}

/* ---- merging ---- */

static void a_merge_has_the_front_of_both(void **state)
{
    weir *a = open_filter("weir memory=16K seed=6 width=12");
    weir *b = open_filter("weir memory=16K seed=6 width=12");
    uint64_t half = 256 * 42 / 2 * 3 / 4;

    (void)state;
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

static void a_merge_of_streams_that_fit_forgets_nothing(void **state)
{
    weir *a = open_filter("weir memory=64K seed=7"), *b = open_filter("weir memory=64K seed=7");

    (void)state;
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

static void keys_aimed_at_one_line_harm_only_that_line(void **state)
{
    weir *w = open_filter("weir memory=64K seed=8");
    uint64_t n = 8000, lost = 0;

    (void)state;
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

static void the_unimportant_do_not_push_out_the_important(void **state)
{
    weir *w = open_filter("weir memory=16K seed=9 width=12 importance=1-50"); /* 10752 slots */
    uint64_t lost = 0;

    (void)state;
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

static void a_flood_of_the_most_important_acts_as_without_importance(void **state)
{
    weir *with = open_filter("weir memory=16K seed=10 importance=1-50");
    weir *without = open_filter("weir memory=16K seed=10");

    (void)state;
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

static void one_key_without_end_changes_nothing(void **state)
{
    weir *w = open_filter("weir memory=4K seed=11");

    (void)state;
    for (uint64_t i = 0; i < 1000; i++)
        weir_observe(w, numbered(w, i));
    weir *before = weir_clone(w);
    for (uint64_t i = 0; i < 100000; i++)
        assert_int_equal(weir_observe(w, numbered(w, 999)), WEIR_SEEN);
    assert_memory_equal(w->cells, before->cells, w->shape.cells);
    weir_close(w);
    weir_close(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width_follows_the_model),
        cmocka_unit_test(importance_is_the_depth_of_insertion),
        cmocka_unit_test(both_paths_give_the_same_bytes),
        cmocka_unit_test(a_stream_that_fits_is_remembered_whole),
        cmocka_unit_test(the_error_is_that_of_full_lines),
        cmocka_unit_test(nine_tenths_as_old_as_three_quarters_of_capacity_are_seen),
        cmocka_unit_test(what_came_within_the_window_is_seen),
        cmocka_unit_test(a_window_refuses_importance),
        cmocka_unit_test(a_line_untouched_for_2_to_the_16_quarters_is_not_young),
        cmocka_unit_test(a_merge_has_the_front_of_both),
        cmocka_unit_test(a_merge_of_streams_that_fit_forgets_nothing),
        cmocka_unit_test(keys_aimed_at_one_line_harm_only_that_line),
        cmocka_unit_test(the_unimportant_do_not_push_out_the_important),
        cmocka_unit_test(a_flood_of_the_most_important_acts_as_without_importance),
        cmocka_unit_test(one_key_without_end_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
