/* set_properties.c - properties of filters that are built from a complete set (weir/build.h), in
 * every configuration. They have no weir_observe(), so filter_properties.c does not test them. */
#include "support/variants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/build.h>
#include <weir/saved.h>

#include "filter/filter.h"

#define KEYS 5000 /* distinct */

static const char *const parameters[] = {
    "bits=4",       "bits=5",  "bits=7",  "bits=8",   "bits=9",      "bits=11",  "bits=12",
    "bits=13",      "bits=16", "bits=20", "bits=24",  "bits=32",     "fpr=0.4%", "fpr=0.001",
    "capacity=100", "",        "fpr=10%", "hash=sip", "memory=8000",
};

static char running[SPEC];

static int print_spec(void **state)
{
    if (*running)
        print_error("it was: %s\n", running);
    *running = '\0';
    return 0;
}

/* Key number i, with the seed and hash= of the current spec. */
static struct weir_key key_of(uint64_t i)
{
    static char spec[SPEC];
    static weir_filter *hashes;

    if (!hashes || strcmp(spec, running) != 0) {
        weir_close(hashes);
        hashes = open_filtered("memory=64 seed=11%s", strstr(running, "sip") ? " hash=sip" : "");
        strcpy(spec, running);
    }
    return numbered(hashes, i);
}

static struct weir_key *keys_from(uint64_t from, size_t n)
{
    struct weir_key *keys = calloc(n + 1, sizeof *keys);

    for (size_t i = 0; i < n; i++)
        keys[i] = key_of(from + i);
    return keys;
}

static weir_filter *built(uint64_t from, size_t n)
{
    struct weir_key *keys = keys_from(from, n);
    weir_filter *w = built_filter(running, keys, n);

    free(keys);
    return w;
}

static void for_each_set(void (*property)(void))
{
    for (size_t i = 0; weir_algorithm_at(WEIR_KIND_FILTER, i); i++)
        for (size_t j = 0; j < sizeof parameters / sizeof *parameters; j++) {
            if (can_learn(weir_algorithm_at(WEIR_KIND_FILTER, i)->name))
                continue;
            snprintf(running, sizeof running, "%s %s seed=11",
                     weir_algorithm_at(WEIR_KIND_FILTER, i)->name, parameters[j]);
            property();
            *running = '\0';
        }
}

static void assert_has_all(const weir_filter *w, uint64_t from, size_t n)
{
    struct weir_key *keys = keys_from(from, n);
    uint8_t *verdicts = malloc(n + 1);

    verdicts[n] = 0xee;
    weir_ask_many(w, keys, n, verdicts);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(verdicts[i], WEIR_SEEN);
        assert_int_equal(weir_ask(w, keys[i]), WEIR_SEEN);
    }
    assert_int_equal(verdicts[n], 0xee);
    free(keys);
    free(verdicts);
}

/* ---- members and non-members ---- */

static void property_no_member_is_missed(void)
{
    static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 10, 31, 100, 304, 1010, KEYS};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (strstr(running, "memory=") && sizes[i] == KEYS && strstr(running, "bits=32"))
            continue;
        weir_filter *w = built(0, sizes[i]);

        assert_has_all(w, 0, sizes[i]);
        weir_close(w);
    }
}

/* Within 5.2 sigma. */
static void property_non_members_match_at_the_reported_rate(void)
{
    weir_filter *w = built(0, KEYS);
    double reported = weir_stats_of(w).error, measured = 0, n = (double)sized(400000);

    for (uint64_t i = 0; i < (uint64_t)n; i++)
        measured += weir_ask(w, key_of(UINT64_C(1) << 40 | i)) / n;
    if ((measured - reported) * (measured - reported) >
        27 * reported * (1 - reported) / n + 27 / n / n)
        fail_msg("reported %g, measured %g", reported, measured);
    weir_close(w);
}

