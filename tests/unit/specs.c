/* specs.c - specs as values: completing them, reading parameters and traits, without opening
 * anything. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#define WEIR_UNSTABLE
#include <weir/plan.h>
#include <weir/screen.h>
#include <weir/sketch.h>

#include "filter/filter.h"
#include "spec/caller_struct.h"
#include "support/support.h"
#include "support/variants.h"

static void assert_completed(enum weir_kind kind, const char *spec, const char *expected)
{
    char completed[WEIR_SPEC_MAX];
    struct weir_error error;

    if (weir_spec_complete(kind, spec, completed, sizeof completed, &error) != WEIR_OK)
        fail_msg("%s", error.text);
    assert_string_equal(completed, expected);
}

static uint64_t traits_of(enum weir_kind kind, const char *spec)
{
    struct weir_error error;
    uint64_t traits = 0;

    if (weir_spec_traits(kind, spec, &traits, &error) != WEIR_OK)
        fail_msg("%s", error.text);
    return traits;
}

/* ---- completing ---- */

static void property_what_is_completed_is_what_would_be_opened(const struct variant *v)
{
    weir_filter *w = open_filter(v->spec);
    char opened[WEIR_SPEC_MAX];

    weir_config(w, opened, sizeof opened);
    assert_completed(WEIR_KIND_FILTER, v->spec, opened);
    weir_close(w);
}

PROPERTY(what_is_completed_is_what_would_be_opened)

static void specs_of_sketches_and_screens_are_completed(void **state)
{
    assert_completed(WEIR_KIND_SKETCH, "top memory=1M seed=1",
                     "top memory=1048576 keys=10081 hash=xxh3 seed=1");
    assert_completed(WEIR_KIND_SCREEN, "seed=7",
                     "cache memory=1048576 width=20 slots=24 hash=xxh3 seed=7");
}

static void each_completion_without_a_seed_gets_another_one(void **state)
{
    char a[WEIR_SPEC_MAX], b[WEIR_SPEC_MAX];

    assert_int_equal(weir_spec_complete(WEIR_KIND_FILTER, NULL, a, sizeof a, NULL), WEIR_OK);
    assert_int_equal(weir_spec_complete(WEIR_KIND_FILTER, NULL, b, sizeof b, NULL), WEIR_OK);
    assert_string_not_equal(a, b);
}

static void completion_and_open_reject_the_same_specs(void **state)
{
    char buffer[WEIR_SPEC_MAX];
    struct weir_error error;

    assert_int_equal(
        weir_spec_complete(WEIR_KIND_SKETCH, "top keys=x", buffer, sizeof buffer, &error),
        WEIR_BAD_CONFIG);
    assert_string_equal(error.text, "keys=x: invalid value; use a count from 1 to 100M: 1000, "
                                    "100k");
    assert_int_equal(weir_spec_complete(WEIR_KIND_FILTER, "bloom", buffer, 10, &error),
                     WEIR_BAD_CONFIG);
    assert_string_equal(
        error.text, "the buffer is too small for the spec; WEIR_SPEC_MAX bytes are always enough");
    assert_int_equal(weir_spec_traits(WEIR_KIND_SCREEN, "bloom", NULL, NULL), WEIR_BAD_CONFIG);
}

/* ---- parameters ---- */

/* For example from a later version. */
static void an_unknown_kind_has_no_algorithms(void **state)
{
    enum weir_kind kind = (enum weir_kind)(WEIR_KIND_SCREEN + 1);
    char completed[WEIR_SPEC_MAX];
    struct weir_error error;
    uint64_t traits;

    assert_null(weir_algorithm_at(kind, 0));
    assert_null(weir_parameter_at(kind, 0, 0));
    assert_null(weir_find_algorithm(kind, "weir"));
    assert_null(weir_find_parameter(kind, "weir", "memory"));
    assert_int_equal(weir_spec_complete(kind, "", completed, sizeof completed, &error),
                     WEIR_BAD_CONFIG);
    assert_string_equal(error.text,
                        "unknown kind; use 0 for filters, 1 for sketches, 2 for screens");
    assert_int_equal(weir_spec_traits(kind, "", &traits, NULL), WEIR_BAD_CONFIG);
}

