/* screens.c - what each screen promises, beside plain models of it. */
#include "screened.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/line.h"
#include "theory/slots.h"

#define DRAWS 20000

static void assert_screen_refused(const char *sentence, const char *expected)
{
    struct weir_error error = {0};
    weir_screen *w;

    assert_int_equal(weir_screen_open(&w, sentence, &error), WEIR_BAD_CONFIG);
    assert_null(w);
    assert_string_equal(error.text, expected);
}

static void assert_completed(const char *sentence, const char *expected)
{
    char config[SENTENCE];
    weir_screen *w;

    assert_int_equal(weir_screen_open(&w, sentence, NULL), WEIR_OK);
    weir_screen_config(w, config, sizeof config);
    assert_string_equal(config, expected);
    weir_screen_close(w);
}

/* ---- sentences ---- */

static void sentences_are_completed(void **state)
{
    (void)state;
    assert_completed("seed=1", "weir memory=1048576 width=20 slots=24 hash=xxh3 seed=1");
    assert_completed("weir memory=1000bit fpr=0.1% seed=1",
                     "weir memory=125 width=15 slots=31 hash=xxh3 seed=1");
    assert_completed("weir memory=64 width=8 window=10k seed=1",
                     "weir memory=64 window=10000 width=8 slots=56 hash=xxh3 seed=1");
    assert_completed(
        "dabf memory=1000bit set=100 seed=1",
        "dabf memory=125 set=100 capacity=1000 theta=1/9 k=1 k-set=6 hash=xxh3 seed=1");
    assert_completed("dabf memory=3003bit theta=50% k=2 k-set=3 set=9 capacity=7 window=5 seed=1",
                     "dabf memory=3003bit set=9 capacity=7 theta=500000000/1000000000 k=2 k-set=3 "
                     "window=5 hash=xxh3 seed=1");
    assert_completed("1bf memory=1000bit set=100 seed=1",
                     "1bf memory=125 set=100 k=6 hash=xxh3 seed=1");
    assert_completed("strict set=10M seed=1 hash=sip",
                     "strict memory=1048576 set=10000000 k=1 hash=sip seed=1");
    assert_completed("none seed=1", "none hash=xxh3 seed=1");
}

static void sentences_are_refused(void **state)
{
    (void)state;
    assert_screen_refused("bloom",
                          "there is no screen 'bloom'; there are weir, dabf, 1bf, strict, none");
    assert_screen_refused("none memory=64", "none has no parameter 'memory'; it takes hash, seed");
    assert_screen_refused("weir width=17", "width= does not fit: it takes 8 to 16, 20, 24 or 32");
    assert_screen_refused("weir width=8 fpr=0.01%",
                          "fpr= cannot be kept with this width; allow more, or leave width out: 32 "
                          "bits reach 2.4e-10");
    assert_screen_refused("dabf theta=0",
                          "theta=0 does not fit: it takes a ratio such as 1/9, or a rate up to 1: "
                          "0.5, 50%");
    assert_screen_refused("dabf theta=1/0",
                          "theta=1/0 does not fit: it takes a ratio such as 1/9, or a rate up to "
                          "1: 0.5, 50%");
    assert_screen_refused("dabf memory=64bit theta=1/99",
                          "theta= leaves one of the two filters without a bit; ask for more "
                          "memory, or a ratio nearer to 1");
    assert_screen_refused("dabf k=0", "k=0 does not fit: it takes a whole number from 1 to 32");
}

static void every_screen_tells_of_itself(void **state)
{
    size_t i = 0;

    (void)state;
    for (; weir_screen_about(i); i++) {
        weir_screen *w;

        assert_int_equal(weir_screen_open(&w, weir_screen_about(i)->name, NULL), WEIR_OK);
        assert_true(strlen(weir_screen_about(i)->idea) > 10);
        assert_non_null(weir_screen_about_knob(i, 1));
        weir_screen_close(w);
    }
    assert_int_equal(i, 5);
    assert_null(weir_screen_about_knob(i, 0));
}

static void assert_chosen(uint64_t memory, bool listed, uint64_t set, const char *sentence,
                          const char *reason)
{
    struct weir_screen_choice c = weir_screen_choose(memory, listed, set);

    assert_string_equal(c.sentence, sentence);
    assert_string_equal(c.reason, reason);
    if (memory < 1 << 20) {
        weir_screen *w;

        assert_int_equal(weir_screen_open(&w, c.sentence, NULL), WEIR_OK);
        weir_screen_close(w);
    }
}

