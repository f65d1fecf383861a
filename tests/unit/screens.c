/* screens.c - specs, the screens with a filter of the set, and dabf compared with exact sets.
 * verdicts.c tests the verdict cache. */
#include "support/screened.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/build.h>

#define DRAWS 20000

static void assert_screen_refused(const char *spec, const char *expected)
{
    struct weir_error error = {0};
    weir_screen *w;

    assert_int_equal(weir_screen_open(&w, spec, &error), WEIR_BAD_CONFIG);
    assert_null(w);
    assert_string_equal(error.text, expected);
}

static void assert_completed(const char *spec, const char *expected)
{
    char config[SPEC];
    weir_screen *w;

    assert_int_equal(weir_screen_open(&w, spec, NULL), WEIR_OK);
    weir_screen_config(w, config, sizeof config);
    assert_string_equal(config, expected);
    weir_screen_close(w);
}

/* ---- specs ---- */

TEST(specs_are_completed)
{
    assert_completed("seed=1", "cache memory=1048576 width=20 slots=24 hash=xxh3 seed=1");
    assert_completed("cache memory=1000bit fpr=0.1% seed=1",
                     "cache memory=125 width=15 slots=31 hash=xxh3 seed=1");
    assert_completed("cache memory=64 width=8 window=10k seed=1",
                     "cache memory=64 window=10000 width=8 slots=56 hash=xxh3 seed=1");
    assert_completed(
        "dabf memory=1000bit set=100 seed=1",
        "dabf memory=125 set=100 capacity=1000 theta=1/9 k=1 k-set=6 hash=xxh3 seed=1");
    assert_completed(
        "dabf memory=125 set=100 capacity=1000 theta=2.0 seed=1",
        "dabf memory=125 set=100 capacity=1000 theta=1000000000/500000000 k=1 k-set=2 hash=xxh3 "
        "seed=1");
    assert_completed("dabf memory=3003bit theta=50% k=2 k-set=3 set=9 capacity=7 window=5 seed=1",
                     "dabf memory=3003bit set=9 capacity=7 theta=500000000/1000000000 k=2 k-set=3 "
                     "window=5 hash=xxh3 seed=1");
    assert_completed("1bf memory=1000bit set=100 seed=1",
                     "1bf memory=125 set=100 k=6 hash=xxh3 seed=1");
    assert_completed("strict set=10M seed=1 hash=sip",
                     "strict memory=1048576 set=10000000 k=1 hash=sip seed=1");
    assert_completed("strict memory=1000bit verdicts=64 window=9 set=10 seed=1",
                     "strict memory=125 set=10 k=32 window=9 verdicts=64 hash=xxh3 seed=1");
    assert_completed("cache memory=64 width=8 span=90s seed=1",
                     "cache memory=64 span=90000ms width=8 slots=56 hash=xxh3 seed=1");
    assert_completed("none seed=1", "none hash=xxh3 seed=1");
}

TEST(specs_are_refused)
{
    assert_screen_refused("bloom",
                          "there is no screen 'bloom'; there are cache, dabf, 1bf, strict, none");
    assert_screen_refused("none memory=64", "none has no parameter 'memory'; it takes hash, seed");
    assert_screen_refused("cache width=17", "width=: invalid value; use 8 to 16, 20, 24 or 32");
    assert_screen_refused("cache width=8 fpr=0.01%",
                          "fpr= cannot be kept with this width; use a higher rate, or no width=: "
                          "32 bits reach 2.4e-10");
    assert_screen_refused("dabf theta=0",
                          "theta=0: invalid value; use a ratio such as 1/9 or 2/1, or a number: "
                          "0.5, 50%");
    assert_screen_refused("dabf theta=1/0",
                          "theta=1/0: invalid value; use a ratio such as 1/9 or 2/1, or a "
                          "number: 0.5, 50%");
    assert_screen_refused("dabf memory=64bit theta=1/99",
                          "theta= leaves one of the two filters without a bit; use more memory or "
                          "a ratio closer to 1");
    assert_screen_refused("strict memory=128 verdicts=65",
                          "verdicts= leaves no memory for the set; use a value below memory=");
    assert_screen_refused("strict window=9", "window= requires verdicts=");
    assert_screen_refused("1bf verdicts=64",
                          "1bf has no parameter 'verdicts'; it takes memory, set, k, hash, seed");
    assert_screen_refused("dabf k=0", "k=0: invalid value; use a whole number from 1 to 32");
}