static void a_parameter_is_read_from_a_spec(void **state)
{
    const char *spec = "recent memory=1000bit window=500 span=4000ms importance=1-50 seed=18";
    char value[8];
    uint64_t number;

    assert_int_equal(weir_spec_get(spec, "importance", value, sizeof value), 4);
    assert_string_equal(value, "1-50");
    assert_int_equal(weir_spec_get(spec, "memory", value, 3), 7);
    assert_string_equal(value, "10");
    assert_int_equal(weir_spec_get(spec, "memory", NULL, 0), 7);
    assert_int_equal(weir_spec_get(spec, "mem", value, sizeof value), 0);
    assert_string_equal(value, "");
    assert_true(weir_spec_number(spec, "memory", &number) && number == 125);
    assert_true(weir_spec_number(spec, "window", &number) && number == 500);
    assert_true(weir_spec_number(spec, "span", &number) && number == 4000);
    assert_false(weir_spec_number(spec, "importance", &number));
    assert_false(weir_spec_number(spec, "k", &number));
    assert_false(weir_spec_number("bloom memory=64M", "memory", &number));
}

static void an_algorithm_is_found_by_the_name_in_its_spec(void **state)
{
    assert_string_equal(weir_find_algorithm(WEIR_KIND_FILTER, "bloom k=nonsense")->name, "bloom");
    assert_ptr_equal(weir_find_algorithm(WEIR_KIND_FILTER, ""),
                     weir_algorithm_at(WEIR_KIND_FILTER, 0));
    assert_ptr_equal(weir_find_algorithm(WEIR_KIND_FILTER, "k=3"),
                     weir_algorithm_at(WEIR_KIND_FILTER, 0));
    assert_ptr_equal(weir_find_algorithm(WEIR_KIND_SCREEN, NULL),
                     weir_algorithm_at(WEIR_KIND_SCREEN, 0));
    assert_null(weir_find_algorithm(WEIR_KIND_SKETCH, "memory=1M"));
    assert_null(weir_find_algorithm(WEIR_KIND_FILTER, "blom"));
    assert_non_null(weir_find_parameter(WEIR_KIND_FILTER, "bloom", "capacity"));
    assert_non_null(weir_find_parameter(WEIR_KIND_FILTER, "bloom", "capacity=3"));
    assert_null(weir_find_parameter(WEIR_KIND_FILTER, "bloom", "window"));
    assert_null(weir_find_parameter(WEIR_KIND_FILTER, "blom", "memory"));
}

/* ---- shares ---- */

static void assert_share(const char *spec, uint32_t n, const char *expected)
{
    char share[WEIR_SPEC_MAX];
    struct weir_error error;

    if (weir_shard_spec(spec, n, share, sizeof share, &error) != WEIR_OK)
        fail_msg("%s", error.text);
    assert_string_equal(share, expected);
}

static void sizes_are_divided_among_shards(void **state)
{
    char share[WEIR_SPEC_MAX];
    struct weir_error error;

    assert_share("bloom memory=1001 k=4 seed=1", 4, "bloom memory=250 k=4 hash=xxh3 seed=1");
    assert_share("bloom memory=8001bit k=4 seed=1", 2, "bloom memory=500 k=4 hash=xxh3 seed=1");
    assert_share("two-buffer memory=64K k=4 window=3 seed=1", 4,
                 "two-buffer memory=16384 k=4 window=1 hash=xxh3 seed=1");
    assert_share("bloom memory=255 k=1 seed=1", 4, "bloom memory=64 k=1 hash=xxh3 seed=1");
    assert_int_equal(weir_shard_spec("bloom memory=1K k=1", 0, share, sizeof share, &error),
                     WEIR_BAD_CONFIG);
    assert_string_equal(error.text, "0 shards: invalid number; use 1 or more");
}

static const char *const sizes[] = {
    "", "memory=64", "memory=1237bit", "memory=2K", "memory=4001", "memory=2M", "memory=1G"};
