/* merge_properties.c - properties of merge, grow and delete, for the filters that support them. */
#include "support/variants.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "filter/filter.h"

#define EACH 400

/* A filter that has observed keys from..from+EACH-1, with some repeats. */
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

/* Filters that store lists of keys (recent, cuckoo) are tested elsewhere: they drop some keys when
 * two lists become one, and which ones depends on the order of the filters. */
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

/* Everything but the running sample, which each filter has for itself. */
static void property_merge_is_commutative_and_associative(const struct variant *v)
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

static void property_merged_filters_contain_the_keys_of_both(const struct variant *v)
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

/* Cells that count are raised twice; other cells do not change. */
static void property_merging_again_changes_only_counting_cells(const struct variant *v)
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

static void property_merging_an_empty_filter_changes_nothing(const struct variant *v)
{
    if (!merges(v))
        return;
    weir_filter *a = part(v, 0), *empty = open_filter(v->spec), *both = merged(a, empty);

    assert_same_state(a, both);
    weir_close(a);
    weir_close(empty);
    weir_close(both);
}

/* For filters that never forget, the merged parts equal the whole. */
static void merged_parts_of_a_stream_are_the_whole(void **state)
{
    static const char *const specs[] = {"bloom memory=1001bit seed=1",
                                        "counting memory=2K cell=5 seed=1"};

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

static void different_filters_are_not_merged(void **state)
{
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

static void recent_with_a_window_is_not_merged(void **state)
{
    assert_not_merged("recent memory=1K window=20 seed=1", "recent memory=1K window=20 seed=1",
                      WEIR_UNSUPPORTED,
                      "recent filters with window= or span= cannot be merged: their windows begin "
                      "at different times");
}

static void filters_of_different_capacity_are_merged(void **state)
{
    weir_filter *a = open_filter("bloom memory=1K k=4 capacity=500 seed=1");
    weir_filter *b = open_filter("bloom memory=1K k=4 seed=1");

    assert_int_equal(weir_merge(a, b, NULL), WEIR_OK);
    weir_close(a);
    weir_close(b);
}

static void property_merging_is_refused_if_unsupported(const struct variant *v)
{
    char expected[SPEC] = "";

    if (merges(v) || keeps_lists(v->name))
        return;
    weir_filter *w = open_filter(v->spec);
    if (w->ops->unmergeable && w->ops->unmergeable(&w->config)) /* rejected for another reason */
        snprintf(expected, sizeof expected, "%s", w->ops->unmergeable(&w->config));
    else
        snprintf(
            expected, sizeof expected,
            "%s filters cannot be merged: what one evicted depends on all that it observed; %s can",
            v->name, names_with(WEIR_KIND_FILTER, WEIR_CAN_MERGE).text);
    weir_close(w);
    assert_not_merged(v->spec, v->spec, WEIR_UNSUPPORTED, expected);
}

/* ---- forgetting ---- */

static void property_deleting_is_refused_if_unsupported(const struct variant *v)
{
    weir_filter *w = part(v, 0);
    struct blob before = blob_of(w);
    char expected[SPEC] = "";
    struct weir_error error;
    bool there = true;

    if (!w->ops->forget) {
        snprintf(expected, sizeof expected, "%s cannot remove a key; %s can", v->name,
                 names_with(WEIR_KIND_FILTER, WEIR_CAN_FORGET).text);
        assert_int_equal(weir_forget(w, numbered(w, 1), &there, &error), WEIR_UNSUPPORTED);
        assert_string_equal(error.text, expected);
        assert_true(there); /* not changed */
        struct blob after = blob_of(w);
        assert_same_blob(before, after);
        blob_free(after);
    }
    blob_free(before);
    weir_close(w);
}

static void deleting_all_keys_leaves_an_empty_filter(void **state)
{
    weir_filter *w = open_filter("counting memory=4K cell=8 seed=1");

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

static void a_key_added_twice_is_deleted_twice(void **state)
{
    weir_filter *w = open_filter("counting memory=4K seed=1");
    struct weir_key key = numbered(w, 1);

    weir_observe(w, key);
    weir_observe(w, key);
    assert_int_equal(weir_forget(w, key, NULL, NULL), WEIR_OK);
    assert_int_equal(weir_ask(w, key), WEIR_SEEN);
    assert_int_equal(weir_forget(w, key, NULL, NULL), WEIR_OK);
    assert_int_equal(weir_ask(w, key), WEIR_NEW);
    weir_close(w);
}

static void deleting_an_absent_key_changes_nothing(void **state)
{
    weir_filter *w = open_filter("counting memory=4K seed=1");
    bool there = true;

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

/* Crowded cells of every width reach their maximum and are never lowered again. */
static void deleting_a_key_keeps_all_other_keys(void **state)
{
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

/* The copies of a line give the verdicts of the line, for any key. */
static void property_a_grown_filter_gives_every_verdict_of_the_original(const struct variant *v)
{
    weir_filter *w = part(v, 1), *grown = NULL;
    struct weir_error error;

    for (uint32_t times = 1; times <= 5; times += 2) {
        enum weir_status status = weir_grow(&grown, w, times, &error);

        assert_int_equal(status, w->ops->grow ? WEIR_OK : WEIR_UNSUPPORTED);
        assert_true(w->ops->grow ? grown != NULL : grown == NULL);
        if (!grown)
            break;
        assert_true(grown->shape.cells == times * w->shape.cells);
        for (uint64_t i = 0; i < 20 * EACH; i++)
            assert_int_equal(weir_ask(grown, numbered(grown, i)), weir_ask(w, numbered(w, i)));
        assert_true(weir_stats_of(grown).observed == weir_stats_of(w).observed);
        weir_close(grown);
    }
    weir_close(w);
}

/* It is saved and loaded as any other, and holds more keys than the original could. */
static void a_grown_filter_holds_as_many_keys_as_its_memory(void **state)
{
    weir_filter *w = open_filtered("recent memory=4K seed=%d", 1), *grown, *loaded;
    static uint8_t data[1 << 17];
    uint32_t seen = 0;

    for (uint64_t i = 0; i < 1000; i++)
        weir_observe(w, numbered(w, i));
    assert_int_equal(weir_grow(&grown, w, 16, NULL), WEIR_OK);
    for (uint64_t i = 1000; i < 20000; i++)
        weir_observe(grown, numbered(grown, i));
    assert_int_equal(weir_load_buffer(&loaded, data,
                                      weir_save_buffer(grown, data, sizeof data, NULL), NULL, NULL,
                                      NULL),
                     WEIR_OK);
    for (uint64_t i = 0; i < 20000; i++)
        seen += weir_ask(loaded, numbered(loaded, i)) == WEIR_SEEN;
    assert_true(seen > 19000); /* of 31,744 slots; the copies of the first 1000 keys take room */
    weir_close(grown);
    assert_int_equal(weir_grow(&grown, loaded, 0, NULL), WEIR_BAD_CONFIG);
    assert_null(grown);
    weir_close(loaded);
    weir_close(w);
}

PROPERTY(a_grown_filter_gives_every_verdict_of_the_original)
PROPERTY(merge_is_commutative_and_associative)
PROPERTY(merged_filters_contain_the_keys_of_both)
PROPERTY(merging_again_changes_only_counting_cells)
PROPERTY(merging_an_empty_filter_changes_nothing)
PROPERTY(merging_is_refused_if_unsupported)
PROPERTY(deleting_is_refused_if_unsupported)

int main(void)
{
    const struct CMUnitTest tests[] = {
        property_test(merge_is_commutative_and_associative),
        property_test(merged_filters_contain_the_keys_of_both),
        property_test(merging_again_changes_only_counting_cells),
        property_test(merging_an_empty_filter_changes_nothing),
        cmocka_unit_test(merged_parts_of_a_stream_are_the_whole),
        cmocka_unit_test(different_filters_are_not_merged),
        cmocka_unit_test(recent_with_a_window_is_not_merged),
        cmocka_unit_test(filters_of_different_capacity_are_merged),
        property_test(merging_is_refused_if_unsupported),
        property_test(a_grown_filter_gives_every_verdict_of_the_original),
        cmocka_unit_test(a_grown_filter_holds_as_many_keys_as_its_memory),
        property_test(deleting_is_refused_if_unsupported),
        cmocka_unit_test(deleting_all_keys_leaves_an_empty_filter),
        cmocka_unit_test(a_key_added_twice_is_deleted_twice),
        cmocka_unit_test(deleting_an_absent_key_changes_nothing),
        cmocka_unit_test(deleting_a_key_keeps_all_other_keys),
    };

    return cmocka_run_group_tests_name("merge", tests, NULL, NULL);
}
