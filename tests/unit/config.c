/* config.c - valid and invalid specs, and the messages for invalid ones. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>
#include <weir/build.h>
#include <weir/screen.h>
#include <weir/shared.h>
#include <weir/sketch.h>

#include "filter/filter.h"
#include "support/variants.h"

static void assert_completed(const char *spec, const char *completed)
{
    weir_filter *w = open_filter(spec);
    char config[SPEC];

    assert_int_equal(weir_config(w, config, sizeof config), strlen(completed));
    assert_string_equal(config, completed);
    weir_close(w);
}

/* ---- valid specs ---- */

static void every_parameter_is_optional(void **state)
{
    weir_filter *w = open_filter(NULL), *v = open_filter(" \t\n");
    char config[SPEC], other[SPEC];

    assert_completed("seed=7",
                     "recent memory=67108864 width=16 slots=31 importance=none hash=xxh3 seed=7");
    weir_config(w, config, sizeof config);
    weir_config(v, other, sizeof other);
    assert_memory_equal(
        config, "recent memory=67108864 width=16 slots=31 importance=none hash=xxh3 seed=", 70);
    assert_string_not_equal(config, other); /* two random seeds */
    weir_close(w);
    weir_close(v);
}

static void every_filter_has_its_defaults(void **state)
{
    static const char *const filters[][2] = {
        {"recent", "width=16 slots=31 importance=none"},
        {"bloom", "k=4"},
        {"counting", "k=4 cell=4"},
        {"sbf", "k=3 cell=1 decay=11"},
        {"ibf-2c", "k=5 cell=3 decay=10 importance=percentile"},
        {"ibf-mc", "k=5 cell=3 decay=10 importance=percentile"},
        {"ibf-h", "k=5 cell=3 decay=10 importance=percentile"},
        {"rsbf", "k=2 p-star=0.03"},
        {"rsbf-tables", "k=2 p-star=0.03"},
        {"bsbf", "k=2"},
        {"bsbfsd", "k=2"},
        {"rlbsbf", "k=2"},
        {"two-buffer", "k=8 window=23749"},
        {"apbf", "k=10 window=25632 slices=24"},
    };

    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        char spec[SPEC], completed[SPEC];

        snprintf(spec, sizeof spec, "%s memory=64K seed=1", filters[i][0]);
        snprintf(completed, sizeof completed, "%s memory=65536 %s hash=xxh3 seed=1", filters[i][0],
                 filters[i][1]);
        assert_completed(spec, completed);
    }
}

static void parameters_are_accepted_in_any_order_and_unit(void **state)
{
    assert_completed("  seed=1   width=12\tmemory=1KiB\n",
                     "recent memory=1024 width=12 slots=42 importance=none hash=xxh3 seed=1");
    assert_completed("bloom hash=sip seed=1 capacity=0.1k memory=1000bit",
                     "bloom memory=125 capacity=100 k=7 hash=sip seed=1");
    assert_completed("bloom memory=1001bit seed=1", "bloom memory=1001bit k=4 hash=xxh3 seed=1");
    assert_completed("rsbf memory=64 p-star=2.5% seed=18446744073709551615",
                     "rsbf memory=64 k=2 p-star=0.025 hash=xxh3 seed=18446744073709551615");
    assert_completed(
        "ibf-mc memory=64 importance=1k-1M seed=0 decay=2",
        "ibf-mc memory=64 k=5 cell=3 decay=2 importance=1000-1000000 hash=xxh3 seed=0");
    assert_completed(
        "ibf-h memory=64 importance=0-4294967295 seed=0",
        "ibf-h memory=64 k=5 cell=3 decay=10 importance=0-4294967295 hash=xxh3 seed=0");
    assert_completed("sbf memory=64 decay=65535 k=2 seed=1", /* never more than half of the cells */
                     "sbf memory=64 k=2 cell=1 decay=256 hash=xxh3 seed=1");
}

/* Like snprintf(): returns the full length even if it is truncated, and writes nothing beyond the
 * buffer. */