static void a_set_that_is_listed_and_fits_is_held(void **state)
{
    (void)state;
    assert_chosen(65536, true, 31620, "strict set=31620 memory=65536",
                  "the store lists its 31620 keys, and 16 bits for each let through only 0.000349 "
                  "of the others");
    assert_chosen(65536, false, 31620, "weir memory=65536", "the store cannot be listed");
    assert_chosen(31620, true, 31620, "strict set=31620 memory=31620",
                  "the store lists its 31620 keys, and 8 bits for each let through only 0.0217 of "
                  "the others");
    assert_chosen(31619, true, 31620, "weir memory=31619",
                  "the store's 31620 keys do not fit the memory, which has less than 8 bits for "
                  "each");
    assert_chosen(64, true, 0, "strict set=1 memory=64", "the store lists its keys, and has none");
    assert_chosen(UINT64_C(1) << 44, true, UINT64_C(1) << 42,
                  "strict set=1000000000000 memory=17592186044416",
                  "the store lists its 4398046511104 keys, and 32 bits for each let through only "
                  "4.23e-7 of the others");
}

/* ---- those without error ---- */

static void assert_always_right(const char *sentence)
{
    struct counted c = counted_of(DRAWS, 3000, 0.8, 5);
    struct store s = store_of(&c);
    weir_screen *w = open_screen(sentence, &s);
    uint8_t *answers = calloc(DRAWS, 1);

    assert_int_equal(screen_draws(w, &s, 0, DRAWS, 300, answers), 0);
    for (size_t i = 0; i < DRAWS; i++)
        assert_int_equal(answers[i], store_has(&s, c.draws[i]));
    free(answers);
    weir_screen_close(w);
    store_free(&s);
    counted_free(c);
}

static void strict_and_none_never_err(void **state)
{
    (void)state;
    assert_always_right("none seed=1");
    assert_always_right("strict memory=100 set=600 seed=1"); /* far too little: it asks more */
    assert_always_right("strict memory=1K set=600 seed=1");
}

/* 600 members in 1024 bytes: strict asks for them and for the filter's error,
 * 0.0014 of the others; 1bf says member of just those, and asks for nothing. */
static void strict_asks_for_what_1bf_calls_members(void **state)
{
    struct counted c = counted_of(DRAWS, 3000, 0.8, 5);
    struct store s = store_of(&c);
    weir_screen *one = open_screen("1bf memory=1K set=600 seed=1", &s);
    weir_screen *strict = open_screen("strict memory=1K set=600 seed=1", &s);
    uint8_t *answers = calloc(DRAWS, 1);
    uint64_t members = 0;

    (void)state;
    assert_false(weir_screen_wants_set(one));
    screen_draws(one, &s, 0, DRAWS, 300, answers);
    assert_int_equal(s.calls, 0);
    for (size_t i = 0; i < DRAWS; i++) {
        members += store_has(&s, c.draws[i]);
        assert_true(answers[i] == WEIR_MEMBER || !store_has(&s, c.draws[i]));
    }
    screen_draws(strict, &s, 0, DRAWS, 300, answers);
    struct weir_screen_stats of_one = weir_screen_stats(one), of_strict = weir_screen_stats(strict);
    assert_int_equal(of_strict.asked, of_one.members);
    assert_int_equal(of_strict.members, members);
    assert_true(of_one.members >= members && of_one.members < members + DRAWS / 100);
    assert_true(of_one.error > 0.0005 && of_one.error < 0.003);
    assert_true(of_strict.error == 0);
    free(answers);
    weir_screen_close(one);
    weir_screen_close(strict);
    store_free(&s);
    counted_free(c);
}

static void a_batch_without_need_of_the_store_does_not_call_it(void **state)
{
    struct counted c = counted_of(1000, 20, 0.8, 5);
    struct store s = store_of(&c);
    weir_screen *w = open_screen("weir memory=4K seed=1", &s);
    uint8_t *answers = calloc(1000, 1);

    (void)state;
    screen_draws(w, &s, 0, 1000, 1000, answers);
    assert_int_equal(s.calls, 1);
    assert_int_equal(s.asked, 20);
    screen_draws(w, &s, 0, 1000, 100, answers);
    assert_int_equal(s.calls, 1);
    free(answers);
    weir_screen_close(w);
    store_free(&s);
    counted_free(c);
}

/* ---- the verdict cache beside a model ---- */

/* A line as a plain list: prints of 32 bits, of which the width's count. */
struct model_line {
    uint32_t index, n;
    uint32_t print[64];
    bool member[64];
};

struct model {
    struct model_line *lines;
    uint64_t n;
    uint32_t width, slots;
};

static uint32_t model_room(const struct model *m, const struct model_line *l)
{
    uint32_t room = 504 / (line_width[l->index] + 1u);

    return room < m->slots ? room : m->slots;
}

static uint32_t model_find(const struct model_line *l, uint32_t print, uint32_t upto)
{
    uint32_t drop = 32u - line_width[l->index], i = 0;

    while (i < upto && l->print[i] >> drop != print >> drop)
        i++;
    return i;
}

