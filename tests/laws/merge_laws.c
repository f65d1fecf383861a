/* merge_laws.c - laws of merging and of forgetting, for the filters that can. */
#include "support/variants.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "filter/filter.h"

#define EACH 400

/* A filter of the variant, shown keys from..from+EACH-1 with some repeats. */
static weir_filter *part(const struct variant *v, uint64_t from)
{
    weir_filter *w = open_filter(v->spec);

    for (uint64_t i = 0; i < EACH + EACH / 4; i++) {
        struct weir_key key = numbered(w, from + i % EACH);

        key.importance = (uint32_t)(i * 7919 % 100);
        weir_observe(w, key);
    }
    return w;
}

static weir_filter *merged(const weir_filter *a, const weir_filter *b)
{
    weir_filter *both = weir_clone(a, NULL);
    struct weir_error error;

    if (weir_merge(both, b, &error) != WEIR_OK)
        fail_msg("%s", error.text);
    return both;
}

/* A filter that keeps lists of keys drops some when two lists become one, and
 * which ones depends on whose is first: of its laws its own tests speak. */
static bool keeps_lists(const char *name)
{
    return strcmp(name, "recent") == 0;
}

static bool merges(const struct variant *v)
{
    weir_filter *w = open_filter(v->spec);
    bool can = w->ops->merge && !keeps_lists(v->name);

    weir_close(w);
    return can;
}

static void assert_same_cells(const weir_filter *a, const weir_filter *b)
{
    assert_memory_equal(a->cells, b->cells, a->stride * a->shape.planes);
}

/* Three parts of a stream. */
struct parts {
    weir_filter *a, *b, *c;
};

static struct parts parts_of(const struct variant *v)
{
    return (struct parts){part(v, 0), part(v, EACH / 2), part(v, 5000)};
}

static void parts_free(struct parts *p)
{
    weir_close(p->a);
    weir_close(p->b);
    weir_close(p->c);
}

/* All but the running sample, of which each keeps its own. */
static void law_merging_does_not_care_for_order(const struct variant *v)
{
    if (!merges(v))
        return;
    struct parts p = parts_of(v);
    weir_filter *ab = merged(p.a, p.b), *ba = merged(p.b, p.a), *bc = merged(p.b, p.c);
    weir_filter *ab_c = merged(ab, p.c), *a_bc = merged(p.a, bc);

    assert_same_cells(ab, ba);
    assert_same_cells(ab_c, a_bc);
    if (!importance_samples(&ab->config.importance)) {
        assert_same_state(ab, ba);
        assert_same_state(ab_c, a_bc);
    }
    assert_int_equal(weir_stats_of(ab).observed,
                     weir_stats_of(p.a).observed + weir_stats_of(p.b).observed);
    assert_int_equal(weir_stats_of(ab).seen, weir_stats_of(p.a).seen + weir_stats_of(p.b).seen);
    weir_close(ab);
    weir_close(ba);
    weir_close(bc);
    weir_close(ab_c);
    weir_close(a_bc);
    parts_free(&p);
}

static void law_what_either_has_seen_the_merged_one_has(const struct variant *v)
{
    if (!merges(v))
        return;
    struct parts p = parts_of(v);
    weir_filter *both = merged(p.a, p.c);
    uint64_t either = 0;

    for (uint64_t i = 0; i < 6000; i++) {
        struct weir_key key = numbered(both, i);

        if (weir_ask(p.a, key) || weir_ask(p.c, key)) {
            assert_int_equal(weir_ask(both, key), WEIR_SEEN);
            either++;
        }
    }
    assert_true(either > 0);
    weir_close(both);
    parts_free(&p);
}

/* Where cells count, twice is twice; elsewhere it is once. */
static void law_merging_again_changes_cells_only_where_they_count(const struct variant *v)
{
    if (!merges(v))
        return;
    struct parts p = parts_of(v);
    weir_filter *once = merged(p.a, p.c), *twice = merged(once, p.c),
                *with_itself = merged(p.a, p.a);

    if (!p.a->ops->forget) {
        assert_same_cells(once, twice);
        assert_same_cells(p.a, with_itself);
    }
    weir_close(once);
    weir_close(twice);
    weir_close(with_itself);
    parts_free(&p);
}

static void law_merging_with_an_empty_one_changes_nothing(const struct variant *v)
{
    if (!merges(v))
        return;
    weir_filter *a = part(v, 0), *empty = open_filter(v->spec), *both = merged(a, empty);

    assert_same_state(a, both);
    weir_close(a);
    weir_close(empty);
    weir_close(both);
}

