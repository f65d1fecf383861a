/* filter_properties.c - properties of every filter, in every configuration.
 *
 * A filter's state is its saved bytes, so "same state" means equal bytes. Streams are long enough
 * for every filter to reach all of its phases at 64 bytes; rsbf changes its phase at 256 / 0.03
 * records. */
#include "support/variants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"

#define STREAM 3000
#define STREAM_TINY 9500 /* with 64 bytes of memory */

static size_t length_of(const struct variant *v)
{
    return sized(v->memory == 64 ? STREAM_TINY : STREAM);
}

static weir_filter *shown(const struct variant *v, const struct weir_key *keys, size_t n)
{
    weir_filter *w = open_filter(v->spec);

    for (size_t i = 0; i < n; i++)
        weir_observe(w, keys[i]);
    return w;
}

/* A variant's keys, and a filter that has observed them. */
struct run {
    size_t n;
    struct weir_key *keys;
    weir_filter *w;
};

static struct run run_of(const struct variant *v)
{
    struct run r = {.n = length_of(v)};
    weir_filter *empty = open_filter(v->spec);

    r.keys = stream_of(empty, r.n, 1);
    weir_close(empty);
    r.w = shown(v, r.keys, r.n);
    return r;
}

static void run_free(struct run *r)
{
    weir_close(r->w);
    free(r->keys);
}

/* ---- asking ---- */

static struct blob whole_block(const weir_filter *w)
{
    size_t size = w->handle.bytes - CACHE_LINE; /* some of them from before the stream */
    struct blob b = {malloc(size), size};

    memcpy(b.data, w, size);
    return b;
}

static void ask_all_ways(const weir_filter *w, const struct weir_key *keys, size_t n)
{
    uint8_t *verdicts = malloc(n);
    char config[SPEC];

    weir_ask_many(w, keys, n, verdicts);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(weir_ask(w, keys[i]), verdicts[i]);
    for (size_t i = 0; i < 200; i++)
        weir_ask(w, numbered(w, i));
    weir_stats_of(w);
    weir_config(w, config, sizeof config);
    weir_saved_size(w);
    free(verdicts);
}

/* Compares the whole allocation, including padding. */
static void property_asking_writes_nothing(const struct variant *v)
{
    struct run r = run_of(v);
    struct blob before = whole_block(r.w);

    ask_all_ways(r.w, r.keys, r.n);
    assert_memory_equal(before.data, r.w, before.size);
    blob_free(before);
    run_free(&r);
}

static void property_ask_predicts_observe(const struct variant *v)
{
    struct run r = run_of(v);

    weir_clear(r.w);
    for (size_t i = 0; i < r.n; i++) {
        enum weir_verdict asked = weir_ask(r.w, r.keys[i]);

        assert_int_equal(asked, weir_observe(r.w, r.keys[i]));
    }
    run_free(&r);
}

static void property_ask_many_equals_single_calls(const struct variant *v)
{
    static const size_t sizes[] = {0, 1, 2, 7, 64, 1000};
    struct run r = run_of(v);
    uint8_t verdicts[1001];

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes && sizes[s] <= r.n; s++) {
        memset(verdicts, 0xee, sizeof verdicts);
        weir_ask_many(r.w, r.keys, sizes[s], verdicts);
        for (size_t i = 0; i < sizes[s]; i++)
            assert_int_equal(verdicts[i], weir_ask(r.w, r.keys[i]));
        assert_int_equal(verdicts[sizes[s]], 0xee);
    }
    run_free(&r);
}

/* ---- the same again ---- */

static void property_same_seed_and_stream_give_the_same_bytes(const struct variant *v)
{
    struct run r = run_of(v);
    weir_filter *again = shown(v, r.keys, r.n);

    assert_same_state(r.w, again);
    weir_close(again);
    run_free(&r);
}

/* Batches of these sizes in turn; the last size repeats. */
static void assert_batches_equal(const struct run *r, const struct variant *v, const size_t *sizes,
                                 size_t n)
{
    weir_filter *one = open_filter(v->spec), *many = open_filter(v->spec);
    uint8_t *verdicts = malloc(r->n + 1);

    for (size_t at = 0, batch = 0; at < r->n; batch++) {
        size_t size = sizes[batch < n ? batch : n - 1];

        size = size < r->n - at ? size : r->n - at;
        verdicts[size] = 0xee;
        weir_observe_many(many, r->keys + at, size, verdicts);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(verdicts[i], weir_observe(one, r->keys[at + i]));
        assert_int_equal(verdicts[size], 0xee);
        at += size;
    }
    assert_same_state(one, many);
    assert_same_state(one, r->w);
    free(verdicts);
    weir_close(one);
    weir_close(many);
}