static void property_the_empty_set_has_no_member(void)
{
    weir_filter *w = built(0, 0);

    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(weir_ask(w, key_of(i)), WEIR_NEW);
    assert_true(weir_stats_of(w).error == 0 && weir_stats_of(w).fill == 0);
    assert_int_equal(weir_stats_of(w).observed, 0);
    weir_close(w);
}

/* ---- only the set of keys matters ---- */

static void property_order_repeats_and_batches_change_nothing(void)
{
    weir_filter *straight = built(0, 1000), *w = NULL;
    weir_builder *b;

    assert_int_equal(weir_build_begin(&b, running, NULL, NULL), WEIR_OK);
    for (uint64_t i = 0; i < 3000; i++) {
        struct weir_key key = key_of((i * 7919) % 1000);

        assert_int_equal(weir_build_add(b, &key, 1, NULL), WEIR_OK);
    }
    assert_int_equal(weir_build_finish(b, &w, NULL), WEIR_OK);
    assert_int_equal(weir_stats_of(w).observed, 3000);
    assert_int_equal(weir_stats_of(w).seen, 2000);
    assert_int_equal(weir_stats_of(w).new_keys, 1000);
    w->observed = straight->observed;
    w->seen = straight->seen;
    assert_same_state(w, straight);
    weir_close(w);
    weir_close(straight);
}

/* A limited buffer in memory that can be shortened. */
struct room {
    struct blob bytes;
    uint64_t most;
};

static bool put(void *context, uint64_t at, const void *data, size_t size)
{
    struct room *r = context;

    assert_true(at <= r->bytes.size); /* consecutive */
    if (at + size > r->most)
        return false;
    if (at + size > r->bytes.size) {
        r->bytes.data = realloc(r->bytes.data, at + size);
        r->bytes.size = at + size;
    }
    memcpy(r->bytes.data + at, data, size);
    return true;
}

static bool get(void *context, uint64_t at, void *data, size_t size)
{
    const struct room *r = context;

    assert_true(at + size <= r->bytes.size);
    memcpy(data, r->bytes.data + at, size);
    return true;
}

#define MANY 600000 /* more than twice the size of the buffers */

static enum weir_status build_aside(struct room *r, const struct weir_key *keys, weir_filter **w)
{
    struct weir_spill aside = {put, get, r};
    struct weir_error error = {0};
    enum weir_status status;
    weir_builder *b;

    assert_int_equal(weir_build_begin(&b, running, NULL, NULL), WEIR_OK);
    weir_build_spill(b, &aside);
    status = weir_build_add(b, keys, MANY, &error);
    if (status == WEIR_OK)
        status = weir_build_finish(b, w, &error);
    else
        weir_build_cancel(b);
    assert_true(status == WEIR_OK || (error.status == (int)status && *error.text));
    return status;
}

static void keys_spilled_to_disk_give_the_same_filter(void **state)
{
    strcpy(running, "fuse seed=11");
    struct weir_key *keys = keys_from(0, MANY);
    weir_filter *straight = built_filter(running, keys, MANY), *w = NULL;
    struct room r = {{NULL, 0}, UINT64_MAX};

    assert_int_equal(build_aside(&r, keys, &w), WEIR_OK);
    assert_true(r.bytes.size > 8 * MANY / 3 && r.bytes.size <= 8 * MANY);
    assert_same_state(w, straight);
    weir_close(w);
    r.most = r.bytes.size / 2;
    blob_free(r.bytes);
    r.bytes = (struct blob){NULL, 0};
    assert_int_equal(build_aside(&r, keys, &w), WEIR_WRITE_FAILED);
    blob_free(r.bytes);
    free(keys);
    weir_close(straight);
    *running = '\0';
}

/* ---- sizes ---- */