/* Of filters that never forget, the parts merged are the whole. */
static void merged_parts_of_a_stream_are_the_whole(void **state)
{
    static const char *const specs[] = {"bloom memory=1001bit seed=1",
                                        "counting memory=2K cell=5 seed=1"};

    (void)state;
    for (size_t s = 0; s < 2; s++) {
        weir_filter *a = open_filter(specs[s]), *b = open_filter(specs[s]);
        weir_filter *whole = open_filter(specs[s]);

        for (uint64_t i = 0; i < 500; i++) {
            weir_observe(i % 3 ? a : b, numbered(whole, i));
            weir_observe(whole, numbered(whole, i));
        }
        assert_int_equal(weir_merge(a, b, NULL), WEIR_OK);
        assert_same_cells(a, whole);
        weir_close(a);
        weir_close(b);
        weir_close(whole);
    }
}

/* ---- refusals ---- */

static void assert_not_merged(const char *into, const char *from, enum weir_status status,
                              const char *expected)
{
    weir_filter *a = open_filter(into), *b = open_filter(from);
    struct weir_error error;

    for (uint64_t i = 0; i < 50; i++) {
        weir_observe(a, numbered(a, i));
        weir_observe(b, numbered(b, 100 + i));
    }
    struct blob before = blob_of(a);
    assert_int_equal(weir_merge(a, b, &error), status);
    assert_int_equal(error.status, status);
    assert_string_equal(error.text, expected);
    assert_int_equal(weir_merge(a, b, NULL), status);
    struct blob after = blob_of(a);
    assert_same_blob(before, after);
    blob_free(before);
    blob_free(after);
    weir_close(a);
    weir_close(b);
}

#define ONLY "; only filters of one configuration and seed can be merged"

static void filters_that_differ_are_not_merged(void **state)
{
    (void)state;
    assert_not_merged("bloom memory=1K seed=1", "bloom memory=1K seed=2", WEIR_MISMATCH,
                      "the filters differ: seed=1 and seed=2" ONLY);
    assert_not_merged("bloom memory=1K seed=1", "bloom memory=1001bit seed=1", WEIR_MISMATCH,
                      "the filters differ: memory=1024 and memory=1001bit" ONLY);
    assert_not_merged("bloom memory=1K seed=1 k=3", "bloom memory=1K seed=1", WEIR_MISMATCH,
                      "the filters differ: k=3 and k=4" ONLY);
    assert_not_merged("bloom memory=1K seed=1 hash=sip", "bloom memory=1K seed=1", WEIR_MISMATCH,
                      "the filters differ: hash=sip and hash=xxh3" ONLY);
    assert_not_merged("bloom memory=1K seed=1", "rlbsbf memory=1K seed=1", WEIR_MISMATCH,
                      "the filters differ: bloom and rlbsbf" ONLY);
    assert_not_merged("sbf memory=1K seed=1 decay=3", "sbf memory=1K seed=1 decay=4", WEIR_MISMATCH,
                      "the filters differ: decay=3 and decay=4" ONLY);
    assert_not_merged("ibf-mc memory=1K seed=1 importance=1-5",
                      "ibf-mc memory=1K seed=1 importance=log", WEIR_MISMATCH,
                      "the filters differ: importance=1-5 and importance=log" ONLY);
}

static void weir_filters_with_a_window_are_not_merged(void **state)
{
    (void)state;
    assert_not_merged(
        "recent memory=1K window=20 seed=1", "recent memory=1K window=20 seed=1", WEIR_UNSUPPORTED,
        "weir filters with window= or span= cannot be merged: they count their time apart");
}

static void filters_that_differ_in_capacity_alone_are_merged(void **state)
{
    weir_filter *a = open_filter("bloom memory=1K k=4 capacity=500 seed=1");
    weir_filter *b = open_filter("bloom memory=1K k=4 seed=1");

    (void)state;
    assert_int_equal(weir_merge(a, b, NULL), WEIR_OK);
    weir_close(a);
    weir_close(b);
}

static void law_filters_that_cannot_be_merged_say_so(const struct variant *v)
{
    char expected[SPEC] = "";

    if (merges(v) || keeps_lists(v->name))
        return;
    weir_filter *w = open_filter(v->spec);
    if (w->ops->unmergeable && w->ops->unmergeable(&w->config)) /* for a reason of its own */
        snprintf(expected, sizeof expected, "%s", w->ops->unmergeable(&w->config));
    else
        snprintf(expected, sizeof expected,
                 "%s filters cannot be merged: what one forgot depends on all it saw; %s can",
                 v->name, names_with(WEIR_KIND_FILTER, WEIR_CAN_MERGE).text);
    weir_close(w);
    assert_not_merged(v->spec, v->spec, WEIR_UNSUPPORTED, expected);
}

/* ---- forgetting ---- */

