/* sketch_properties.c - properties of every sketch: batches equal single calls, saving in
 * mid-stream changes nothing, and loading never crashes. */
#include "support/sealed.h"
#include "support/sketches.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

static const char *const variants[] = {
    "count-min memory=512 seed=3",
    "count-min memory=1000 seed=3 depth=3 update=conservative hash=sip",
    "count-min memory=512 seed=3 layout=line",
    "count-min memory=512 seed=3 layout=line counter=64 depth=8 update=conservative",
    "count-min memory=600 seed=3 counter=64 depth=5",
    "count-min memory=512 seed=3 half-life=100",
    "count-min memory=512 seed=3 half-life=1h layout=line update=conservative",
    "heavykeeper keys=4 width=11 depth=3 seed=3",
    "heavykeeper memory=900 keys=3 seed=3 hash=sip decay=0.5",
    "top keys=5 seed=3",
    "top keys=6 seed=3 half-life=90",
    "top keys=5 seed=3 half-life=1d",
    "top keys=20 memory=2500 seed=3 hash=sip",
};

#define VARIANTS (sizeof variants / sizeof *variants)

static void for_each_variant(void (*property)(const char *spec, const struct counted *c))
{
    struct counted c = counted_of(3000, 200, 0.8, 17);

    for (size_t i = 0; i < VARIANTS; i++)
        property(variants[i], &c);
    counted_free(c);
}

static void batch_equals_single_calls(const char *spec, const struct counted *c)
{
    weir_sketch *a = open_sketch(spec), *b = open_sketch(spec);

    show_draws(a, c, 0, c->n);
    for (size_t i = 0; i < c->n; i++)
        weir_sketch_add(b, name_of(c, c->draws[i]), 1);
    assert_same_sketch(a, b);
    weir_sketch_clear(a);
    weir_sketch_close(b);
    b = open_sketch(spec);
    assert_same_sketch(a, b);
    weir_sketch_close(a);
    weir_sketch_close(b);
}

static void assert_same_estimate(struct weir_estimate a, struct weir_estimate b)
{
    assert_true(a.count == b.count && a.error == b.error);
}

/* Also of keys that never occurred. */
static void ask_many_equals_single_calls(const char *spec, const struct counted *c)
{
    enum { ASKED = 500 };
    weir_sketch *s = open_sketch(spec);
    struct weir_estimate many[ASKED], hashed[ASKED];
    struct weir_bytes keys[ASKED];
    struct weir_key hashes[ASKED];
    uint64_t numbers[ASKED];

    weir_sketch_advance(s, 1000);
    show_draws(s, c, 0, c->n);
    weir_sketch_advance(s, 5000000);
    for (size_t i = 0; i < ASKED; i++) {
        numbers[i] = i;
        keys[i] = i % 2 ? name_of(c, c->draws[i]) : (struct weir_bytes){&numbers[i], sizeof i};
        hashes[i] = weir_sketch_hash(s, keys[i].data, keys[i].size);
    }
    weir_sketch_ask_many(s, keys, 0, many);
    for (size_t n = 1; n <= ASKED; n += n < 40 ? 1 : 230) {
        weir_sketch_ask_many(s, keys, n, many);
        for (size_t i = 0; i < n; i++)
            assert_same_estimate(many[i], weir_sketch_ask(s, keys[i]));
    }
    bool takes_hashes = strncmp(spec, "count-min", 9) == 0;
    assert_int_equal(weir_sketch_ask_hashed(s, hashes, ASKED, hashed, NULL),
                     takes_hashes ? WEIR_OK : WEIR_UNSUPPORTED);
    for (size_t i = 0; takes_hashes && i < ASKED; i++)
        assert_same_estimate(hashed[i], weir_sketch_ask(s, keys[i]));
    weir_sketch_close(s);
}

static void saving_changes_nothing(const char *spec, const struct counted *c)
{
    weir_sketch *a = open_sketch(spec), *b, *twin;

    weir_sketch_advance(a, 1000);
    show_draws(a, c, 0, c->n / 2);
    weir_sketch_advance(a, 5000000);
    struct blob saved = sketch_blob(a);
    size_t used = 0;
    assert_int_equal(weir_sketch_load_buffer(&b, saved.data, saved.size, &used, NULL, NULL),
                     WEIR_OK);
    assert_int_equal(used, saved.size);
    twin = weir_sketch_clone(a, NULL);
    show_draws(a, c, c->n / 2, c->n);
    show_draws(b, c, c->n / 2, c->n);
    show_draws(twin, c, c->n / 2, c->n);
    assert_same_sketch(a, b);
    assert_same_sketch(a, twin);
    blob_free(saved);
    weir_sketch_close(a);
    weir_sketch_close(b);
    weir_sketch_close(twin);
}

/* ---- damage ---- */

