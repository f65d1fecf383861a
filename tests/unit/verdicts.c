/* verdicts.c - the verdict cache (screen cache), compared with a plain model; its error rate and
 * the age of its verdicts. */
#include "support/screened.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/processor.h"
#include "screen/verdict_lines.h"
#include "theory/recent.h"

#define DRAWS 20000

/* ---- comparison with a model ---- */

/* A line as a plain list of 32-bit fingerprints, compared by their first bits. */
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

/* The answer, and whether it needed the store. */
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
    char spec[SPEC];
    uint8_t *answers = calloc(DRAWS, 1);
    uint64_t asked_in_all = 0;

    snprintf(spec, sizeof spec, "cache memory=%u width=%u slots=%u seed=9", (unsigned)lines * 64,
             width, slots);
    weir_screen *w = open_screen(spec, &s);
    screen_draws(w, &s, 0, DRAWS, 64, answers);
    for (size_t i = 0; i < DRAWS; i++) {
        struct weir_bytes name = name_of(&c, c.draws[i]);
        bool asked;
        uint8_t expected =
            model_check(&m, hash_fast(name.data, name.size, 9), store_has(&s, c.draws[i]), &asked);

        assert_int_equal(answers[i], expected);
        asked_in_all += asked;
    }
    assert_int_equal(weir_screen_stats_of(w).asked, asked_in_all);
    free(answers);
    free(m.lines);
    weir_screen_close(w);
    store_free(&s);
    counted_free(c);
}

TEST(verdicts_equal_those_of_a_plain_list)
{
    static const uint8_t widths[] = {8, 9, 10, 11, 12, 13, 14, 15, 16, 20, 24, 32};

    for (size_t i = 0; i < sizeof widths; i++) {
        assert_as_modelled(1, widths[i], 504 / (widths[i] + 1u));
        assert_as_modelled(13, widths[i], 504 / (widths[i] + 1u));
        assert_as_modelled(5, widths[i], 7);
        assert_as_modelled(3, widths[i], 1);
    }
}

/* ---- processor paths ---- */

#define LINES 13

static void show_both(const struct verdict_paths *paths, const struct verdict_lines *plain,
                      const struct verdict_lines *newer, uint64_t number)
{
    struct hash128 h = hash_fast(&number, sizeof number, 5);
    struct weir_key key = {h.lo, h.hi, 1, 0};
    uint8_t verdict = verdict_paths_plain.find(plain, key);

    assert_int_equal(paths->find(newer, key), verdict);
    if (verdict == WEIR_UNANSWERED) {
        verdict_paths_plain.add(plain, key, number & 1);
        paths->add(newer, key, number & 1);
    } else {
        verdict_paths_plain.use(plain, key);
        paths->use(newer, key);
    }
    assert_memory_equal(plain->cells, newer->cells, LINES * LINE_BYTES);
}

static void assert_equal_paths(const struct verdict_paths *paths)
{
    static const uint32_t most[] = {LINES_SLOTS_MAX, 30, 7, 1};

    for (uint32_t i = 0; i < LINE_WIDTHS * 4; i++) {
        uint8_t a[LINES * LINE_BYTES] = {0}, b[LINES * LINE_BYTES] = {0};
        uint32_t width = line_width[i / 4], room = lines_room(width);
        uint32_t slots = most[i % 4] < room ? most[i % 4] : room;
        struct verdict_lines plain = {a, LINES, width, slots}, newer = {b, LINES, width, slots};

        for (uint64_t at = 0; at < DRAWS; at++) {
            struct rng r = rng_at(6, at);
            uint64_t x = rng_below(&r, 2000), y = rng_below(&r, 2000);

            show_both(paths, &plain, &newer, x < y ? x : y);
        }
        assert_true(lines_possible(&newer));
    }
}

TEST(all_paths_keep_the_same_verdicts)
{
#ifdef __x86_64__
    if (processor_has_avx2())
        assert_equal_paths(&verdict_paths_avx2);
    if (processor_has_avx512())
        assert_equal_paths(&verdict_paths_avx512);
#endif
}

/* ---- error rate and age ---- */

/* New keys in full lines: every hit is a false match. 200,000 keys at an error of 0.22, 0.0204 and
 * 0.0044: 5 standard deviations are 2, 8 and 17 %. */