static void law_filters_that_cannot_forget_say_so(const struct variant *v)
{
    weir_filter *w = part(v, 0);
    struct blob before = blob_of(w);
    char expected[SPEC] = "";
    struct weir_error error;
    bool there = true;

    if (!w->ops->forget) {
        snprintf(expected, sizeof expected, "%s cannot forget a key; %s can", v->name,
                 names_with(WEIR_KIND_FILTER, WEIR_CAN_FORGET).text);
        assert_int_equal(weir_forget(w, numbered(w, 1), &there, &error), WEIR_UNSUPPORTED);
        assert_string_equal(error.text, expected);
        assert_true(there); /* not touched */
        struct blob after = blob_of(w);
        assert_same_blob(before, after);
        blob_free(after);
    }
    blob_free(before);
    weir_close(w);
}

static void forgetting_all_that_was_shown_leaves_nothing(void **state)
{
    weir_filter *w = open_filter("counting memory=4K cell=8 seed=1");

    (void)state;
    for (uint64_t i = 0; i < 500; i++)
        weir_observe(w, numbered(w, i));
    for (uint64_t i = 500; i-- > 0;) {
        bool there = false;

        assert_int_equal(weir_forget(w, numbered(w, i), &there, NULL), WEIR_OK);
        assert_true(there);
    }
    assert_true(weir_stats_of(w).fill == 0);
    assert_int_equal(weir_stats_of(w).observed, 500);
    weir_close(w);
}

static void what_is_shown_twice_must_be_forgotten_twice(void **state)
{
    weir_filter *w = open_filter("counting memory=4K seed=1");
    struct weir_key key = numbered(w, 1);

    (void)state;
    weir_observe(w, key);
    weir_observe(w, key);
    assert_int_equal(weir_forget(w, key, NULL, NULL), WEIR_OK);
    assert_int_equal(weir_ask(w, key), WEIR_SEEN);
    assert_int_equal(weir_forget(w, key, NULL, NULL), WEIR_OK);
    assert_int_equal(weir_ask(w, key), WEIR_NEW);
    weir_close(w);
}

static void forgetting_what_is_not_there_changes_nothing(void **state)
{
    weir_filter *w = open_filter("counting memory=4K seed=1");
    bool there = true;

    (void)state;
    weir_observe(w, numbered(w, 1));
    struct blob before = blob_of(w);
    assert_int_equal(weir_forget(w, numbered(w, 2), &there, NULL), WEIR_OK);
    assert_false(there);
    struct blob after = blob_of(w);
    assert_same_blob(before, after);
    blob_free(before);
    blob_free(after);
    weir_close(w);
}

/* Crowded cells of every width reach their top and stick there. */
static void forgetting_never_takes_another_key_along(void **state)
{
    (void)state;
    for (int cell = 1; cell <= 8; cell++) {
        weir_filter *w = open_filtered("counting memory=64 cell=%d k=3 seed=1", cell);

        for (uint64_t i = 0; i < 300; i++)
            weir_observe(w, numbered(w, i));
        for (uint64_t i = 0; i < 300; i += 2)
            weir_forget(w, numbered(w, i), NULL, NULL);
        for (uint64_t i = 1; i < 300; i += 2)
            assert_int_equal(weir_ask(w, numbered(w, i)), WEIR_SEEN);
        weir_close(w);
    }
}

LAW(merging_does_not_care_for_order)
LAW(what_either_has_seen_the_merged_one_has)
LAW(merging_again_changes_cells_only_where_they_count)
LAW(merging_with_an_empty_one_changes_nothing)
LAW(filters_that_cannot_be_merged_say_so)
LAW(filters_that_cannot_forget_say_so)

int main(void)
{
    const struct CMUnitTest tests[] = {
        law_test(merging_does_not_care_for_order),
        law_test(what_either_has_seen_the_merged_one_has),
        law_test(merging_again_changes_cells_only_where_they_count),
        law_test(merging_with_an_empty_one_changes_nothing),
        cmocka_unit_test(merged_parts_of_a_stream_are_the_whole),
        cmocka_unit_test(filters_that_differ_are_not_merged),
        cmocka_unit_test(weir_filters_with_a_window_are_not_merged),
        cmocka_unit_test(filters_that_differ_in_capacity_alone_are_merged),
        law_test(filters_that_cannot_be_merged_say_so),
        law_test(filters_that_cannot_forget_say_so),
        cmocka_unit_test(forgetting_all_that_was_shown_leaves_nothing),
        cmocka_unit_test(what_is_shown_twice_must_be_forgotten_twice),
        cmocka_unit_test(forgetting_what_is_not_there_changes_nothing),
        cmocka_unit_test(forgetting_never_takes_another_key_along),
    };

    return cmocka_run_group_tests_name("merge", tests, NULL, NULL);
}