static const char *const others[] = {
    "",           "fpr=99%",     "fpr=1%",       "fpr=0.01%",
    "capacity=1", "capacity=77", "capacity=10k", "capacity=100k fpr=1%",
    "window=1",   "window=3",    "window=100k",  "window=100 refresh=no",
    "span=1m",    "slices=96",   "k=1",          "k=32",
    "cell=8",     "decay=70",    "p-star=0",     "bits=4",
    "bits=32",    "slots=3",     "width=8",      "importance=log",
    "enter=25%"};

/* Bytes by which the memory of n shards may exceed the total. */
static uint64_t spare(const char *whole, uint32_t n)
{
    uint64_t memory = 0;

    weir_spec_number(whole, "memory", &memory);
    return can_learn(weir_find_algorithm(WEIR_KIND_FILTER, whole)->name)
               ? UINT64_C(128) * n
               : memory / 8 + UINT64_C(256) * n;
}

static void check_share(const char *whole, uint32_t n)
{
    char share[WEIR_SPEC_MAX], again[WEIR_SPEC_MAX];
    struct weir_error error;
    uint64_t all = 0, part = 0;

    if (weir_shard_spec(whole, n, share, sizeof share, &error) != WEIR_OK ||
        weir_spec_complete(WEIR_KIND_FILTER, share, again, sizeof again, &error) != WEIR_OK)
        fail_msg("%s in %u shards: %s", whole, n, error.text);
    assert_string_equal(share, again);
    assert_true(weir_spec_number(whole, "memory", &all) &&
                weir_spec_number(share, "memory", &part));
    if (n * part > all + spare(whole, n))
        fail_msg("%s in %u shards: %s", whole, n, share);
}

static void every_filter_can_be_divided(void **state)
{
    char spec[SPEC], whole[WEIR_SPEC_MAX];
    size_t checked = 0;

    for (size_t i = 0; weir_algorithm_at(WEIR_KIND_FILTER, i); i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++)
            for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
                snprintf(spec, sizeof spec, "%s %s %s seed=1",
                         weir_algorithm_at(WEIR_KIND_FILTER, i)->name, sizes[j], others[k]);
                if (weir_spec_complete(WEIR_KIND_FILTER, spec, whole, sizeof whole, NULL) !=
                    WEIR_OK)
                    continue;
                for (uint32_t n = 1; n <= 16; n++, checked++)
                    check_share(whole, n);
            }
    assert_true(checked > 10000);
}

/* ---- traits: filters behave as their traits state ---- */

static void property_traits_are_what_the_filter_does(const struct variant *v)
{
    uint64_t traits = traits_of(WEIR_KIND_FILTER, v->spec);
    weir_filter *w = open_filter(v->spec), *other = open_filter(v->spec);
    bool merged = weir_merge(w, other, NULL) == WEIR_OK;
    struct weir_key key = numbered(w, 1);

    assert_int_equal(merged, (traits & WEIR_CAN_MERGE) != 0);
    weir_observe(w, key);
    assert_int_equal(weir_forget(w, key, NULL, NULL) == WEIR_OK, (traits & WEIR_CAN_FORGET) != 0);
    weir_close(w);
    weir_close(other);
}

PROPERTY(traits_are_what_the_filter_does)

/* After far more distinct keys than fit, a filter that keeps all keys misses none of the first
 * ones; a filter for unbounded streams has forgotten some of them and still reports new keys. */
static void filters_keep_or_forget_as_their_traits_state(void **state)
{
    for (size_t i = 0; weir_algorithm_at(WEIR_KIND_FILTER, i); i++) {
        uint64_t traits = weir_algorithm_at(WEIR_KIND_FILTER, i)->traits, missed = 0;

        if (!(traits & WEIR_CAN_OBSERVE))
            continue;
        weir_filter *w =
            open_filtered("%s memory=4K seed=1", weir_algorithm_at(WEIR_KIND_FILTER, i)->name);

        for (uint64_t j = 0; j < 500000; j++)
            weir_observe(w, numbered(w, j));
        for (uint64_t j = 0; j < 1000; j++)
            missed += weir_ask(w, numbered(w, j)) == WEIR_NEW;
        assert_int_equal(missed == 0, (traits & WEIR_CAN_KEEP_ALL) != 0);
        if ((traits & WEIR_CAN_KEEP_ALL && !weir_stats_of(w).overflow) ||
            traits & WEIR_CAN_RUN_FOREVER)
            assert_int_equal(weir_stats_of(w).error < 0.9, (traits & WEIR_CAN_RUN_FOREVER) != 0);
        weir_close(w);
    }
}

