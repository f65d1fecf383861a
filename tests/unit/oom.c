/* oom.c - every allocation fails once, and so does the system's random generator. */
#include "support/variants.h"
#include "support/wrapped.h"

#include <stdlib.h>
#include <string.h>
#define WEIR_UNSTABLE
#include <weir/plan.h>
#include <weir/screen.h>
#include <weir/shared.h>
#include <weir/sketch.h>

#define BUDGET_MOST 50

/* The result of one attempt: the status, or success. */
typedef enum weir_status (*attempt)(const struct variant *v, struct weir_error *error);

/* The first n allocations succeed, for n = 0, 1, ... until all do. */
static void fail_at_every_allocation(const struct variant *v, attempt try)
{
    size_t before = wrapped.live, n = 0;
    enum weir_status status;

    do {
        struct weir_error error = {0};

        wrapped.asked = 0;
        wrapped.budget = n;
        status = try(v, &error);
        wrapped.budget = SIZE_MAX;
        assert_int_equal(wrapped.live, before);
        assert_int_equal(status, wrapped.asked <= n ? WEIR_OK : WEIR_NO_MEMORY);
        assert_true(status == WEIR_OK || error.status == WEIR_NO_MEMORY);
    } while (status != WEIR_OK && ++n < BUDGET_MOST);
    assert_true(n > 0 && n < BUDGET_MOST); /* at least one failed */
}

static enum weir_status try_open(const struct variant *v, struct weir_error *error)
{
    weir_filter *w;
    enum weir_status status = weir_open(&w, v->spec, error);

    assert_true((w != NULL) == (status == WEIR_OK));
    assert_true(!error->text[0] == (status == WEIR_OK));
    weir_close(w);
    return status;
}

/* A filter created while memory was available, for the calls that need one. */
static const weir_filter *given;
static struct blob given_saved;

static enum weir_status try_clone(const struct variant *v, struct weir_error *error)
{
    weir_filter *w = weir_clone(given, NULL);

    (void)v;
    error->status = w ? WEIR_OK : WEIR_NO_MEMORY;
    weir_close(w);
    return error->status;
}

static enum weir_status try_load(const struct variant *v, struct weir_error *error)
{
    weir_filter *w;
    enum weir_status status =
        weir_load_buffer(&w, given_saved.data, given_saved.size, NULL, NULL, error);

    (void)v;
    assert_true((w != NULL) == (status == WEIR_OK));
    weir_close(w);
    return status;
}

static void property_every_failed_allocation_is_told(const struct variant *v)
{
    weir_filter *w = open_filter(v->spec);

    weir_observe(w, numbered(w, 1));
    given = w;
    given_saved = blob_of(w);
    fail_at_every_allocation(v, try_open);
    fail_at_every_allocation(v, try_clone);
    fail_at_every_allocation(v, try_load);
    blob_free(given_saved);
    weir_close(w);
}

/* Everything but open, clone and load works without any allocation. */
static void property_nothing_else_allocates(const struct variant *v)
{
    weir_filter *w = open_filter(v->spec), *other = weir_clone(w, NULL);
    struct blob b = blob_of(w);
    struct weir_key *keys = stream_of(w, 2000, 9);
    uint8_t verdicts[1000];
    char config[SPEC];

    wrapped.asked = 0;
    wrapped.budget = 0;
    for (size_t i = 0; i < 1000; i++)
        weir_observe(w, keys[i]);
    weir_observe_many(w, keys + 1000, 1000, verdicts);
    weir_ask_many(w, keys, 1000, verdicts);
    weir_ask(w, keys[0]);
    weir_forget(w, keys[0], NULL, NULL);
    (void)!weir_merge(w, other, NULL); /* not supported by every filter */
    weir_stats_of(w);
    weir_config(w, config, sizeof config);
    size_t saved = weir_save_buffer(w, b.data, b.size, NULL);
    weir_clear(w);
    size_t in_all = wrapped.asked;
    wrapped.budget = SIZE_MAX;
    assert_int_equal(in_all, 0);
    assert_int_equal(saved, b.size);
    free(keys);
    blob_free(b);
    weir_close(other);
    weir_close(w);
}

static enum weir_status try_predict(const struct variant *v, struct weir_error *error)
{
    struct weir_stream stream;
    struct weir_prediction p;