static void model_put(struct model_line *l, uint32_t at, uint32_t print, bool member)
{
    memmove(l->print + at + 1, l->print + at, (l->n - at) * sizeof *l->print);
    memmove(l->member + at + 1, l->member + at, (l->n - at) * sizeof *l->member);
    l->print[at] = print;
    l->member[at] = member;
    l->n++;
}

static void model_take(struct model_line *l, uint32_t at)
{
    l->n--;
    memmove(l->print + at, l->print + at + 1, (l->n - at) * sizeof *l->print);
    memmove(l->member + at, l->member + at + 1, (l->n - at) * sizeof *l->member);
}

static void model_narrow(struct model_line *l)
{
    l->index++;
    for (uint32_t i = 0; i < l->n;)
        if (model_find(l, l->print[i], i) < i)
            model_take(l, i);
        else
            i++;
}

/* The answer, and whether the store was needed for it. */
static uint8_t model_check(struct model *m, struct hash128 h, bool truth, bool *asked)
{
    struct model_line *l = &m->lines[bits_scale(h.lo, m->n)];
    uint32_t print = line_print(h.hi), at = model_find(l, print, l->n);
    bool answer = truth;

    *asked = at == l->n;
    if (!*asked) {
        answer = l->member[at];
        model_take(l, at);
        model_put(l, 0, print, answer);
        return answer;
    }
    while (l->n == model_room(m, l) && line_width[l->index] > m->width)
        model_narrow(l);
    if (l->n == model_room(m, l))
        l->n--;
    at = model_room(m, l) * 2 / 5;
    model_put(l, at < l->n ? at : l->n, print, answer);
    return answer;
}

static void assert_as_modelled(uint64_t lines, uint32_t width, uint32_t slots)
{
    struct counted c = counted_of(DRAWS, 2000, 0.7, 11);
    struct store s = store_of(&c);
    struct model m = {calloc(lines, sizeof *m.lines), lines, width, slots};
    char sentence[SENTENCE];
    uint8_t *answers = calloc(DRAWS, 1);
    uint64_t asked_in_all = 0;

    snprintf(sentence, sizeof sentence, "weir memory=%u width=%u slots=%u seed=9",
             (unsigned)lines * 64, width, slots);
    weir_screen *w = open_screen(sentence, &s);
    screen_draws(w, &s, 0, DRAWS, 64, answers);
    for (size_t i = 0; i < DRAWS; i++) {
        struct weir_bytes name = name_of(&c, c.draws[i]);
        bool asked;
        uint8_t expected =
            model_check(&m, hash_fast(name.data, name.size, 9), store_has(&s, c.draws[i]), &asked);

        assert_int_equal(answers[i], expected);
        asked_in_all += asked;
    }
    assert_int_equal(weir_screen_stats(w).asked, asked_in_all);
    free(answers);
    free(m.lines);
    weir_screen_close(w);
    store_free(&s);
    counted_free(c);
}

static void verdicts_are_kept_as_in_a_plain_list(void **state)
{
    static const uint8_t widths[] = {8, 9, 10, 11, 12, 13, 14, 15, 16, 20, 24, 32};

    (void)state;
    for (size_t i = 0; i < sizeof widths; i++) {
        assert_as_modelled(1, widths[i], 504 / (widths[i] + 1u));
        assert_as_modelled(13, widths[i], 504 / (widths[i] + 1u));
        assert_as_modelled(5, widths[i], 7);
        assert_as_modelled(3, widths[i], 1);
    }
}

/* ---- the verdict cache: error and age ---- */

/* Keys that never came before, shown to lines that are full: a hit is a false
 * match. 200,000 of them at an error of 0.22, 0.0204 and 0.0044: 5 standard
 * deviations are 2, 8 and 17 %. */
static void false_matches_come_as_often_as_it_says(void **state)
{
    static const struct {
        uint32_t width;
        double within;
    } cases[] = {{8, 0.02}, {11, 0.08}, {13, 0.17}};
    struct counted c = counted_of(1, 220000, 0, 3);
    struct store s = store_of(&c);
    uint8_t *answers = calloc(c.universe, 1);

    (void)state;
    c.draws = realloc(c.draws, c.universe * sizeof *c.draws);
    for (size_t i = 0; i < c.universe; i++)
        c.draws[i] = i;
    for (size_t i = 0; i < 3; i++) {
        char sentence[SENTENCE];

        snprintf(sentence, sizeof sentence, "weir memory=8K width=%u seed=1", cases[i].width);
        weir_screen *w = open_screen(sentence, &s);
        screen_draws(w, &s, 0, 20000, 500, answers);
        uint64_t before = weir_screen_stats(w).saved;
        screen_draws(w, &s, 20000, c.universe, 500, answers);
        struct weir_screen_stats t = weir_screen_stats(w);
        double rate = (double)(t.saved - before) / 200000;
        uint32_t slots = 504 / (cases[i].width + 1);

        assert_true(t.fill == 1);
        assert_float_equal(t.error, slots_error(cases[i].width, slots), 1e-9);
        if (rate < t.error * (1 - cases[i].within) || rate > t.error * (1 + cases[i].within))
            fail_msg("width %u: %f, not %f", cases[i].width, rate, t.error);
        weir_screen_close(w);
    }
    free(answers);
    store_free(&s);
    counted_free(c);
}