static void property_batches_equal_single_calls(const struct variant *v)
{
    static const size_t mixed[] = {1, 2, 0, 7, 33, 64, 3, 500, 1, 95, 97};
    static const size_t sizes[] = {1, 2, 7, 64, 1000};
    struct run r = run_of(v);

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_batches_equal(&r, v, &sizes[i], 1);
    assert_batches_equal(&r, v, mixed, sizeof mixed / sizeof *mixed);
    run_free(&r);
}

static weir_filter *reloaded(weir_filter *w)
{
    struct blob b = blob_of(w);
    struct weir_error error;
    size_t used = 0;

    weir_close(w);
    if (weir_load_buffer(&w, b.data, b.size, &used, NULL, &error) != WEIR_OK)
        fail_msg("%s", error.text);
    assert_int_equal(used, b.size);
    blob_free(b);
    return w;
}

static void property_saving_and_loading_change_nothing(const struct variant *v)
{
    struct run r = run_of(v);
    weir_filter *w = reloaded(open_filter(v->spec)), *straight = open_filter(v->spec);

    for (size_t i = 0; i < r.n; i++) {
        assert_int_equal(weir_observe(w, r.keys[i]), weir_observe(straight, r.keys[i]));
        if (i % (r.n / 8) == 3)
            w = reloaded(w);
    }
    assert_same_state(w, r.w);
    weir_close(w);
    weir_close(straight);
    run_free(&r);
}

static void property_a_clone_is_equal_and_independent(const struct variant *v)
{
    struct run r = run_of(v);
    weir_filter *twin = weir_clone(r.w, NULL);
    struct blob before = blob_of(r.w);

    assert_non_null(twin);
    assert_same_state(twin, r.w);
    for (size_t i = 0; i < 100; i++)
        weir_observe(twin, numbered(twin, 1000000 + i));
    struct blob after = blob_of(r.w);
    assert_same_blob(before, after);
    for (size_t i = 0; i < 100; i++)
        weir_observe(r.w, numbered(twin, 1000000 + i));
    assert_same_state(twin, r.w);
    weir_close(twin);
    blob_free(before);
    blob_free(after);
    run_free(&r);
}

static void property_clear_equals_a_new_filter(const struct variant *v)
{
    struct run r = run_of(v);
    weir_filter *empty = open_filter(v->spec), *straight = shown(v, r.keys, r.n);

    weir_clear(r.w);
    assert_same_state(r.w, empty);
    assert_int_equal(weir_stats_of(r.w).observed, 0);
    assert_true(weir_stats_of(r.w).fill == 0);
    for (size_t i = 0; i < r.n; i++)
        weir_observe(r.w, r.keys[i]);
    assert_same_state(r.w, straight);
    weir_close(empty);
    weir_close(straight);
    run_free(&r);
}

/* ---- memory and counts ---- */

static void property_memory_use_is_constant(const struct variant *v)
{
    struct run r = run_of(v);
    weir_filter *w = open_filter(v->spec);
    struct weir_stats at_first = weir_stats_of(w);
    size_t saved = weir_saved_size(w);

    assert_true(at_first.memory > 0 && at_first.bytes >= at_first.memory);
    if (v->memory)
        assert_true(at_first.memory <= v->memory && at_first.memory > v->memory - 64);
    for (size_t i = 0; i < r.n; i++) {
        weir_observe(w, r.keys[i]);
        assert_true(i % 100 || weir_saved_size(w) == saved);
    }
    struct weir_stats at_last = weir_stats_of(w);
    assert_int_equal(at_last.memory, at_first.memory);
    assert_int_equal(at_last.bytes, at_first.bytes);
    assert_int_equal(weir_saved_size(w), saved);
    weir_close(w);
    run_free(&r);
}

static void property_every_key_is_counted_as_seen_or_new(const struct variant *v)
{
    struct run r = run_of(v);
    uint64_t seen = 0;

    weir_clear(r.w);
    for (size_t i = 0; i < r.n; i++)
        seen += weir_observe(r.w, r.keys[i]) == WEIR_SEEN;
    struct weir_stats stats = weir_stats_of(r.w);
    assert_int_equal(stats.observed, r.n);
    assert_int_equal(stats.seen, seen);
    assert_int_equal(stats.new_keys, r.n - seen);
    assert_true(seen > 0 && seen < r.n);
    assert_true(stats.fill > 0 && stats.fill <= 1);
    assert_true(stats.error > 0 && stats.error <= 1);
    run_free(&r);
}

/* Filters that skip some keys on purpose; a new filter of that kind must be added here. With
 * refresh=no, a repeat may be the last record of its key's window. */
static bool samples(const struct variant *v)
{
    return strcmp(v->name, "rsbf") == 0 || strcmp(v->name, "rsbf-tables") == 0 ||
           strstr(v->spec, "window=100 refresh=no");
}

