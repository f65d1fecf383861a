/* symmetry.c - sketches and screens support the same calls as filters: save into a buffer, load
 * from a source, clone, clear, merge; and a store can end a check. */
#include "support/golden.h"
#include "support/screened.h"

#include <stdlib.h>
#include <string.h>

/* A source; context is the rest of the bytes. */
static bool give(void *context, void *data, size_t size)
{
    struct blob *left = context;

    if (size > left->size)
        return false;
    memcpy(data, left->data, size);
    left->data += size;
    left->size -= size;
    return true;
}

/* A saved sketch or screen, and how to save and load one. */
struct subject {
    struct blob saved;
    uint64_t bytes;
    uint64_t (*save)(const void *handle, void *buffer, size_t size, struct weir_error *error);
    bool (*loads)(struct blob from, struct blob *again, const struct weir_options *options,
                  struct weir_error *error);
};

static uint64_t save_sketch(const void *handle, void *buffer, size_t size, struct weir_error *error)
{
    return weir_sketch_save_buffer(handle, buffer, size, error);
}

static uint64_t save_screen(const void *handle, void *buffer, size_t size, struct weir_error *error)
{
    return weir_screen_save_buffer(handle, buffer, size, error);
}

static bool loads_sketch(struct blob from, struct blob *again, const struct weir_options *options,
                         struct weir_error *error)
{
    weir_sketch *s;
    enum weir_status status = weir_sketch_load_stream(&s, give, &from, options, error);

    assert_true((s != NULL) == (status == WEIR_OK));
    *again = s ? sketch_blob(s) : (struct blob){NULL, 0};
    weir_sketch_close(s);
    return status == WEIR_OK;
}

static bool loads_screen(struct blob from, struct blob *again, const struct weir_options *options,
                         struct weir_error *error)
{
    weir_screen *s;
    enum weir_status status = weir_screen_load_stream(&s, give, &from, options, error);

    assert_true((s != NULL) == (status == WEIR_OK));
    *again = s ? screen_blob(s) : (struct blob){NULL, 0};
    weir_screen_close(s);
    return status == WEIR_OK;
}

static void assert_saves_and_loads(const void *handle, const struct subject *s)
{
    size_t size = s->saved.size;
    uint8_t *buffer = calloc(1, size + 1);
    struct weir_options options = {.size = sizeof options, .max_bytes = s->bytes};
    struct weir_error error = {0};
    struct blob again, b = s->saved;

    assert_int_equal(s->save(handle, buffer, size - 1, &error), 0);
    assert_int_equal(error.status, WEIR_WRITE_FAILED);
    assert_int_equal(s->save(handle, buffer, size + 1, NULL), size);
    assert_memory_equal(buffer, b.data, size);
    free(buffer);
    assert_true(s->loads(b, &again, &options, &error));
    assert_same_blob(b, again);
    blob_free(again);
    options.max_bytes = s->bytes - 1;
    assert_false(s->loads(b, &again, &options, &error));
    assert_int_equal(error.status, WEIR_NO_MEMORY);
    for (size_t n = 0; n < b.size; n++) {
        assert_false(s->loads((struct blob){b.data, n}, &again, NULL, &error));
        assert_int_equal(error.status, WEIR_BAD_DATA);
    }
    b.data[b.size / 2] ^= 4;
    assert_false(s->loads(b, &again, NULL, &error));
    blob_free(b);
}

/* ---- sketches ---- */

TEST(a_sketch_saves_and_loads_like_a_filter)
{
    for (size_t i = 0; golden_sketch(i); i++) {
        weir_sketch *s = golden_counted(golden_sketch(i));

        assert_saves_and_loads(s, &(struct subject){sketch_blob(s), weir_sketch_stats_of(s).bytes,
                                                    save_sketch, loads_sketch});
        weir_sketch_close(s);
    }
}

/* ---- screens ---- */