    assert_int_equal(weir_stream_read(&stream, sizeof stream, "zipf:n=1M,importance=1-50", NULL),
                     WEIR_OK);
    return weir_predict(&p, sizeof p, v->spec, &stream, error);
}

static void a_prediction_without_memory_is_reported(void **state)
{
    fail_at_every_allocation(&(struct variant){.spec = "sbf"}, try_predict);
    fail_at_every_allocation(&(struct variant){.spec = "ibf-h importance=1-50"}, try_predict);
}

static void rejecting_a_spec_allocates_nothing(void **state)
{
    size_t before = wrapped.live;
    weir_filter *w;

    wrapped.asked = 0;
    assert_int_equal(weir_open(&w, "bloom memory=1", NULL), WEIR_BAD_CONFIG);
    assert_int_equal(weir_open(&w, "bloom capacity=1M memory=64 fpr=1%", NULL), WEIR_BAD_CONFIG);
    assert_int_equal(weir_load_buffer(&w, "WEIR", 4, NULL, NULL, NULL), WEIR_BAD_DATA);
    assert_int_equal(wrapped.asked, 0);
    assert_int_equal(wrapped.live, before);
    weir_close(NULL);
}

static void the_error_contains_the_requested_size(void **state)
{
    struct weir_error error;
    weir_filter *w;

    wrapped.asked = 0;
    wrapped.budget = 0;
    enum weir_status status = weir_open(&w, "bloom memory=64M", &error);
    enum weir_status untold = weir_open(&w, "bloom memory=64M", NULL);
    wrapped.budget = SIZE_MAX;
    assert_int_equal(status, WEIR_NO_MEMORY);
    assert_int_equal(untold, WEIR_NO_MEMORY);
    assert_string_equal(error.text,
                        "memory=67108864: the system does not provide that much; use less");
}

static void without_random_numbers_a_seed_is_required(void **state)
{
    struct weir_error error;
    weir_filter *w, *seeded;

    wrapped.entropy_fails = true;
    enum weir_status status = weir_open(&w, "bloom memory=64", &error);
    enum weir_status with_seed = weir_open(&seeded, "bloom memory=64 seed=1", NULL);
    wrapped.entropy_fails = false;
    assert_int_equal(status, WEIR_NO_MEMORY);
    assert_null(w);
    assert_string_equal(error.text, "the system provides no random seed; set seed=");
    assert_int_equal(with_seed, WEIR_OK);
    weir_close(seeded);
}

/* ---- sketches: open, clone, save, load, merge ---- */

static uint8_t room[4096]; /* the saved bytes; a sink that allocates would be counted */

static bool into_room(void *context, const void *data, size_t size)
{
    struct blob *b = context;

    assert_true(b->size + size <= sizeof room);
    memcpy(b->data + b->size, data, size);
    b->size += size;
    return true;
}

static enum weir_status try_sketch(const struct variant *v, struct weir_error *error)
{
    weir_sketch *s, *twin = NULL, *again = NULL;
    struct weir_bytes key = {"key", 3};
    struct blob b = {room, 0};
    enum weir_status status = weir_sketch_open(&s, v->spec, error);

    if (status == WEIR_OK) {
        weir_sketch_add(s, key, 2);
        twin = weir_sketch_clone(s, NULL);
        status = twin ? weir_sketch_merge(s, twin, error) : WEIR_NO_MEMORY;
    }
    assert_true(status == WEIR_OK || !twin || weir_sketch_ask(s, key).count == 2);
    if (status == WEIR_OK)
        status = weir_sketch_save_stream(s, into_room, &b, NULL);
    if (status == WEIR_OK) {
        status = weir_sketch_load_buffer(&again, b.data, b.size, NULL, NULL, error);
        assert_true((again != NULL) == (status == WEIR_OK));
    }
    error->status = status;
    weir_sketch_close(again);
    weir_sketch_close(twin);
    weir_sketch_close(s);
    return status;
}

static void every_failed_allocation_of_a_sketch_is_reported(void **state)
{
    static const struct variant sketches[] = {{.spec = "count-min memory=64 seed=1"},
                                              {.spec = "top keys=3 seed=1"},
                                              {.spec = "top keys=3 seed=1 half-life=9"}};

    for (size_t i = 0; i < 3; i++)
        fail_at_every_allocation(&sketches[i], try_sketch);
}