#define ASSERT_CUT(call, handle)                                                                   \
    do {                                                                                           \
        char whole[WEIR_SPEC_MAX], cut[WEIR_SPEC_MAX];                                             \
        size_t length = call(handle, whole, sizeof whole);                                         \
                                                                                                   \
        assert_int_equal(length, strlen(whole));                                                   \
        assert_int_equal(call(handle, NULL, 0), length);                                           \
        for (size_t size = 1; size <= length + 1; size++) {                                        \
            memset(cut, '-', sizeof cut);                                                          \
            assert_int_equal(call(handle, cut, size), length);                                     \
            assert_int_equal(strlen(cut), size - 1);                                               \
            assert_memory_equal(cut, whole, size - 1);                                             \
            assert_int_equal(cut[size], '-');                                                      \
        }                                                                                          \
    } while (0)

static size_t memory_in(const char *spec, char *buffer, size_t size)
{
    return weir_spec_get(spec, "memory", buffer, size);
}

static void a_config_is_truncated_to_its_buffer(void **state)
{
    weir_filter *w = open_filter("bloom memory=64 seed=1");
    struct weir_error error;
    weir_builder *builder;
    weir_sketch *sketch;
    weir_screen *screen;
    weir_shared *shared;

    assert_int_equal(weir_build_begin(&builder, "fuse seed=1", NULL, &error), WEIR_OK);
    assert_int_equal(weir_sketch_open(&sketch, "top memory=4K", &error), WEIR_OK);
    assert_int_equal(weir_screen_open(&screen, "cache memory=4K", &error), WEIR_OK);
    assert_int_equal(weir_shared_open(&shared, "bloom memory=4K", 2, NULL, &error), WEIR_OK);
    ASSERT_CUT(weir_config, w);
    ASSERT_CUT(weir_build_config, builder);
    ASSERT_CUT(weir_sketch_config, sketch);
    ASSERT_CUT(weir_screen_config, screen);
    ASSERT_CUT(weir_shared_config, shared);
    ASSERT_CUT(memory_in, "bloom memory=1234567");
    weir_shared_close(shared);
    weir_screen_close(screen);
    weir_sketch_close(sketch);
    weir_build_cancel(builder);
    weir_close(w);
}

/* The completed spec opens an equal filter: same spec, same empty state, same state after a stream.
 */
static void property_a_completed_spec_opens_an_equal_filter(const struct variant *v)
{
    weir_filter *w = open_filter(v->spec), *again;
    char config[SPEC];

    weir_config(w, config, sizeof config);
    again = open_filter(config);
    for (uint64_t i = 0; i < 300; i++)
        assert_int_equal(weir_observe(w, numbered(w, i % 200)),
                         weir_observe(again, numbered(again, i % 200)));
    assert_same_state(w, again);
    weir_close(w);
    weir_close(again);
}

PROPERTY(a_completed_spec_opens_an_equal_filter)

/* Not opened: the extremes would need terabytes. */
static void assert_planned_again(const char *spec)
{
    const struct grammar *g = &filter_grammar;
    struct planned p, again;
    char first[WEIR_SPEC_MAX], second[WEIR_SPEC_MAX];
    struct weir_error error;

    if (!spec_read(g, spec, &p, &error) || !g->plan(&p, &error))
        return;
    spec_write(g, &p, first, sizeof first);
    if (!spec_read(g, first, &again, &error) || !g->plan(&again, &error))
        fail_msg("'%s' becomes '%s', which is refused: %s", spec, first, error.text);
    spec_write(g, &again, second, sizeof second);
    assert_string_equal(first, second);
    assert_memory_equal(&p.shape, &again.shape, sizeof p.shape);
    assert_true(p.shape.cells > 0 && p.shape.planes > 0 && p.shape.lines > 0);
}