TEST(a_screen_saves_and_loads_like_a_filter)
{
    const struct weir_algorithm *about;

    for (size_t i = 0; (about = weir_algorithm_at(WEIR_KIND_SCREEN, i)); i++) {
        weir_screen *s = golden_screen(about->name);

        assert_saves_and_loads(s, &(struct subject){screen_blob(s), weir_screen_stats_of(s).bytes,
                                                    save_screen, loads_screen});
        weir_screen_close(s);
    }
}

TEST(a_screen_is_cloned_and_cleared)
{
    const struct weir_algorithm *about;

    for (size_t i = 0; (about = weir_algorithm_at(WEIR_KIND_SCREEN, i)); i++) {
        weir_screen *s = golden_screen(about->name), *twin = weir_screen_clone(s, NULL), *fresh;
        char config[SPEC];

        assert_same_screen(s, twin);
        weir_screen_clear(s);
        weir_screen_config(s, config, sizeof config);
        assert_int_equal(weir_screen_open(&fresh, config, NULL), WEIR_OK);
        assert_same_screen(s, fresh);
        assert_int_equal(weir_screen_stats_of(twin).checked > 0, true); /* it has its own memory */
        weir_screen_close(s);
        weir_screen_close(twin);
        weir_screen_close(fresh);
    }
}

/* Half of a set in each of two screens: merged, they equal one with the whole set. */
static void sets_are_merged(const char *spec)
{
    struct counted c = counted_of(10, 1000, 0, 5);
    weir_screen *s[3];

    for (int i = 0; i < 3; i++)
        assert_int_equal(weir_screen_open(&s[i], spec, NULL), WEIR_OK);
    for (uint64_t i = 0; i < 200; i++) {
        struct weir_bytes key = name_of(&c, i);

        weir_screen_add_members(s[i % 2], &key, 1);
        weir_screen_add_members(s[2], &key, 1);
    }
    assert_int_equal(weir_screen_merge(s[0], s[1], NULL), WEIR_OK);
    assert_same_screen(s[0], s[2]);
    for (int i = 0; i < 3; i++)
        weir_screen_close(s[i]);
    counted_free(c);
}

/* Keys that one of two screens has looked up need not be looked up after merging. */
static void answers_are_merged(const char *spec)
{
    struct counted c = counted_of(400, 100, 0, 5);
    struct store s = store_of(&c);
    weir_screen *a = open_screen(spec, &s), *b = open_screen(spec, &s);
    uint8_t answers[400];

    screen_draws(a, &s, 0, 200, 50, answers);
    screen_draws(b, &s, 200, 400, 50, answers);
    uint64_t checked = weir_screen_stats_of(a).checked + weir_screen_stats_of(b).checked;
    assert_int_equal(weir_screen_merge(a, b, NULL), WEIR_OK);
    assert_int_equal(weir_screen_stats_of(a).checked, checked);
    s.asked = 0;
    screen_draws(a, &s, 0, 400, 50, answers);
    assert_int_equal(s.asked, 0);
    for (size_t i = 0; i < 400; i++)
        assert_int_equal(answers[i], store_has(&s, c.draws[i]) ? WEIR_MEMBER : WEIR_OTHER);
    weir_screen_close(a);
    weir_screen_close(b);
    store_free(&s);
    counted_free(c);
}

TEST(screens_are_merged)
{
    sets_are_merged("1bf memory=256 seed=3 set=200");
    sets_are_merged("strict memory=256 seed=3 set=200");
    answers_are_merged("dabf memory=64K seed=3");
}

TEST(merging_is_refused_with_a_reason)
{
    static const char *const refused[] = {"cache memory=1K seed=1",
                                          "strict memory=1K verdicts=64 seed=1",
                                          "dabf memory=1K window=10 seed=1"};
    struct weir_error error;
    weir_screen *a, *b;
    uint64_t traits;

    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(weir_screen_open(&a, refused[i], NULL), WEIR_OK);
        assert_int_equal(weir_screen_merge(a, a, &error), WEIR_UNSUPPORTED);
        assert_non_null(strstr(error.text, "cannot be merged: "));
        assert_int_equal(weir_spec_traits(WEIR_KIND_SCREEN, refused[i], &traits, NULL), WEIR_OK);
        assert_false(traits & WEIR_CAN_MERGE);
        weir_screen_close(a);
    }
    assert_int_equal(weir_screen_open(&a, "1bf memory=1K seed=1", NULL), WEIR_OK);
    assert_int_equal(weir_screen_open(&b, "1bf memory=1K seed=2", NULL), WEIR_OK);
    assert_int_equal(weir_screen_merge(a, b, &error), WEIR_MISMATCH);
    assert_string_equal(error.text, "the screens differ: seed=1 and seed=2; only screens of one "
                                    "configuration and seed can be merged");
    weir_screen_close(a);
    weir_screen_close(b);
}