TEST(false_matches_occur_at_the_reported_rate)
{
    static const struct {
        uint32_t width;
        double within;
    } cases[] = {{8, 0.02}, {11, 0.08}, {13, 0.17}};
    struct counted c = counted_of(1, 220000, 0, 3);
    struct store s = store_of(&c);
    uint8_t *answers = calloc(c.universe, 1);

    c.draws = realloc(c.draws, c.universe * sizeof *c.draws);
    for (size_t i = 0; i < c.universe; i++)
        c.draws[i] = i;
    for (size_t i = 0; i < 3; i++) {
        char spec[SPEC];

        snprintf(spec, sizeof spec, "cache memory=8K width=%u seed=1", cases[i].width);
        weir_screen *w = open_screen(spec, &s);
        screen_draws(w, &s, 0, 20000, 500, answers);
        uint64_t before = weir_screen_stats_of(w).saved;
        screen_draws(w, &s, 20000, c.universe, 500, answers);
        struct weir_screen_stats t = weir_screen_stats_of(w);
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

/* The store reverses its answer for every key. */
TEST(no_verdict_is_older_than_the_window)
{
    static const uint32_t memories[] = {16384, 16384, 256}, windows[] = {500, 100, 900};
    struct counted c = counted_of(DRAWS, 50, 0.5, 8);
    uint8_t *answers = calloc(DRAWS, 1);

    for (size_t i = 0; i < 3; i++) { /* a window with more records than lines, and one with fewer */
        struct store s = store_of(&c);
        char spec[SPEC];
        uint64_t wrong = 0;

        snprintf(spec, sizeof spec, "cache memory=%u width=32 window=%u seed=1", memories[i],
                 windows[i]);
        weir_screen *w = open_screen(spec, &s);
        screen_draws(w, &s, 0, 10000, 7, answers);
        s.shift = 2;
        screen_draws(w, &s, 10000, DRAWS, 7, answers);
        for (size_t at = 10000; at < DRAWS; at++) {
            bool is_wrong = answers[at] != store_has(&s, c.draws[at]);

            assert_true(!is_wrong || at < 10000 + windows[i]);
            wrong += is_wrong;
        }
        assert_true(wrong > 0);
        assert_true(weir_screen_stats_of(w).saved > DRAWS / 4);
        weir_screen_close(w);
        store_free(&s);
    }
    free(answers);
    counted_free(c);
}

/* Time advances with each draw. The store changes its answers in the middle; a span later no old
 * answer is returned. Saving and loading in between changes nothing. */
TEST(no_verdict_is_older_than_the_span)
{
    static const char *const specs[] = {"cache memory=16K width=32 span=64s seed=1",
                                        "cache memory=256 width=32 span=64s seed=1",
                                        "strict memory=32K set=50 verdicts=16K span=64s seed=1"};
    struct counted c = counted_of(DRAWS, 50, 0.5, 8);
    uint8_t *answers = calloc(DRAWS, 1);

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct store s = store_of(&c);
        weir_screen *w = open_screen(specs[i], &s), *twin;
        uint64_t wrong = 0;

        for (uint64_t at = 0; at < DRAWS; at++) {
            s.shift = at < 10000 ? 0 : 2;
            weir_screen_advance(w, 1600000000000 + at * 100); /* a span is 640 draws */
            screen_draws(w, &s, at, at + 1, 1, answers);
            bool is_wrong = answers[at] != store_has(&s, c.draws[at]);
            /* keys that were not members when strict was built stay non-members */
            bool is_late = is_wrong && (i < 2 || answers[at] == WEIR_MEMBER);

            assert_true(!is_late || at < 10000 + 640);
            wrong += is_wrong;
            if (at % 5000 == 4999) {
                struct blob saved = screen_blob(w);

                assert_int_equal(
                    weir_screen_load_buffer(&twin, saved.data, saved.size, NULL, NULL, NULL),
                    WEIR_OK);
                weir_screen_advance(twin, 1600000000000); /* earlier times are ignored */
                assert_same_screen(w, twin);
                weir_screen_close(w);
                w = twin;
                free(saved.data);
            }
        }
        assert_true(wrong > 0);
        assert_true(weir_screen_stats_of(w).saved > DRAWS / 4);
        weir_screen_close(w);
        store_free(&s);
    }
    free(answers);
    counted_free(c);
}

/* A jump evicts everything; the first call evicts nothing. */
TEST(a_jump_in_time_evicts_all_verdicts)
{
    struct counted c = counted_of(2000, 50, 0.5, 8);
    struct store s = store_of(&c);
    weir_screen *w = open_screen("cache memory=16K width=32 span=1h seed=1", &s);
    uint8_t answers[2000];

    screen_draws(w, &s, 0, 1000, 1, answers);
    uint64_t asked = weir_screen_stats_of(w).asked;
    weir_screen_advance(w, 1600000000000);
    screen_draws(w, &s, 0, 1000, 1, answers);
    assert_int_equal(weir_screen_stats_of(w).asked, asked);
    weir_screen_advance(w, 1700000000000);
    screen_draws(w, &s, 0, 1000, 1, answers);
    assert_int_equal(weir_screen_stats_of(w).asked, 2 * asked);
    weir_screen_close(w);
    store_free(&s);
    counted_free(c);
}

RUN_TESTS("verdicts")