static void property_the_size_is_predicted_exactly(void)
{
    weir_filter *w = built(0, KEYS);
    struct weir_stats stats = weir_stats_of(w);
    char config[SPEC], completed[SPEC];

    weir_config(w, config, sizeof config);
    assert_int_equal(
        weir_spec_complete(WEIR_KIND_FILTER, config, completed, sizeof completed, NULL), WEIR_OK);
    assert_string_equal(completed, config);
    assert_int_equal(stats.memory * 8, w->config.memory);
    assert_int_equal(w->config.capacity, KEYS);
    assert_true(stats.bytes >= stats.memory);
    assert_true(w->config.bits == 4 || stats.error <= 1.0 / 16);
    weir_close(w);
}

/* 1.125 times the bits, within 1 %, from a million keys on. */
static void fuse_uses_the_memory_of_the_paper(void **state)
{
    static const uint64_t sizes[] = {1000000,
                                     1048576,
                                     1376430,
                                     2000000,
                                     2000001,
                                     3999999,
                                     10000000,
                                     100000000,
                                     UINT64_C(1000000000),
                                     UINT64_C(100000000000)};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint64_t bits = 4; bits <= 32; bits += bits < 16 ? 1 : bits == 24 ? 8 : 4) {
            char spec[SPEC], completed[SPEC];
            uint64_t memory;

            snprintf(spec, sizeof spec, "fuse capacity=%llu bits=%d", (unsigned long long)sizes[i],
                     (int)bits);
            assert_int_equal(
                weir_spec_complete(WEIR_KIND_FILTER, spec, completed, sizeof completed, NULL),
                WEIR_OK);
            assert_true(weir_spec_number(completed, "memory", &memory));
            double ratio = 8 * (double)memory / (double)sizes[i] / (double)bits;
            if (ratio < 1.1249 || ratio > 1.125 * 1.01)
                fail_msg("%s: %g", completed, ratio);
        }
}

static void memory_limits_the_fingerprint_bits(void **state)
{
    struct weir_key *keys;
    struct weir_error error = {0};
    weir_builder *b;
    weir_filter *w;

    strcpy(running, "fuse memory=8000 seed=11");
    w = built(0, KEYS);
    assert_true(w->config.bits > 8 && weir_stats_of(w).memory <= 8000);
    weir_close(w);
    keys = keys_from(0, KEYS);
    assert_int_equal(weir_build_begin(&b, "fuse memory=8000 fpr=1e-6 seed=11", NULL, &error),
                     WEIR_OK);
    assert_int_equal(weir_build_add(b, keys, KEYS, &error), WEIR_OK);
    w = (weir_filter *)&error;
    assert_int_equal(weir_build_finish(b, &w, &error), WEIR_FULL);
    assert_null(w);
    assert_int_equal(error.status, WEIR_FULL);
    assert_non_null(strstr(error.text, "memory= is too small: 5000 keys need "));
    free(keys);
    *running = '\0';
}

/* Numbers as hashes: all belong to the same one of two parts. */
static void unhashed_keys_are_refused(void **state)
{
    size_t n = 2100000;
    struct weir_key *keys = calloc(n, sizeof *keys);
    struct weir_error error = {0};
    weir_builder *b;
    weir_filter *w = (weir_filter *)&error;

    for (size_t i = 0; i < n; i++)
        keys[i].lo = i;
    assert_int_equal(weir_build_begin(&b, "fuse seed=11", NULL, NULL), WEIR_OK);
    assert_int_equal(weir_build_add(b, keys, n, NULL), WEIR_OK);
    assert_int_equal(weir_build_finish(b, &w, &error), WEIR_FULL);
    assert_null(w);
    assert_int_equal(error.code, WEIR_ERROR_UNEVEN_KEYS);
    assert_string_equal(
        error.text,
        "fuse cannot store keys that are not spread evenly; hash them with weir/hash.h");
    free(keys);
}

/* ---- files ---- */