static void extreme_configurations_complete_to_themselves(void **state)
{
    static const char *const parameters[][5] = {
        {"", "memory=64", "memory=16T", "memory=513bit", "memory=1M"},
        {"", "fpr=1e-300", "fpr=0.9999999999999999", "fpr=1e-9", "fpr=0.3"},
        {"", "k=1", "k=32", "k=13", "k=2"},
        {"", "capacity=1", "capacity=1T", "cell=8", "cell=1"},
        {"", "window=1", "window=1T", "slices=96", "slices=7"},
        {"", "decay=1", "decay=65535", "width=9 slots=2", "importance=log"},
    };

    for (size_t f = 0; weir_algorithm_at(WEIR_KIND_FILTER, f); f++)
        for (int i = 0; i < 15625; i++) {
            char spec[SPEC];
            int n = i;

            snprintf(spec, sizeof spec, "%s", weir_algorithm_at(WEIR_KIND_FILTER, f)->name);
            for (size_t j = 0; j < 6; j++, n /= 5)
                if (*parameters[j][n % 5]) {
                    strcat(spec, " ");
                    strcat(spec, parameters[j][n % 5]);
                }
            assert_planned_again(spec);
        }
}

/* ---- invalid specs ---- */

static void assert_unknown(const char *name, const char *shown)
{
    char expected[SPEC];

    snprintf(expected, sizeof expected, "there is no filter '%s'; there are %s", shown,
             names_with(WEIR_KIND_FILTER, 0).text);
    assert_refused(name, expected);
}

static void unknown_names_list_the_known_ones(void **state)
{
    assert_unknown("blom", "blom");
    assert_unknown("Bloom memory=1K", "Bloom");
    assert_unknown("bl\001\xffm", "bl??m");
    assert_unknown("a-name-that-is-much-longer-than-any-name-of-a-filter",
                   "a-name-that-is-much-longer-than-any-name-of-...");
}

static void unknown_parameters_list_the_known_ones(void **state)
{
    assert_refused("bloom decay=3", "bloom has no parameter 'decay'; it takes memory, capacity, "
                                    "fpr, k, hash, seed");
    assert_refused("bloom Memory=1K", "bloom has no parameter 'Memory'; it takes memory, capacity, "
                                      "fpr, k, hash, seed");
    assert_refused("bsbfsd fpr=0.1",
                   "bsbfsd has no parameter 'fpr'; it takes memory, k, hash, seed");
    assert_refused("=5",
                   "recent has no parameter ''; it takes memory, fpr, window, span, ttl, expire, "
                   "refresh, width, slots, importance, enter, hash, seed");
    assert_refused("apbf cell=2", "apbf has no parameter 'cell'; it takes memory, fpr, k, window, "
                                  "slices, hash, seed");
    assert_refused("ibf-h p-star=1", "ibf-h has no parameter 'p-star'; it takes memory, fpr, k, "
                                     "cell, decay, importance, hash, seed");
}

static void words_must_be_parameters(void **state)
{
    assert_refused("bloom memory",
                   "'memory' is not of the form parameter=value, such as memory=64M");
    assert_refused("memory=1K bloom",
                   "'bloom' is not of the form parameter=value, such as memory=64M");
    assert_refused("bloom k=2 k=2", "k is given twice");
    assert_refused("bloom memory=1K memory=2K", "memory is given twice");
}