/* ---- screens: open, save, load; checking allocates nothing ---- */

static bool say_member(void *context, const struct weir_bytes *keys, size_t n, uint8_t *answers)
{
    (void)context, (void)keys;
    memset(answers, WEIR_MEMBER, n);
    return true;
}

static enum weir_status try_screen(const struct variant *v, struct weir_error *error)
{
    weir_screen *s, *again = NULL;
    struct weir_bytes key = {"key", 3};
    struct blob b = {room, 0};
    enum weir_status status = weir_screen_open(&s, v->spec, error);
    uint8_t answer;

    assert_true((s != NULL) == (status == WEIR_OK));
    if (status == WEIR_OK) {
        size_t before = wrapped.asked;

        weir_screen_add_members(s, &key, 1);
        weir_screen_check(s, &key, 1, say_member, NULL, &answer);
        assert_int_equal(answer, WEIR_MEMBER);
        weir_screen_stats_of(s);
        status = weir_screen_save_stream(s, into_room, &b, NULL);
        assert_int_equal(wrapped.asked, before);
        status = weir_screen_load_buffer(&again, b.data, b.size, NULL, NULL, error);
        assert_true((again != NULL) == (status == WEIR_OK));
    }
    weir_screen_close(again);
    weir_screen_close(s);
    return status;
}

static void every_failed_allocation_of_a_screen_is_reported(void **state)
{
    static const struct variant screens[] = {
        {.spec = "cache memory=64 seed=1"},
        {.spec = "dabf memory=64 window=9 seed=1"},
        {.spec = "strict memory=64 seed=1"},
        {.spec = "none seed=1"},
    };

    for (size_t i = 0; i < 4; i++)
        fail_at_every_allocation(&screens[i], try_screen);
}

static enum weir_status try_shared(const struct variant *v, struct weir_error *error)
{
    weir_shared *s, *again = NULL;
    struct blob b = {room, 0};
    enum weir_status status = weir_shared_open(&s, v->spec, 3, NULL, error);

    assert_true((s != NULL) == (status == WEIR_OK));
    if (status == WEIR_OK) {
        struct weir_key keys[2] = {weir_shared_hash(s, "a", 1), weir_shared_hash(s, "b", 1)};
        size_t before = wrapped.asked;
        uint8_t verdicts[2];

        weir_shared_observe_many(s, keys, 2, verdicts);
        weir_shared_process(s, weir_shared_ticket(s),
                            &(struct weir_shared_batch){.size = sizeof(struct weir_shared_batch),
                                                        .keys = keys,
                                                        .n = 2,
                                                        .verdicts = verdicts});
        assert_int_equal(verdicts[1], WEIR_SEEN);
        status = weir_shared_save_stream(s, into_room, &b, NULL);
        assert_int_equal(wrapped.asked, before);
        status = weir_shared_load_buffer(&again, b.data, b.size, NULL, NULL, error);
        assert_true((again != NULL) == (status == WEIR_OK));
    }
    weir_shared_close(again);
    weir_shared_close(s);
    return status;
}

static void every_failed_allocation_of_a_shared_filter_is_reported(void **state)
{
    static const struct variant v = {.spec = "bloom memory=256 seed=1"};

    fail_at_every_allocation(&v, try_shared);
}

PROPERTY(every_failed_allocation_is_told)
PROPERTY(nothing_else_allocates)

int main(void)
{
    const struct CMUnitTest tests[] = {
        property_test(every_failed_allocation_is_told),
        property_test(nothing_else_allocates),
        cmocka_unit_test(every_failed_allocation_of_a_sketch_is_reported),
        cmocka_unit_test(a_prediction_without_memory_is_reported),
        cmocka_unit_test(every_failed_allocation_of_a_screen_is_reported),
        cmocka_unit_test(every_failed_allocation_of_a_shared_filter_is_reported),
        cmocka_unit_test(rejecting_a_spec_allocates_nothing),
        cmocka_unit_test(the_error_contains_the_requested_size),
        cmocka_unit_test(without_random_numbers_a_seed_is_required),
    };

    return cmocka_run_group_tests_name("oom", tests, NULL, NULL);
}