static void property_saved_loaded_viewed_and_cloned_are_equal(void)
{
    weir_filter *w = built(0, KEYS), *loaded, *viewed, *twin = weir_clone(w, NULL);
    struct blob b = blob_of(w);

    assert_int_equal(weir_load_buffer(&loaded, b.data, b.size, NULL, NULL, NULL), WEIR_OK);
    assert_int_equal(weir_view_buffer(&viewed, b.data, b.size, NULL, NULL, NULL), WEIR_OK);
    assert_same_state(w, loaded);
    assert_same_state(w, twin);
    assert_has_all(viewed, 0, KEYS);
    for (uint64_t i = 0; i < 2000; i++) {
        struct weir_key key = key_of(UINT64_C(1) << 40 | i);

        assert_int_equal(weir_ask(viewed, key), weir_ask(w, key));
    }
    weir_clear(twin);
    assert_int_equal(weir_ask(twin, key_of(1)), WEIR_NEW);
    assert_int_equal(weir_stats_of(twin).observed, 0);
    weir_close(w);
    weir_close(twin);
    weir_close(loaded);
    weir_close(viewed);
    blob_free(b);
}

/* ---- refused calls ---- */

static void property_open_observe_merge_and_delete_are_refused(void)
{
    weir_filter *w = built(0, 100), *other = built(1000, 100), *opened = w;
    struct weir_error error = {0};
    struct blob before = blob_of(w);

    assert_int_equal(weir_open(&opened, running, &error), WEIR_UNSUPPORTED);
    assert_null(opened);
    assert_non_null(strstr(error.text, "weir build --fixed"));
    assert_int_equal(weir_merge(w, other, &error), WEIR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "build one from the keys of both"));
    assert_int_equal(weir_forget(w, key_of(1), NULL, &error), WEIR_UNSUPPORTED);
#ifndef WEIR_DEBUG /* where it stops the program */
    uint8_t verdicts[100];
    struct weir_key *keys = keys_from(50, 100);

    weir_observe_many(w, keys, 100, verdicts);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(verdicts[i], weir_ask(w, keys[i]));
    assert_int_equal(weir_observe(w, keys[99]), weir_ask(w, keys[99]));
    free(keys);
#endif
    struct blob after = blob_of(w);
    assert_same_blob(before, after);
    blob_free(before);
    blob_free(after);
    weir_close(w);
    weir_close(other);
}

/* ---- builders of filters with weir_observe() ---- */

static void assert_full(const char *spec, const struct weir_key *keys, size_t n)
{
    struct weir_error error = {0};
    weir_builder *b;

    assert_int_equal(weir_build_begin(&b, spec, NULL, NULL), WEIR_OK);
    assert_int_equal(weir_build_add(b, keys, n, &error), WEIR_FULL);
    assert_int_equal(error.status, WEIR_FULL);
    assert_non_null(strstr(error.text, " is full: it is sized for "));
    weir_build_cancel(b);
}

static void property_a_builder_equals_observing(const struct variant *v)
{
    weir_filter *straight = open_filter(v->spec);
    struct weir_key *keys = stream_of(straight, 500, 5);

    for (size_t i = 0; i < 500; i++)
        weir_observe(straight, keys[i]);
    if (weir_stats_of(straight).overflow) {
        assert_full(v->spec, keys, 500);
    } else {
        weir_filter *w = built_filter(v->spec, keys, 500);

        assert_same_state(w, straight);
        weir_close(w);
    }
    weir_close(straight);
    free(keys);
}

PROPERTY(a_builder_equals_observing)

static void a_builder_can_be_closed_at_any_time(void **state)
{
    static const char *const specs[] = {"fuse seed=1", "bloom memory=1K seed=1"};

    for (size_t i = 0; i < 2; i++)
        for (size_t n = 0; n < 3000; n += 1499) {
            weir_builder *b;
            char config[SPEC];

            assert_int_equal(weir_build_begin(&b, specs[i], NULL, NULL), WEIR_OK);
            for (size_t j = 0; j < n; j++)
                assert_int_equal(
                    weir_build_add_bytes(b, &(struct weir_bytes){&j, sizeof j}, 1, NULL), WEIR_OK);
            assert_true(weir_build_config(b, config, sizeof config) > 0);
            assert_non_null(strstr(config, "seed=1"));
            weir_build_cancel(b);
        }
    weir_build_cancel(NULL);
}