TEST(every_screen_has_a_description)
{
    size_t i = 0;

    for (; weir_algorithm_at(WEIR_KIND_SCREEN, i); i++) {
        weir_screen *w;

        assert_int_equal(weir_screen_open(&w, weir_algorithm_at(WEIR_KIND_SCREEN, i)->name, NULL),
                         WEIR_OK);
        assert_true(strlen(weir_algorithm_at(WEIR_KIND_SCREEN, i)->idea) > 10);
        assert_non_null(weir_parameter_at(WEIR_KIND_SCREEN, i, 1));
        weir_screen_close(w);
    }
    assert_null(weir_parameter_at(WEIR_KIND_SCREEN, i, 0));
}

static void assert_chosen(uint64_t memory, bool listed, uint64_t set, const char *spec,
                          const char *reason)
{
    struct weir_screen_choice c;

    weir_screen_choose(&c, sizeof c, memory, listed, set);

    assert_string_equal(c.spec, spec);
    assert_string_equal(c.reason, reason);
    if (memory < 1 << 20) {
        weir_screen *w;

        assert_int_equal(weir_screen_open(&w, c.spec, NULL), WEIR_OK);
        weir_screen_close(w);
    }
}

TEST(a_listed_set_that_fits_is_kept_in_memory)
{
    assert_chosen(65536, true, 31620, "strict set=31620 memory=65536",
                  "the store lists its 31620 keys, and 16 bits for each fit the memory");
    assert_chosen(65536, false, 31620, "cache memory=65536", "the store cannot be listed");
    assert_chosen(31620, true, 31620, "strict set=31620 memory=31620",
                  "the store lists its 31620 keys, and 8 bits for each fit the memory");
    assert_chosen(31619, true, 31620, "cache memory=31619",
                  "the store's 31620 keys do not fit: the memory has less than 8 bits for each");
    assert_chosen(64, true, 0, "strict set=1 memory=64", "the store lists its keys, and has none");
    assert_chosen(UINT64_C(1) << 44, true, UINT64_C(1) << 42,
                  "strict set=1000000000000 memory=17592186044416",
                  "the store lists its 4398046511104 keys, and 32 bits for each fit the memory");
}

/* ---- screens without errors ---- */

static void assert_always_right(const char *spec)
{
    struct counted c = counted_of(DRAWS, 3000, 0.8, 5);
    struct store s = store_of(&c);
    weir_screen *w = open_screen(spec, &s);
    uint8_t *answers = calloc(DRAWS, 1);

    assert_int_equal(screen_draws(w, &s, 0, DRAWS, 300, answers), 0);
    for (size_t i = 0; i < DRAWS; i++)
        assert_int_equal(answers[i], store_has(&s, c.draws[i]));
    free(answers);
    weir_screen_close(w);
    store_free(&s);
    counted_free(c);
}

TEST(strict_and_none_have_no_errors)
{
    assert_always_right("none seed=1");
    assert_always_right("strict memory=100 set=600 seed=1"); /* far too little memory: it asks the
                                                                store more often */
    assert_always_right("strict memory=1K set=600 seed=1");
}

/* A weir_screen_store. */
static bool say_member(void *context, const struct weir_bytes *keys, size_t n, uint8_t *answers)
{
    (void)context, (void)keys;
    memset(answers, WEIR_MEMBER, n);
    return true;
}

/* 600 members in 1024 bytes: strict asks the store for them and for the filter's false positives,
 * 0.0014 of the others; 1bf reports the same keys as members and asks for none. */