static void traits_follow_the_parameters(void **state)
{
    uint64_t plain = traits_of(WEIR_KIND_FILTER, "recent"),
             windowed = traits_of(WEIR_KIND_FILTER, "recent window=1000"),
             timed = traits_of(WEIR_KIND_FILTER, "recent span=1h"),
             weighed = traits_of(WEIR_KIND_FILTER, "recent importance=log");

    const uint64_t always = WEIR_CAN_OBSERVE | WEIR_CAN_RUN_FOREVER | WEIR_CAN_ONE_LINE;

    assert_int_equal(plain, always | WEIR_CAN_MERGE);
    assert_int_equal(windowed, always | WEIR_CAN_WINDOW);
    assert_int_equal(timed, always | WEIR_CAN_TIME);
    assert_int_equal(weighed, always | WEIR_CAN_MERGE | WEIR_CAN_IMPORTANCE);
    assert_true(traits_of(WEIR_KIND_SKETCH, "count-min") & WEIR_CAN_FORGET);
    assert_false(traits_of(WEIR_KIND_SKETCH, "count-min update=conservative") & WEIR_CAN_FORGET);
    assert_true(traits_of(WEIR_KIND_SKETCH, "top half-life=1h") & WEIR_CAN_TIME);
    assert_true(traits_of(WEIR_KIND_SKETCH, "top half-life=1k") & WEIR_CAN_WINDOW);
    assert_false(traits_of(WEIR_KIND_SKETCH, "top") & (WEIR_CAN_TIME | WEIR_CAN_WINDOW));
}

static void sketches_match_their_traits(void **state)
{
    for (size_t i = 0; weir_algorithm_at(WEIR_KIND_SKETCH, i); i++) {
        const char *name = weir_algorithm_at(WEIR_KIND_SKETCH, i)->name;
        uint64_t traits = traits_of(WEIR_KIND_SKETCH, name);
        struct weir_bytes key = {"key", 3};
        struct weir_heavy heavy;
        weir_sketch *s, *other;

        assert_int_equal(weir_sketch_open(&s, name, NULL), WEIR_OK);
        weir_sketch_add(s, key, 2);
        assert_int_equal(weir_sketch_top(s, &heavy, 1), (traits & WEIR_CAN_LIST) != 0);
        struct weir_key hashed = weir_sketch_hash(s, "key", 3);
        assert_int_equal(weir_sketch_add_hashed(s, &hashed, NULL, 1, NULL) == WEIR_OK,
                         (traits & WEIR_CAN_COUNT_ANY) != 0);
        assert_int_equal(weir_sketch_take(s, key, 1, NULL) == WEIR_OK,
                         (traits & WEIR_CAN_FORGET) != 0);
        other = weir_sketch_clone(s, NULL);
        assert_int_equal(weir_sketch_merge(s, other, NULL) == WEIR_OK,
                         (traits & WEIR_CAN_MERGE) != 0);
        weir_sketch_close(s);
        weir_sketch_close(other);
    }
}

static bool never_asked(void *context, const struct weir_bytes *keys, size_t n, uint8_t *answers)
{
    (void)keys;
    *(bool *)context = true;
    memset(answers, WEIR_OTHER, n);
    return true;
}

static void screens_match_their_traits(void **state)
{
    for (size_t i = 0; weir_algorithm_at(WEIR_KIND_SCREEN, i); i++) {
        const char *name = weir_algorithm_at(WEIR_KIND_SCREEN, i)->name;
        uint64_t traits = traits_of(WEIR_KIND_SCREEN, name);
        struct weir_bytes key = {"key", 3};
        bool asked = false;
        uint8_t answer;
        weir_screen *s;

        assert_int_equal(weir_screen_open(&s, name, NULL), WEIR_OK);
        assert_int_equal(weir_screen_needs_set(s), (traits & WEIR_CAN_HOLD_SET) != 0);
        weir_screen_add_members(s, &key, 1);
        weir_screen_check(s, &key, 1, never_asked, &asked, &answer);
        assert_int_equal(asked, (traits & WEIR_CAN_CONFIRM) != 0);
        weir_screen_close(s);
    }
}