/* Returns true if it was loaded; then it must work, save and load again. */
static bool is_usable(struct blob b)
{
    struct weir_error error = {0};
    struct weir_heavy list[30];
    weir_sketch *s, *again;

    if (weir_sketch_load_buffer(&s, b.data, b.size, NULL, NULL, &error) != WEIR_OK) {
        assert_null(s);
        assert_true(error.status == WEIR_BAD_DATA && *error.text);
        return false;
    }
    for (uint64_t i = 0; i < 60; i++)
        weir_sketch_add(s, (struct weir_bytes){&i, sizeof i}, i % 7);
    weir_sketch_top(s, list, 30);
    weir_sketch_stats_of(s);
    struct blob saved = sketch_blob(s);
    assert_int_equal(weir_sketch_load_buffer(&again, saved.data, saved.size, NULL, NULL, NULL),
                     WEIR_OK);
    assert_same_sketch(s, again);
    assert_int_not_equal(weir_sketch_merge(s, again, NULL), WEIR_MISMATCH);
    blob_free(saved);
    weir_sketch_close(s);
    weir_sketch_close(again);
    return true;
}

static struct blob used_blob(const char *spec, const struct counted *c)
{
    weir_sketch *s = open_sketch(spec);

    show_draws(s, c, 0, c->n);
    struct blob b = sketch_blob(s);
    weir_sketch_close(s);
    return b;
}

static void every_truncation_is_refused(const char *spec, const struct counted *c)
{
    struct blob b = used_blob(spec, c);

    for (size_t n = 0; n < b.size; n++) {
        struct blob cut = {malloc(n + !n), n};

        memcpy(cut.data, b.data, n);
        assert_false(is_usable(cut));
        blob_free(cut);
    }
    blob_free(b);
}

static void every_bit_flip_is_detected(const char *spec, const struct counted *c)
{
    struct blob b = used_blob(spec, c);

    for (size_t i = 0; i < b.size * 8; i++) {
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
        assert_false(is_usable(b));
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    blob_free(b);
}

static void every_bit_flip_with_valid_checksum_is_refused_or_usable(const char *spec,
                                                                    const struct counted *c)
{
    struct blob b = used_blob(spec, c);
    struct part_head was = head_of_blob(b);
    size_t loaded = 0;

    for (size_t i = 0; i < b.size * 8; i += sized(10) == 10 ? 1 : 5) {
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
        seal(b, &was);
        loaded += is_usable(b);
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    assert_true(loaded > 0 && loaded < b.size * 8);
    blob_free(b);
}

static void try_to_use(struct blob forged, void *context)
{
    (void)context;
    is_usable(forged);
}

static void forged_counters_are_refused_or_usable(const char *spec, const struct counted *c)
{
    struct blob b = used_blob(spec, c);

    with_forged_words(b, try_to_use, NULL);
    blob_free(b);
}

static void refuse_cut(struct blob cut, void *context)
{
    (void)context;
    assert_false(is_usable(cut));
}

static void every_truncation_with_valid_checksum_is_refused(const char *spec,
                                                            const struct counted *c)
{
    struct blob b = used_blob(spec, c);

    with_sealed_cuts(b, refuse_cut, NULL);
    blob_free(b);
}

TEST(sketches_and_filters_do_not_load_each_other)
{
    weir_filter *w = open_filter("bloom memory=64 seed=1");
    weir_sketch *s = open_sketch("top keys=5 seed=3");
    struct blob filter = blob_of(w), sketch = sketch_blob(s);

    assert_not_loaded(sketch, "this part is not a filter");
    assert_false(is_usable(filter));
    blob_free(filter);
    blob_free(sketch);
    weir_close(w);
    weir_sketch_close(s);
}

PROPERTY_TEST(batch_equals_single_calls)
PROPERTY_TEST(ask_many_equals_single_calls)
PROPERTY_TEST(saving_changes_nothing)
PROPERTY_TEST(every_truncation_is_refused)
PROPERTY_TEST(every_bit_flip_is_detected)
PROPERTY_TEST(every_bit_flip_with_valid_checksum_is_refused_or_usable)
PROPERTY_TEST(forged_counters_are_refused_or_usable)
PROPERTY_TEST(every_truncation_with_valid_checksum_is_refused)

TEST(a_config_is_truncated_to_its_buffer)
{
    weir_sketch *s = open_sketch("count-min memory=512 seed=3");
    char whole[256], cut[8] = "-------";
    size_t length = weir_sketch_config(s, whole, sizeof whole);

    assert_int_equal(length, strlen(whole));
    assert_int_equal(weir_sketch_config(s, cut, 6), length);
    assert_string_equal(cut, "count");
    assert_int_equal(cut[6], '-');
    assert_int_equal(weir_sketch_config(s, NULL, 0), length);
    weir_sketch_close(s);
}

RUN_TESTS("sketch properties")
