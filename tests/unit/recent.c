/* recent.c - the filter recent, compared with a plain model: one list of fingerprints per line, in
 * an array, truncated and moved one at a time. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/processor.h"
#include "filter/recent/recent.h"

/* ---- the model ---- */

struct model_line {
    uint32_t index, n;
    uint32_t value[64];
};

struct model {
    const weir_filter *w;
    struct model_line *line;
    uint64_t lines;
};

static struct model model_of(const weir_filter *w)
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

static bool model_observe(struct model *m, struct weir_key key, uint32_t depth, uint32_t up)
{
    struct model_line *l = &m->line[bits_scale(key.lo, m->lines)];
    uint32_t print = print_of(key);
    int at = model_find(l, print);

    if (at >= 0) {
        if ((uint32_t)at > up) {
            model_remove(l, (uint32_t)at);
            model_insert(l, up, print);
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

/* Repeated numbers, some far more frequent than others. */
static uint64_t number_at(uint64_t i, uint64_t universe)
{
    struct rng r = rng_at(9, i);
    uint64_t a = rng_below(&r, universe), b = rng_below(&r, universe);

    return a < b ? a : b;
}

#define STREAM 60000

/* For some keys, another key with the same line and the same first bits. Their fingerprints become
 * equal when the line is truncated, or are equal when they are inserted later. */
static struct weir_key alike_at(const weir_filter *w, uint64_t i)
{
    struct weir_key key = numbered(w, number_at(i, 4000));
    struct rng r = rng_at(10, i);

    if (rng_below(&r, 4) == 0)
        key.hi ^= UINT64_C(1) << (36 + rng_below(&r, 20));
    return key;
}

static void follows_the_model(const char *spec, bool ranked)
{
    weir_filter *w = open_filter(spec);
    struct model m = model_of(w);

    for (uint64_t i = 0; i < STREAM; i++) {
        struct weir_key key = alike_at(w, i);

        key.importance = 1 + (uint32_t)(key.lo % 50);
        uint32_t depth = ranked ? (uint32_t)w->config.slots -
                                      importance_class(&w->config.importance, &w->sample,
                                                       key.importance, (uint32_t)w->config.slots)
                                : 0;
        bool expected = model_observe(&m, key, depth, depth / 2);
        assert_int_equal(weir_observe(w, key), expected);
    }
    assert_equal_lines(&m);
    free(m.line);
    weir_close(w);
}

TEST(every_width_equals_the_model)
{
    char spec[64];

    for (uint32_t i = 0; i < LINE_WIDTHS; i++) {
        snprintf(spec, sizeof spec, "recent memory=4K seed=1 width=%u", line_width[i]);
        follows_the_model(spec, false);
    }
    follows_the_model("recent memory=4K seed=1 fpr=1%", false);
    follows_the_model("recent memory=64 seed=1 width=11 slots=7", false);
}

TEST(importance_sets_the_insertion_depth)
{
    follows_the_model("recent memory=4K seed=1 width=8 importance=1-50", true);
    follows_the_model("recent memory=4K seed=1 width=13 importance=1-50", true);
    follows_the_model("recent memory=4K seed=1 width=24 importance=log", true);
}

TEST(enter_sets_the_insertion_depth_and_hits_move_to_the_front)
{
    static const char *const specs[] = {
        "recent memory=4K seed=1 width=12 enter=25%", "recent memory=4K seed=1 enter=50%",
        "recent memory=4K seed=1 width=9 enter=10%", "recent memory=4K seed=1 width=24 enter=1%"};

    for (size_t c = 0; c < sizeof specs / sizeof *specs; c++) {
        weir_filter *w = open_filter(specs[c]);
        struct model m = model_of(w);
        uint32_t depth = (uint32_t)((double)w->config.slots * (double)w->config.enter / 1e9);

        for (uint64_t i = 0; i < STREAM; i++) {
            struct weir_key key = numbered(w, number_at(i, 12000));
            bool expected = model_observe(&m, key, depth, 0);

            assert_int_equal(weir_observe(w, key), expected);
        }
        assert_equal_lines(&m);
        free(m.line);
        weir_close(w);
    }
}

/* ---- batches ---- */

#define LONG_STREAM (SAMPLE_LONG + 30000) /* towards the end the sample is drawn rarely */

/* One filter gets batches of several sizes, whole or as selected keys, with and without their
 * slot_refs; another gets single keys in plain C. Time passes now and then. */
static void show_batches(weir_filter *w, weir_filter *single, const struct recent_paths *paths,
                         const struct weir_key *keys, uint8_t *verdicts)
{
    enum { SIZES = 11, MOST = 4096 };
    static const size_t sizes[SIZES] = {1, 5, 31, 32, 33, 63, 64, 65, 96, 300, MOST};
    static uint16_t all[MOST];
    static uint64_t slot_refs[MOST];

    for (uint16_t i = 0; i < MOST; i++)
        all[i] = i;
    for (size_t at = 0, i = 0, n; at < LONG_STREAM; at += n, i++) {
        n = sizes[i % SIZES];
        n = n < LONG_STREAM - at ? n : LONG_STREAM - at;
        struct picked p = {.keys = keys + at, .verdicts = verdicts + at, .n = n};

        if (i / SIZES % 2)
            p.at = all;
        if (i / SIZES / 2 % 2 && paths->locate(w, p.keys, n, slot_refs))
            p.slot_refs = slot_refs;
        paths->observe_many(w, &p);
        for (size_t j = at; j < at + n; j++)
            assert_int_equal(recent_paths_plain.observe(single, &keys[j]), verdicts[j]);
        if (i % 3 == 0) {
            weir_advance(w, 1000 + at);
            weir_advance(single, 1000 + at);
        }
    }
}

/* The paths that this machine can run, other than plain C; ends with NULL. */
static const struct recent_paths *const *newer_paths(void)
{
    static const struct recent_paths *found[3];
    size_t n = 0;

#ifdef __x86_64__
    if (processor_has_avx2())
        found[n++] = &recent_paths_avx2;
    else
        puts("# not run here: AVX2"); /* scripts/tally repeats these lines */
    if (processor_has_avx512())
        found[n++] = &recent_paths_avx512;
    else
        puts("# not run here: AVX-512");
#endif
    found[n] = NULL;
    return found;
}

static void assert_batches_are_single_keys(const char *spec, const struct recent_paths *paths)
{
    static struct weir_key keys[LONG_STREAM];
    static uint8_t verdicts[LONG_STREAM];
    weir_filter *a = open_filter(spec), *b = open_filter(spec);

    for (uint64_t i = 0; i < LONG_STREAM; i++) {
        keys[i] = numbered(a, number_at(i, 20000));
        keys[i].importance = (uint32_t)(keys[i].lo >> keys[i].hi % 64);
    }
    show_batches(a, b, paths, keys, verdicts);
    assert_memory_equal(a->cells, b->cells, a->shape.cells);
    assert_memory_equal(&a->sample, &b->sample, sizeof a->sample);
    assert_int_equal(a->observed, b->observed);
    assert_int_equal(a->seen, b->seen);
    assert_memory_equal(a->reg, b->reg, sizeof a->reg);
    paths->ask_many(a, keys, LONG_STREAM, verdicts);
    for (uint64_t i = 0; i < LONG_STREAM; i++)
        assert_int_equal(recent_paths_plain.ask(b, &keys[i]), verdicts[i]);
    weir_close(a);
    weir_close(b);
}

TEST(batches_with_importance_equal_single_calls)
{
    static const char *const modes[] = {"percentile", "capped", "log", "1-1000000"};
    static const int widths[] = {8, 12, 16, 32};
    char spec[80];

    for (size_t i = 0; i < 16; i++) {
        snprintf(spec, sizeof spec, "recent memory=8K seed=1 width=%d importance=%s", widths[i / 4],
                 modes[i % 4]);
        assert_batches_are_single_keys(spec, &recent_paths_plain);
        for (const struct recent_paths *const *p = newer_paths(); *p; p++)
            assert_batches_are_single_keys(spec, *p);
    }
}

static void assert_equal_paths(const char *spec, const struct recent_paths *paths)
{
    weir_filter *a = open_filter(spec), *b = open_filter(spec);

    for (uint64_t i = 0; i < STREAM; i++) {
        struct weir_key key = numbered(a, number_at(i, 4000));

        key.importance = 1 + (uint32_t)(key.lo % 50);
        assert_int_equal(recent_paths_plain.ask(a, &key), paths->ask(b, &key));
        assert_int_equal(recent_paths_plain.observe(a, &key), paths->observe(b, &key));
    }
    assert_memory_equal(a->cells, b->cells, a->shape.cells);
    assert_memory_equal(a->reg, b->reg, sizeof a->reg);
    weir_close(a);
    weir_close(b);
}

TEST(all_paths_give_the_same_bytes)
{
    static const char *const specs[] = {
        "recent memory=4K seed=1",
        "recent memory=4K seed=1 width=8",
        "recent memory=4K seed=1 width=11",
        "recent memory=4K seed=1 width=14 importance=1-50",
        "recent memory=4K seed=1 width=20",
        "recent memory=4K seed=1 width=9 importance=percentile",
        "recent memory=4K seed=1 fpr=1%",
        "recent memory=4K seed=1 width=12 window=2000",
        "recent memory=4K seed=1 enter=10%",
        "recent memory=4K seed=1 width=8 enter=25%",
    };

    for (size_t c = 0; c < sizeof specs / sizeof *specs; c++)
        for (const struct recent_paths *const *p = newer_paths(); *p; p++)
            assert_equal_paths(specs[c], *p);
}

/* In each mode, at every width, while lines are truncated. */
static void assert_batches_of_all_widths(const char *memory, const struct recent_paths *paths)
{
    static const char *const ways[] = {
        "",         "enter=25%",          "enter=2%",       "window=999", "window=5k refresh=no",
        "span=10s", "span=9s refresh=no", "importance=log", "slots=9"};
    char spec[80];

    for (uint32_t i = 0; i < LINE_WIDTHS; i++)
        for (size_t j = 0; j < sizeof ways / sizeof *ways; j++) {
            snprintf(spec, sizeof spec, "recent memory=%s seed=1 width=%d %s", memory,
                     line_width[i], ways[j]);
            assert_batches_are_single_keys(spec, paths);
        }
}

TEST(batches_of_all_widths_equal_single_calls)
{
    assert_batches_of_all_widths("32K", &recent_paths_plain);
    for (const struct recent_paths *const *p = newer_paths(); *p; p++)
        assert_batches_of_all_widths("32K", *p);
}

/* Sixteen lines, so keys of one batch share lines. */
TEST(batches_of_keys_that_share_lines_equal_single_calls)
{
    for (const struct recent_paths *const *p = newer_paths(); *p; p++)
        assert_batches_of_all_widths("1K", *p);
}

RUN_TESTS("tests")