/* The store changes its mind about every key. */
static void no_verdict_is_older_than_the_window(void **state)
{
    static const uint32_t memories[] = {16384, 16384, 256}, windows[] = {500, 100, 900};
    struct counted c = counted_of(DRAWS, 50, 0.5, 8);
    uint8_t *answers = calloc(DRAWS, 1);

    (void)state;
    for (size_t i = 0; i < 3; i++) { /* more records than lines in a window, and fewer */
        struct store s = store_of(&c);
        char sentence[SENTENCE];
        uint64_t wrong = 0;

        snprintf(sentence, sizeof sentence, "weir memory=%u width=32 window=%u seed=1", memories[i],
                 windows[i]);
        weir_screen *w = open_screen(sentence, &s);
        screen_draws(w, &s, 0, 10000, 7, answers);
        s.shift = 2;
        screen_draws(w, &s, 10000, DRAWS, 7, answers);
        for (size_t at = 10000; at < DRAWS; at++) {
            bool is_wrong = answers[at] != store_has(&s, c.draws[at]);

            assert_true(!is_wrong || at < 10000 + windows[i]);
            wrong += is_wrong;
        }
        assert_true(wrong > 0);
        assert_true(weir_screen_stats(w).saved > DRAWS / 4);
        weir_screen_close(w);
        store_free(&s);
    }
    free(answers);
    counted_free(c);
}

/* ---- dabf beside exact sets ---- */

#define KEYS 400

/* Two pairs of sets: which keys each has been told of. */
struct pairs {
    bool has[2][KEYS];
};

static bool model_asks(struct pairs *p, uint64_t record, uint64_t window, uint64_t key)
{
    uint64_t w = record / window, older = w == 0 ? 0 : (w - 1) % 2;
    bool asks = !p->has[older][key] || (w > 0 && !p->has[!older][key]);

    p->has[older][key] = true;
    if (w > 0)
        p->has[!older][key] = true;
    if (w > 0 && record % window == window - 1)
        memset(p->has[older], 0, sizeof p->has[older]);
    return asks;
}

/* With so much memory that nothing is taken for known by mistake. */
static void the_window_of_dabf_is_two_pairs_flushed_in_turn(void **state)
{
    static const uint64_t windows[] = {1, 10, 333, 5000, 1000000};
    struct counted c = counted_of(DRAWS, KEYS, 0.6, 4);
    uint8_t *answers = calloc(DRAWS, 1);

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct store s = store_of(&c);
        struct pairs p = {0};
        char sentence[SENTENCE];

        snprintf(sentence, sizeof sentence,
                 "dabf memory=64K theta=1/1 capacity=400 set=80 window=%u seed=1",
                 (unsigned)windows[i]);
        weir_screen *w = open_screen(sentence, &s);
        for (uint64_t at = 0; at < DRAWS; at++) {
            uint64_t before = s.asked;

            screen_draws(w, &s, at, at + 1, 1, answers);
            assert_int_equal(s.asked - before, model_asks(&p, at, windows[i], c.draws[at]));
            assert_int_equal(answers[at], store_has(&s, c.draws[at]));
        }
        weir_screen_close(w);
        store_free(&s);
    }
    free(answers);
    counted_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences_are_completed),
        cmocka_unit_test(sentences_are_refused),
        cmocka_unit_test(every_screen_tells_of_itself),
        cmocka_unit_test(a_set_that_is_listed_and_fits_is_held),
        cmocka_unit_test(strict_and_none_never_err),
        cmocka_unit_test(strict_asks_for_what_1bf_calls_members),
        cmocka_unit_test(a_batch_without_need_of_the_store_does_not_call_it),
        cmocka_unit_test(verdicts_are_kept_as_in_a_plain_list),
        cmocka_unit_test(false_matches_come_as_often_as_it_says),
        cmocka_unit_test(no_verdict_is_older_than_the_window),
        cmocka_unit_test(the_window_of_dabf_is_two_pairs_flushed_in_turn),
    };

    return cmocka_run_group_tests_name("screens", tests, NULL, NULL);
}