static void a_bad_spec_opens_no_builder(void **state)
{
    struct weir_error error = {0};
    weir_builder *b = (weir_builder *)&error;

    assert_int_equal(weir_build_begin(&b, "fuse bits=17", NULL, &error), WEIR_BAD_CONFIG);
    assert_null(b);
    assert_string_equal(error.text, "bits=17: invalid value; use 4 to 16, 20, 24 or 32");
    assert_int_equal(weir_build_begin(&b, "fuse fpr=1e-12", NULL, &error), WEIR_BAD_CONFIG);
    assert_int_equal(weir_build_begin(&b, "fuse k=3", NULL, &error), WEIR_BAD_CONFIG);
    assert_int_equal(weir_build_begin(&b, "fuse bits=8 fpr=0.1%", NULL, &error), WEIR_BAD_CONFIG);
}

/* Several parts; each key occurs three times. Checks members and non-members. */
static void sets_of_several_parts_miss_no_member(void **state)
{
    size_t n = sized(4500000);
    weir_builder *b;
    weir_filter *w;
    uint64_t missed = 0, measured = 0;

    strcpy(running, "fuse bits=8 seed=11");
    assert_int_equal(weir_build_begin(&b, running, NULL, NULL), WEIR_OK);
    for (uint64_t i = 0; i < n + n / 3; i++) {
        struct weir_key key = key_of(i % n);

        assert_int_equal(weir_build_add(b, &key, 1, NULL), WEIR_OK);
    }
    assert_int_equal(weir_build_finish(b, &w, NULL), WEIR_OK);
    assert_int_equal(weir_stats_of(w).new_keys, n);
    for (uint64_t i = 0; i < n; i++) {
        missed += weir_ask(w, key_of(i)) == WEIR_NEW;
        measured += weir_ask(w, key_of(UINT64_C(1) << 40 | i));
    }
    assert_int_equal(missed, 0);
    assert_true(8.0 * (double)weir_stats_of(w).memory < 9.1 * (double)n || n < 1000000);
    double off = (double)measured - (double)n / 256;
    assert_true(off * off < 27 * (double)n / 256);
    weir_close(w);
    *running = '\0';
}

#define SET_PROPERTY(name)                                                                         \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        for_each_set(property_##name);                                                             \
    }
#define set_property_test(name) cmocka_unit_test_teardown(name, print_spec)

SET_PROPERTY(no_member_is_missed)
SET_PROPERTY(non_members_match_at_the_reported_rate)
SET_PROPERTY(the_empty_set_has_no_member)
SET_PROPERTY(order_repeats_and_batches_change_nothing)
SET_PROPERTY(the_size_is_predicted_exactly)
SET_PROPERTY(saved_loaded_viewed_and_cloned_are_equal)
SET_PROPERTY(open_observe_merge_and_delete_are_refused)

int main(void)
{
    const struct CMUnitTest tests[] = {
        set_property_test(no_member_is_missed),
        set_property_test(non_members_match_at_the_reported_rate),
        set_property_test(the_empty_set_has_no_member),
        set_property_test(order_repeats_and_batches_change_nothing),
        set_property_test(the_size_is_predicted_exactly),
        set_property_test(saved_loaded_viewed_and_cloned_are_equal),
        set_property_test(open_observe_merge_and_delete_are_refused),
        cmocka_unit_test(keys_spilled_to_disk_give_the_same_filter),
        cmocka_unit_test(fuse_uses_the_memory_of_the_paper),
        cmocka_unit_test(memory_limits_the_fingerprint_bits),
        cmocka_unit_test(unhashed_keys_are_refused),
        property_test(a_builder_equals_observing),
        cmocka_unit_test(a_builder_can_be_closed_at_any_time),
        cmocka_unit_test(a_bad_spec_opens_no_builder),
        cmocka_unit_test(sets_of_several_parts_miss_no_member),
    };

    return cmocka_run_group_tests_name("set properties", tests, NULL, NULL);
}