static void property_a_key_just_observed_is_seen(const struct variant *v)
{
    struct run r = run_of(v);

    weir_clear(r.w);
    for (size_t i = 0; i < r.n && !samples(v); i++) {
        weir_observe(r.w, r.keys[i]);
        if (weir_stats_of(r.w).overflow) /* full: set_properties.c tests what it reports then */
            break;
        assert_int_equal(weir_ask(r.w, r.keys[i]), WEIR_SEEN);
    }
    run_free(&r);
}

/* With twenty cells per key, and after the phase in which rsbf skips keys. */
static void property_the_first_key_is_new(const struct variant *v)
{
    weir_filter *w = open_filter(v->spec);

    assert_int_equal(weir_ask(w, numbered(w, 0)), WEIR_NEW);
    assert_int_equal(weir_observe(w, numbered(w, 0)), WEIR_NEW);
    assert_true(weir_stats_of(w).fill > 0 || weir_stats_of(w).memory > 1000000); /* sampled */
    weir_close(w);
}

/* The error rate in the stats equals the false-positive rate of new keys, within 5.2 sigma, and
 * within a fifth because the positions in a small filter are correlated. Asking changes nothing, so
 * all keys see one state. */
static void property_reported_error_equals_measured_error(const struct variant *v)
{
    struct run r = run_of(v);
    double reported = weir_stats_of(r.w).error, measured = 0, n = (double)sized(20000);

    for (uint64_t i = 0; i < (uint64_t)n; i++)
        measured += weir_ask(r.w, numbered(r.w, UINT64_C(1) << 40 | i)) / n;
    double variance = reported * (1 - reported) / n;
    if ((measured - reported) * (measured - reported) > 27 * variance + reported * reported / 25)
        fail_msg("%s: reported %g, measured %g", v->spec, reported, measured);
    run_free(&r);
}

PROPERTY(asking_writes_nothing)
PROPERTY(ask_predicts_observe)
PROPERTY(ask_many_equals_single_calls)
PROPERTY(same_seed_and_stream_give_the_same_bytes)
PROPERTY(batches_equal_single_calls)
PROPERTY(saving_and_loading_change_nothing)
PROPERTY(a_clone_is_equal_and_independent)
PROPERTY(clear_equals_a_new_filter)
PROPERTY(memory_use_is_constant)
PROPERTY(every_key_is_counted_as_seen_or_new)
PROPERTY(a_key_just_observed_is_seen)
PROPERTY(the_first_key_is_new)
PROPERTY(reported_error_equals_measured_error)

/* Batches prefetch some keys ahead: here a window, or its youngest slice, ends within that
 * distance. */
static void windows_of_a_few_keys_are_exact_in_batches(void **state)
{
    for (unsigned window = 1; window <= 12; window++)
        for (unsigned ways = 0; ways < 9; ways++) {
            struct variant v = {.name = "apbf", .memory = 4096};

            snprintf(v.spec, sizeof v.spec, "apbf memory=4K window=%u k=%u slices=%u seed=1",
                     window, 1 + ways / 3, 1 + ways % 3);
            property_batches_equal_single_calls(&v);
            snprintf(v.spec, sizeof v.spec, "recent memory=4K window=%u seed=%u", window, ways);
            property_batches_equal_single_calls(&v);
        }
}

static void every_filter_has_a_description(void **state)
{
    size_t i = 0;

    for (const struct weir_algorithm *a; (a = weir_algorithm_at(WEIR_KIND_FILTER, i)); i++) {
        assert_true(*a->name && *a->idea);
        for (size_t j = 0; weir_parameter_at(WEIR_KIND_FILTER, i, j); j++) {
            const struct weir_parameter *parameter = weir_parameter_at(WEIR_KIND_FILTER, i, j);

            assert_true(*parameter->name && *parameter->takes && *parameter->does);
        }
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(weir_algorithm_at(WEIR_KIND_FILTER, j)->name, a->name);
    }
    assert_null(weir_algorithm_at(WEIR_KIND_FILTER, SIZE_MAX));
    assert_null(weir_parameter_at(WEIR_KIND_FILTER, i, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        property_test(asking_writes_nothing),
        property_test(ask_predicts_observe),
        property_test(ask_many_equals_single_calls),
        property_test(same_seed_and_stream_give_the_same_bytes),
        property_test(batches_equal_single_calls),
        property_test(saving_and_loading_change_nothing),
        property_test(a_clone_is_equal_and_independent),
        property_test(clear_equals_a_new_filter),
        property_test(memory_use_is_constant),
        property_test(every_key_is_counted_as_seen_or_new),
        property_test(a_key_just_observed_is_seen),
        property_test(the_first_key_is_new),
        property_test(reported_error_equals_measured_error),
        cmocka_unit_test(windows_of_a_few_keys_are_exact_in_batches),
        cmocka_unit_test(every_filter_has_a_description),
    };

    return cmocka_run_group_tests_name("properties", tests, NULL, NULL);
}