/* Every parameter, with values just outside its range. */
static void values_out_of_range_are_refused_with_the_range(void **state)
{
    static const char *const bad[][3] = {
        {"bloom", "memory", "63|511bit|17T|0||64x|64Mb|-64|1.0000001K"},
        {"bloom", "capacity", "0|1000000000001|2T|1.5||ten"},
        {"bloom", "fpr", "0|1|100%|2|1e-301||nan|0.1.1|-0.1"},
        {"bloom", "k", "0|33|2.5||two|0x2"},
        {"counting", "cell", "0|9|1k"},
        {"sbf", "decay", "0|65536|1M"},
        {"rsbf", "p-star", "1.1|101%|-1||x"},
        {"apbf", "window", "0|1000000000001|2T"},
        {"apbf", "slices", "0|97"},
        {"ibf-mc", "importance", "50-1|5-5|1-5G|1-4294967296|linear|1|-|1-|-5|1-2-3|Log||1--5"},
        {"recent", "enter", "adapt|51%||-0.1|1e9"},
        {"bloom", "hash", "md5||SIP|xxh|sipp"},
        {"bloom", "seed", "18446744073709551616|-1|0x1||1.5"},
    };
    static const char *const takes[] = {
        "a size from 64 (bytes) to 16T: 64M, 1G, 1000bit",
        "a count from 1 to 1T: 100k, 10M",
        "a rate above 0 and below 1: 0.01, 1%, 1e-4",
        "a whole number from 1 to 32",
        "a whole number from 1 to 8",
        "a whole number from 1 to 65535",
        "a rate from 0 to 1: 0.03, 3%",
        "a count from 1 to 1T: 100k, 10M",
        "a whole number from 1 to 96",
        "a range such as 1-50, or log, percentile, capped or none",
        "front, or a share of the line up to half: 0.25, 10%",
        "xxh3, or sip for untrusted keys",
        "a whole number below 2^64",
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (const char *value = bad[i][2]; value; value = strchr(value, '|')) {
            char spec[SPEC], expected[SPEC];

            value += *value == '|' && value != bad[i][2];
            int n = (int)strcspn(value, "|");
            snprintf(spec, sizeof spec, "%s %s=%.*s", bad[i][0], bad[i][1], n, value);
            snprintf(expected, sizeof expected, "%s=%.*s: invalid value; use %s", bad[i][1], n,
                     value, takes[i]);
            assert_refused(spec, expected);
        }
}

static void error_rates_that_cannot_be_reached_are_refused(void **state)
{
    assert_refused("bloom capacity=1M memory=1K fpr=0.01",
                   "fpr=0.01 cannot be kept: bloom reaches 1 with these parameters; give it more "
                   "memory or less capacity");
    assert_refused("counting capacity=1k memory=2K fpr=0.01",
                   "fpr=0.01 cannot be kept: counting reaches 0.141 with these parameters; give it "
                   "more memory or less capacity");
    assert_refused("bloom memory=64 fpr=1e-300",
                   "fpr=1e-300 cannot be kept: bloom reaches 1.09e-39 with these parameters; give "
                   "it more memory or less capacity");
    assert_refused("sbf k=1 fpr=1e-6",
                   "fpr=0.000001 cannot be kept: sbf reaches 0.0000153 with these parameters; "
                   "leave k and decay out, or allow more");
    assert_refused("ibf-mc decay=1 fpr=50%",
                   "fpr=0.5 cannot be kept: ibf-mc reaches 1 with these parameters; leave decay "
                   "out, or allow more");
    assert_refused("bsbf k=2 fpr=0.3", "fpr=0.3 cannot be kept: bsbf reaches 0.382 with these "
                                       "parameters; leave k out or allow more");
    assert_refused("rlbsbf k=2 fpr=0.5", "fpr=0.5 cannot be kept: rlbsbf reaches 0.57 with these "
                                         "parameters; leave k out or allow more");
    assert_refused("two-buffer memory=64 window=1 k=1 fpr=1e-6",
                   "fpr=0.000001 cannot be kept: two-buffer reaches 0.0078 with these parameters; "
                   "give it more memory or a smaller window");
    assert_refused("apbf k=1 fpr=1%", "fpr=0.01 cannot be kept: apbf reaches 0.75 with these "
                                      "parameters; leave k and slices out, or allow more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_parameter_is_optional),
        cmocka_unit_test(every_filter_has_its_defaults),
        cmocka_unit_test(parameters_are_accepted_in_any_order_and_unit),
        cmocka_unit_test(a_config_is_truncated_to_its_buffer),
        property_test(a_completed_spec_opens_an_equal_filter),
        cmocka_unit_test(extreme_configurations_complete_to_themselves),
        cmocka_unit_test(unknown_names_list_the_known_ones),
        cmocka_unit_test(unknown_parameters_list_the_known_ones),
        cmocka_unit_test(words_must_be_parameters),
        cmocka_unit_test(values_out_of_range_are_refused_with_the_range),
        cmocka_unit_test(error_rates_that_cannot_be_reached_are_refused),
    };

    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