/* ---- streams: the same grammar ---- */

static void invalid_streams_have_the_same_messages(void **state)
{
    static const char *const refused[][2] = {
        {"poisson:n=3", "there is no stream 'poisson'; there are uniform, zipf, endless"},
        {NULL, "there is no stream ''; there are uniform, zipf, endless"},
        {"endless:alpha=2", "endless has no parameter 'alpha'; it takes n, universe, fresh, "
                            "importance, drift, length, seed"},
        {"zipf:n=1M,n=2M", "n is given twice"},
        {"zipf:1M", "'1M' is not of the form parameter=value, such as n=1M"},
    };
    struct weir_stream s;
    struct weir_error error;

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_equal(weir_stream_read(&s, sizeof s, refused[i][0], &error), WEIR_BAD_CONFIG);
        assert_string_equal(error.text, refused[i][1]);
    }
}

/* ---- saved specs ---- */

/* Algorithms whose pace= was added later: a value other than zero is written. */
struct thing {
    struct spec is;
    uint64_t n, pace, seed;
};

enum { THING_N, THING_PACE, THING_SEED, THING_ROWS };

static const char *const paces[] = {"slow", "fast", NULL};
static const struct parameter_row thing_rows[THING_ROWS] = {
    [THING_N] = {{"n", "", ""}, A_COUNT, offsetof(struct thing, n), .min = 1, .max = 9},
    [THING_PACE] = {{"pace", "", ""}, A_WORD, offsetof(struct thing, pace), .words = paces},
    [THING_SEED] = {{"seed", "", ""}, A_COUNT, offsetof(struct thing, seed), .max = UINT64_MAX},
};
static const struct named thing_name = {{.name = "thing"}, HAS(THING_ROWS) - 1};
static const struct named *const thing_names[] = {&thing_name, NULL};

static void begin_thing(void *record)
{
    *(struct thing *)record = (struct thing){.is = *(struct spec *)record};
}

static bool plan_thing(void *record, struct weir_error *error)
{
    (void)record, (void)error;
    return true;
}

static const struct grammar things = {.names = thing_names,
                                      .rows = thing_rows,
                                      .n = THING_ROWS,
                                      .if_set = HAS(THING_PACE),
                                      .seed = THING_SEED,
                                      .begin = begin_thing,
                                      .plan = plan_thing};

static void assert_restored(const char *text, uint64_t pace)
{
    struct thing t;
    char now[SPEC];

    assert_true(spec_restore(&things, text, &t));
    assert_int_equal(t.pace, pace);
    spec_write(&things, &t, now, sizeof now);
    assert_string_equal(now, text);
}

static void a_saved_spec_is_only_accepted_as_written(void **state)
{
    struct thing t;

    assert_restored("thing n=3 seed=1", 0);
    assert_restored("thing n=3 pace=fast seed=1", 1);
    assert_false(spec_restore(&things, "thing n=3 pace=slow seed=1", &t)); /* zero is not written */
    assert_false(spec_restore(&things, "thing seed=1 n=3", &t));
    assert_false(spec_restore(&things, "thing seed=1", &t)); /* n= is always written */
    assert_false(spec_restore(&things, "thing n=3 pace=fast", &t));
}

/* The golden file contains neither enter= nor refresh=. */
static void parameters_that_a_saved_spec_lacks_are_zero(void **state)
{
    struct planned p;
    const char *golden = "recent memory=200 width=16 slots=31 importance=none hash=xxh3 seed=2012";

    assert_true(spec_restore(&filter_grammar, golden, &p));
    assert_int_equal(p.config.enter, 0);
    assert_int_equal(p.config.refresh, 0);
}

/* ---- structs of other versions ---- */

/* As in a later version. */
struct later_stream {
    struct weir_stream known;
    uint64_t more;
};