TEST(strict_asks_for_the_members_of_1bf)
{
    struct counted c = counted_of(DRAWS, 3000, 0.8, 5);
    struct store s = store_of(&c);
    weir_screen *one = open_screen("1bf memory=1K set=600 seed=1", &s);
    weir_screen *strict = open_screen("strict memory=1K set=600 seed=1", &s);
    uint8_t *answers = calloc(DRAWS, 1);
    uint64_t members = 0;

    assert_false(weir_screen_needs_set(one));
    screen_draws(one, &s, 0, DRAWS, 300, answers);
    assert_int_equal(s.calls, 0);
    for (size_t i = 0; i < DRAWS; i++) {
        members += store_has(&s, c.draws[i]);
        assert_true(answers[i] == WEIR_MEMBER || !store_has(&s, c.draws[i]));
    }
    screen_draws(strict, &s, 0, DRAWS, 300, answers);
    struct weir_screen_stats of_one = weir_screen_stats_of(one),
                             of_strict = weir_screen_stats_of(strict);
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

/* Built from one key, then from another: the first is no member any more, and the counters stay. */
TEST(a_set_can_be_cleared_and_built_again)
{
    const char *const holding[] = {"1bf memory=1K set=600 seed=1",
                                   "strict memory=1K set=600 seed=1"};
    const struct weir_bytes old = {"old", 3}, new = {"new", 3};
    uint8_t answer;

    for (size_t i = 0; i < 2; i++) {
        weir_screen *w;

        assert_int_equal(weir_screen_open(&w, holding[i], NULL), WEIR_OK);
        assert_true(weir_screen_needs_set(w));
        weir_screen_add_members(w, &old, 1);
        assert_false(weir_screen_needs_set(w));
        weir_screen_check(w, &new, 1, say_member, NULL, &answer);
        assert_int_equal(answer, WEIR_OTHER);
        weir_screen_clear_set(w);
        assert_true(weir_screen_needs_set(w));
        weir_screen_add_members(w, &new, 1);
        weir_screen_check(w, &new, 1, say_member, NULL, &answer);
        assert_int_equal(answer, WEIR_MEMBER);
        weir_screen_check(w, &old, 1, say_member, NULL, &answer);
        assert_int_equal(answer, WEIR_OTHER);
        assert_int_equal(weir_screen_stats_of(w).checked, 3);
        weir_screen_close(w);
    }
}

/* The same 600 with 64 more lines: each member is confirmed once, and so is each false positive of
 * the filter. */
TEST(cached_verdicts_are_confirmed_once)
{
    struct counted c = counted_of(DRAWS, 3000, 0.8, 5);
    struct store s = store_of(&c);
    weir_screen *w = open_screen("strict memory=5K verdicts=4K set=600 seed=1", &s);
    uint8_t *answers = calloc(DRAWS, 1);
    uint64_t different = 0;

    screen_draws(w, &s, 0, DRAWS, 300, answers);
    for (size_t i = 0; i < DRAWS; i++)
        assert_int_equal(answers[i], store_has(&s, c.draws[i]));
    for (uint64_t key = 0; key < c.universe; key++)
        different += c.exact[key] > 0 && store_has(&s, key);
    struct weir_screen_stats t = weir_screen_stats_of(w);
    assert_true(different > 500 && t.asked >= different && t.asked <= different + 30);
    assert_true(t.error > 0 && t.error < 1e-8);
    free(answers);
    weir_screen_close(w);
    store_free(&s);
    counted_free(c);
}

/* A full filter reports every key as a member: only cached verdicts save lookups. */
TEST(with_a_full_filter_strict_equals_cache)
{
    struct counted c = counted_of(DRAWS, 3000, 1.1, 5);
    struct store of_strict = store_of(&c), of_cache = store_of(&c);
    weir_screen *a = open_screen("strict memory=136 verdicts=128 k=1 seed=1", &of_strict);
    weir_screen *b = open_screen("cache memory=128 width=32 seed=1", &of_cache);
    uint8_t *answers = calloc(DRAWS, 1);

    assert_true(weir_screen_stats_of(a).fill == 1);
    for (size_t i = 0; i < DRAWS; i++) {
        screen_draws(a, &of_strict, i, i + 1, 1, answers);
        screen_draws(b, &of_cache, i, i + 1, 1, answers);
        assert_int_equal(of_strict.asked, of_cache.asked);
    }
    assert_true(of_cache.asked < DRAWS * 3 / 4);
    free(answers);
    weir_screen_close(a);
    weir_screen_close(b);
    store_free(&of_strict);
    store_free(&of_cache);
    counted_free(c);
}

TEST(a_batch_without_lookups_does_not_call_the_store)
{
    struct counted c = counted_of(1000, 20, 0.8, 5);
    struct store s = store_of(&c);
    weir_screen *w = open_screen("cache memory=4K seed=1", &s);
    uint8_t *answers = calloc(1000, 1);

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

/* ---- dabf compared with exact sets ---- */

#define KEYS 400

/* Two pairs of sets: the keys that each has been given. */
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

/* With enough memory that no key is a false positive. */
TEST(the_window_of_dabf_is_two_pairs_flushed_in_turn)
{
    static const uint64_t windows[] = {1, 10, 333, 5000, 1000000};
    struct counted c = counted_of(DRAWS, KEYS, 0.6, 4);
    uint8_t *answers = calloc(DRAWS, 1);

    for (size_t i = 0; i < 5; i++) {
        struct store s = store_of(&c);
        struct pairs p = {0};
        char spec[SPEC];

        snprintf(spec, sizeof spec,
                 "dabf memory=64K theta=1/1 capacity=400 set=80 window=%u seed=1",
                 (unsigned)windows[i]);
        weir_screen *w = open_screen(spec, &s);
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

/* With a borrowed set: no member is missed, few other keys are looked up, and keys added to the
 * screen are members too. */
TEST(a_borrowed_set_is_used_with_the_added_keys)
{
    struct counted c = counted_of(DRAWS, KEYS, 0.6, 4);
    uint8_t *answers = calloc(DRAWS, 1);
    struct store s = store_of(&c);
    weir_screen *w, *clone;
    struct weir_error error = {0};
    weir_builder *b;
    weir_filter *set, *other = open_filter("bloom memory=64 seed=2");

    assert_int_equal(weir_screen_open(&w, "strict memory=4K seed=1", NULL), WEIR_OK);
    assert_int_equal(weir_build_begin(&b, "fuse bits=16 seed=1", NULL, NULL), WEIR_OK);
    for (uint64_t i = 0; i < KEYS; i++) {
        struct weir_bytes name = name_of(&c, i);

        if (store_has(&s, i) && i % 3)
            assert_int_equal(weir_build_add_bytes(b, &name, 1, NULL), WEIR_OK);
        else if (store_has(&s, i))
            weir_screen_add_members(w, &name, 1);
    }
    assert_int_equal(weir_build_finish(b, &set, NULL), WEIR_OK);
    assert_int_equal(weir_screen_attach_set(w, other, &error), WEIR_MISMATCH);
    assert_int_equal(weir_screen_attach_set(w, set, &error), WEIR_OK);
    screen_draws(w, &s, 0, DRAWS, 100, answers);
    uint64_t members = 0;
    for (size_t i = 0; i < DRAWS; i++) {
        assert_int_equal(answers[i], store_has(&s, c.draws[i]));
        members += store_has(&s, c.draws[i]);
    }
    assert_true(weir_screen_stats_of(w).asked <= members + DRAWS / 500);
    assert_false(weir_screen_needs_set(w));
    clone = weir_screen_clone(w, NULL);
    assert_int_equal(weir_screen_merge(clone, w, &error), WEIR_UNSUPPORTED);
    weir_screen_clear_set(w);
    assert_true(weir_screen_needs_set(w));
    screen_draws(w, &s, 0, 100, 100, answers);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(answers[i], WEIR_OTHER); /* an empty set has no member */
    weir_screen_close(w);
    assert_int_equal(weir_screen_open(&w, "cache memory=4K seed=1", NULL), WEIR_OK);
    assert_int_equal(weir_screen_attach_set(w, set, &error), WEIR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "1bf, strict have one"));
    weir_screen_close(w);
    weir_screen_close(clone);
    weir_close(set);
    weir_close(other);
    store_free(&s);
    counted_free(c);
    free(answers);
}

RUN_TESTS("screens")