/* ---- a store that ends a check ---- */

#define BATCH 40

struct ending {
    size_t ends_at; /* the store ends the check at this key of the batch */
    size_t calls;
};

static bool answer_up_to(void *context, const struct weir_bytes *keys, size_t n, uint8_t *answers)
{
    struct ending *e = context;

    e->calls++;
    for (size_t i = 0; i < n; i++) {
        size_t number = *(const uint64_t *)keys[i].data;

        answers[i] = number == e->ends_at ? WEIR_UNANSWERED : WEIR_MEMBER;
    }
    return e->ends_at >= BATCH;
}

/* Keys before that one get their answers; the others are not recorded. */
static void ends_at(const char *spec, size_t at)
{
    uint64_t numbers[BATCH];
    struct weir_bytes keys[BATCH];
    uint8_t answers[BATCH], expected[BATCH];
    struct ending ends = {.ends_at = at}, never = {.ends_at = BATCH};
    weir_screen *ended, *shorter;

    for (size_t i = 0; i < BATCH; i++) {
        numbers[i] = i;
        keys[i] = (struct weir_bytes){&numbers[i], sizeof *numbers};
        expected[i] = i < at ? WEIR_MEMBER : WEIR_UNANSWERED;
    }
    assert_int_equal(weir_screen_open(&ended, spec, NULL), WEIR_OK);
    assert_int_equal(weir_screen_open(&shorter, spec, NULL), WEIR_OK);
    weir_screen_add_members(ended, keys, BATCH);
    weir_screen_add_members(shorter, keys, BATCH);
    assert_int_equal(weir_screen_check(ended, keys, BATCH, answer_up_to, &ends, answers),
                     BATCH - at);
    assert_int_equal(ends.calls, 1);
    assert_memory_equal(answers, expected, BATCH);
    weir_screen_check(shorter, keys, at, answer_up_to, &never, answers);
    assert_same_screen(ended, shorter);
    weir_screen_close(ended);
    weir_screen_close(shorter);
}

TEST(a_store_can_end_a_check)
{
    static const char *const specs[] = {"cache memory=4K seed=1", "dabf memory=4K seed=1",
                                        "strict memory=4K seed=1", "none seed=1"};

    for (size_t i = 0; i < 4; i++)
        for (size_t at = 0; at < BATCH; at += 13)
            ends_at(specs[i], at);
}

/* More keys than a batch has: those of the next batch are not looked up. */
TEST(an_ended_check_stays_ended)
{
    size_t n = WEIR_SCREEN_BATCH + 5;
    uint64_t *numbers = calloc(n, sizeof *numbers);
    struct weir_bytes *keys = calloc(n, sizeof *keys);
    uint8_t *answers = calloc(n, 1);
    struct ending ends = {.ends_at = 7};
    weir_screen *s;

    for (size_t i = 0; i < n; i++) {
        numbers[i] = i;
        keys[i] = (struct weir_bytes){&numbers[i], sizeof *numbers};
    }
    assert_int_equal(weir_screen_open(&s, "none seed=1", NULL), WEIR_OK);
    assert_int_equal(weir_screen_check(s, keys, n, answer_up_to, &ends, answers), n - 7);
    assert_int_equal(ends.calls, 1);
    assert_int_equal(answers[n - 1], WEIR_UNANSWERED);
    assert_int_equal(weir_screen_stats_of(s).checked, 7);
    weir_screen_close(s);
    free(numbers);
    free(keys);
    free(answers);
}

RUN_TESTS("symmetry")