static void structs_of_other_versions_are_accepted(void **state)
{
    struct later_stream later;
    struct weir_stream early;
    struct weir_plan_request wish = {.size = sizeof wish};
    struct {
        struct weir_prediction known;
        uint64_t more;
    } p, q;
    struct weir_error error;

    memset(&later, 0xff, sizeof later);
    assert_int_equal(weir_stream_read(&later.known, sizeof later, "uniform:n=1k", NULL), WEIR_OK);
    assert_true(later.known.size == sizeof later && later.more == 0);
    memset(&early, 0xff, sizeof early);
    assert_int_equal(weir_stream_read(&early, offsetof(struct weir_stream, seed), "zipf", NULL),
                     WEIR_OK);
    assert_true(early.length == 19 && early.seed == UINT64_MAX); /* unknown to this version */

    memset(&p, 0xff, sizeof p);
    assert_int_equal(weir_predict(&p.known, sizeof p, "bloom memory=1K", &later.known, NULL),
                     WEIR_OK);
    assert_true(p.more == 0);
    memset(&q, 0xff, sizeof q);
    assert_int_equal(weir_predict(&q.known, offsetof(struct weir_prediction, fnr),
                                  "bloom memory=1K", &later.known, NULL),
                     WEIR_OK);
    assert_true(q.known.fpr == p.known.fpr && q.known.classes == UINT32_MAX);

    later.more = 1;
    assert_int_equal(weir_choose(&p.known, sizeof p, "bloom", &later.known, &wish, &error),
                     WEIR_UNSUPPORTED);
    assert_string_equal(error.text, "struct weir_stream: it sets a field that this version of "
                                    "libweir does not have; set it to 0 or update libweir");
    later.more = 0;
    wish.size = 0;
    assert_int_equal(weir_min_memory(&p.known, sizeof p, "bloom", &later.known, &wish, &error),
                     WEIR_BAD_CONFIG);
    assert_string_equal(
        error.text, "struct weir_plan_request: invalid size; set its first field to its sizeof");
    later.known.size = 0;
    assert_true(isnan(weir_stream_distinct(&later.known)));
}

/* If the struct has grown, programs compiled with the first version still work. */
static void a_struct_can_grow_without_recompiling_callers(void **state)
{
    struct grown {
        size_t size;
        uint64_t first, later;
    } from = {.first = 7, .later = 9}, to;
    struct caller_struct what = {"grown", sizeof to, UP_TO_MEMBER(struct grown, first)};

    from.size = what.first;
    memset(&to, 0xff, sizeof to);
    assert_int_equal(caller_struct_copy(&to, what, &from, NULL), WEIR_OK);
    assert_true(to.first == 7 && to.later == 0);
    from.size = sizeof from;
    assert_int_equal(caller_struct_copy(&to, what, &from, NULL), WEIR_OK);
    assert_true(to.first == 7 && to.later == 9);
    from.size = what.first - 1;
    assert_int_equal(caller_struct_copy(&to, what, &from, NULL), WEIR_BAD_CONFIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        property_test(what_is_completed_is_what_would_be_opened),
        cmocka_unit_test(specs_of_sketches_and_screens_are_completed),
        cmocka_unit_test(each_completion_without_a_seed_gets_another_one),
        cmocka_unit_test(completion_and_open_reject_the_same_specs),
        cmocka_unit_test(an_unknown_kind_has_no_algorithms),
        cmocka_unit_test(a_parameter_is_read_from_a_spec),
        cmocka_unit_test(an_algorithm_is_found_by_the_name_in_its_spec),
        cmocka_unit_test(sizes_are_divided_among_shards),
        cmocka_unit_test(every_filter_can_be_divided),
        property_test(traits_are_what_the_filter_does),
        cmocka_unit_test(filters_keep_or_forget_as_their_traits_state),
        cmocka_unit_test(traits_follow_the_parameters),
        cmocka_unit_test(sketches_match_their_traits),
        cmocka_unit_test(screens_match_their_traits),
        cmocka_unit_test(invalid_streams_have_the_same_messages),
        cmocka_unit_test(a_saved_spec_is_only_accepted_as_written),
        cmocka_unit_test(parameters_that_a_saved_spec_lacks_are_zero),
        cmocka_unit_test(structs_of_other_versions_are_accepted),
        cmocka_unit_test(a_struct_can_grow_without_recompiling_callers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
