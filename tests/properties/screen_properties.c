/* screen_properties.c - properties of every screen: batches equal single calls, keys without an
 * answer leave no trace, saving in mid-stream changes nothing, and loading never crashes. */
#include "support/sealed.h"
#include "support/screened.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

#define DRAWS 6000

static const char *const variants[] = {
    "cache memory=64 seed=3",
    "cache memory=200 seed=3 width=8",
    "cache memory=500 seed=3 fpr=1% hash=sip",
    "cache memory=256 seed=3 slots=3",
    "cache memory=1K seed=3 width=32",
    "cache memory=512 seed=3 window=300",
    "cache memory=512 seed=3 window=3",
    "cache memory=512 seed=3 span=1h",
    "dabf memory=1000bit seed=3 set=40",
    "dabf memory=3000bit seed=3 set=40 theta=0.5 k=2 k-set=3 hash=sip",
    "dabf memory=1000bit seed=3 set=40 window=150",
    "dabf memory=100 seed=3 window=1",
    "1bf memory=300bit seed=3 set=40",
    "strict memory=300bit seed=3 set=40",
    "strict memory=300 seed=3 set=40 verdicts=256",
    "strict memory=1000 seed=3 set=40 verdicts=128 window=400",
    "strict memory=1000 seed=3 set=40 verdicts=128 span=10s",
    "none seed=3",
};

#define VARIANTS (sizeof variants / sizeof *variants)

static void for_each_variant(void (*property)(const char *spec, struct store *s))
{
    struct counted c = counted_of(DRAWS, 200, 0.8, 17);

    for (size_t i = 0; i < VARIANTS; i++) {
        struct store s = store_of(&c);

        property(variants[i], &s);
        store_free(&s);
    }
    counted_free(c);
}

static void batch_equals_single_calls(const char *spec, struct store *s)
{
    static const size_t sizes[] = {2, 3, 17, 500, 4096, DRAWS};
    uint8_t *one = calloc(DRAWS, 1), *many = calloc(DRAWS, 1);

    for (s->fails_at = 0; s->fails_at <= 3; s->fails_at += 3) { /* never, or for a third of them */
        weir_screen *a = open_screen(spec, s);
        size_t unanswered = screen_draws(a, s, 0, DRAWS, 1, one);

        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            weir_screen *b = open_screen(spec, s);

            assert_int_equal(screen_draws(b, s, 0, DRAWS, sizes[i], many), unanswered);
            assert_memory_equal(one, many, DRAWS);
            assert_same_screen(a, b);
            weir_screen_close(b);
        }
        weir_screen_close(a);
    }
    free(one);
    free(many);
}

static void counts_add_up(const char *spec, struct store *s)
{
    uint8_t *answers = calloc(DRAWS, 1);
    weir_screen *w = open_screen(spec, s);
    uint64_t of[3] = {0, 0, 0};

    s->fails_at = 7;
    size_t unanswered = screen_draws(w, s, 0, DRAWS, 1, answers);
    struct weir_screen_stats t = weir_screen_stats_of(w);
    for (size_t i = 0; i < DRAWS; i++)
        of[answers[i]]++;
    assert_int_equal(t.checked, DRAWS);
    assert_int_equal(t.members, of[WEIR_MEMBER]);
    assert_int_equal(t.unanswered, of[WEIR_UNANSWERED]);
    assert_int_equal(unanswered, of[WEIR_UNANSWERED]);
    assert_int_equal(t.asked + t.unanswered,
                     s->asked); /* single calls, for every key that the batch asked for */
    assert_int_equal(t.saved, DRAWS - s->asked);
    assert_true(t.fill >= 0 && t.fill <= 1 && t.error >= 0 && t.error <= 1);
    weir_screen_close(w);
    free(answers);
}

/* ---- keys without an answer ---- */

/* Equal except for the counters. */
static void assert_same_cells(const weir_screen *a, const weir_screen *b)
{
    struct blob of_a = screen_blob(a), of_b = screen_blob(b);
    struct part_head h = head_of_blob(of_a);
    size_t head = part_head_size(&h);

    assert_int_equal(of_a.size, of_b.size);
    assert_memory_equal(of_a.data + head, of_b.data + head, of_a.size - head);
    blob_free(of_a);
    blob_free(of_b);
}

/* A store that fails sometimes: only the keys that it answered change the screen. */
static void keys_without_answers_leave_no_trace(const char *spec, struct store *s)
{
    weir_screen *flaky = open_screen(spec, s), *sound = open_screen(spec, s);
    uint8_t *answers = calloc(DRAWS, 1), answer;
    size_t unanswered = 0;

    for (size_t i = 0; i < DRAWS; i++) {
        s->fails = i % 3 == 0;
        size_t not_told = screen_draws(flaky, s, i, i + 1, 1, answers);

        assert_int_equal(not_told, answers[i] == WEIR_UNANSWERED);
        unanswered += not_told;
        s->fails = false;
        if (not_told)
            continue;
        answer = answers[i];
        assert_int_equal(screen_draws(sound, s, i, i + 1, 1, answers), 0);
        assert_int_equal(answers[i], answer);
    }
    assert_true(unanswered > 0 || s->asked == 0);
    assert_same_cells(flaky, sound);
    free(answers);
    weir_screen_close(flaky);
    weir_screen_close(sound);
}

/* A store that writes garbage when it fails, or nothing. */
static bool say_nonsense(void *context, const struct weir_bytes *keys, size_t n, uint8_t *answers)
{
    (void)keys;
    if (context)
        memset(answers, 77, n);
    return true;
}

static void answers_of_a_failed_store_are_ignored(const char *spec, struct store *s)
{
    weir_screen *w = open_screen(spec, s);
    uint8_t answer;

    for (size_t i = 0; i < 100; i++) {
        struct weir_bytes key = name_of(s->counted, i);
        size_t not_told = weir_screen_check(w, &key, 1, say_nonsense, i % 2 ? w : NULL, &answer);

        assert_int_equal(not_told, answer == WEIR_UNANSWERED);
        assert_true(answer <= WEIR_UNANSWERED);
    }
    assert_int_equal(weir_screen_stats_of(w).asked, 0);
    weir_screen_close(w);
}

/* ---- saving ---- */

static void saving_changes_nothing(const char *spec, struct store *s)
{
    weir_screen *a = open_screen(spec, s), *b;
    uint8_t *of_a = calloc(DRAWS, 1), *of_b = calloc(DRAWS, 1);
    size_t used = 0;

    screen_draws(a, s, 0, DRAWS / 2, 100, of_a);
    struct blob saved = screen_blob(a);
    assert_int_equal(weir_screen_load_buffer(&b, saved.data, saved.size, &used, NULL, NULL),
                     WEIR_OK);
    assert_int_equal(used, saved.size);
    assert_int_equal(weir_screen_needs_set(a), weir_screen_needs_set(b));
    screen_draws(a, s, DRAWS / 2, DRAWS, 100, of_a);
    screen_draws(b, s, DRAWS / 2, DRAWS, 100, of_b);
    assert_memory_equal(of_a + DRAWS / 2, of_b + DRAWS / 2, DRAWS / 2);
    assert_same_screen(a, b);
    blob_free(saved);
    free(of_a);
    free(of_b);
    weir_screen_close(a);
    weir_screen_close(b);
}

/* The reported configuration opens an equal screen. */
static void a_config_opens_an_equal_screen(const char *spec, struct store *s)
{
    weir_screen *a = open_screen(spec, s), *b;
    char whole[SPEC], cut[8] = "-------";
    size_t length = weir_screen_config(a, whole, sizeof whole);

    b = open_screen(whole, s);
    assert_same_screen(a, b);
    assert_int_equal(length, strlen(whole));
    assert_int_equal(weir_screen_config(a, cut, 4), length);
    assert_memory_equal(cut, whole, 3);
    assert_int_equal(cut[3], '\0');
    assert_int_equal(cut[4], '-');
    weir_screen_close(a);
    weir_screen_close(b);
}

/* ---- damage ---- */

/* Returns true if it was loaded; then it must work, save and load again. */
static bool is_usable(struct blob b, struct store *s)
{
    struct weir_error error = {0};
    uint8_t answers[100];
    weir_screen *w, *again;

    if (weir_screen_load_buffer(&w, b.data, b.size, NULL, NULL, &error) != WEIR_OK) {
        assert_null(w);
        assert_true(error.status == WEIR_BAD_DATA && *error.text);
        return false;
    }
    screen_draws(w, s, 0, 100, 30, answers);
    weir_screen_stats_of(w);
    weir_screen_add_members(w, &(struct weir_bytes){"key", 3}, 1);
    struct blob saved = screen_blob(w);
    assert_int_equal(weir_screen_load_buffer(&again, saved.data, saved.size, NULL, NULL, NULL),
                     WEIR_OK);
    assert_same_screen(w, again);
    blob_free(saved);
    weir_screen_close(again);
    weir_screen_close(w);
    return true;
}

static struct blob used_blob(const char *spec, struct store *s)
{
    weir_screen *w = open_screen(spec, s);
    uint8_t *answers = calloc(DRAWS, 1);

    screen_draws(w, s, 0, DRAWS, 500, answers);
    struct blob b = screen_blob(w);
    free(answers);
    weir_screen_close(w);
    return b;
}

static void refuse_cut(struct blob cut, void *store)
{
    assert_false(is_usable(cut, store));
}

static void every_truncation_is_refused(const char *spec, struct store *s)
{
    struct blob b = used_blob(spec, s);

    for (size_t n = 0; n < b.size; n++) {
        struct blob cut = {malloc(n + !n), n};

        memcpy(cut.data, b.data, n);
        assert_false(is_usable(cut, s));
        blob_free(cut);
    }
    with_sealed_cuts(b, refuse_cut, s);
    blob_free(b);
}

static void every_bit_flip_is_detected(const char *spec, struct store *s)
{
    struct blob b = used_blob(spec, s);

    for (size_t i = 0; i < b.size * 8; i++) {
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
        assert_false(is_usable(b, s));
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    blob_free(b);
}

static void every_bit_flip_with_valid_checksum_is_refused_or_usable(const char *spec,
                                                                    struct store *s)
{
    struct blob b = used_blob(spec, s);
    struct part_head was = head_of_blob(b);
    size_t loaded = 0;

    for (size_t i = 0; i < b.size * 8; i += sized(10) == 10 ? 3 : 17) {
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
        seal(b, &was);
        loaded += is_usable(b, s);
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    assert_true(loaded > 0 && loaded < b.size * 8);
    blob_free(b);
}

static void try_to_use(struct blob forged, void *store)
{
    is_usable(forged, store);
}

static void forged_counters_are_refused_or_usable(const char *spec, struct store *s)
{
    struct blob b = used_blob(spec, s);

    with_forged_words(b, try_to_use, s);
    blob_free(b);
}

TEST(screens_and_filters_do_not_load_each_other)
{
    struct counted c = counted_of(100, 20, 0.8, 17);
    struct store s = store_of(&c);
    weir_filter *f = open_filter("bloom memory=64 seed=1");
    weir_screen *w = open_screen("cache memory=64 seed=3", &s);
    struct blob filter = blob_of(f), screen = screen_blob(w);

    assert_not_loaded(screen, "this part is not a filter");
    assert_false(is_usable(filter, &s));
    blob_free(filter);
    blob_free(screen);
    weir_close(f);
    weir_screen_close(w);
    store_free(&s);
    counted_free(c);
}

/* ---- golden files ---- */

static void tells_what_it_told(const char *name, struct blob file)
{
    struct weir_part part;
    char note[SPEC];
    weir_screen *w;
    size_t used = 0;

    assert_int_equal(weir_screen_load_buffer(&w, file.data, file.size, &used, NULL, NULL), WEIR_OK);
    golden_screen_note(w, note, sizeof note);
    assert_memory_equal(note, name, strlen(name));
    assert_int_equal(weir_part_read(file.data + used, file.size - used, &part, sizeof part, NULL),
                     WEIR_OK);
    assert_int_equal(used + part.size, file.size);
    assert_int_equal(part.body_size, strlen(note));
    assert_memory_equal(part.body, note, part.body_size);
    weir_screen_close(w);
}

/* The file does not change when saved, and its stream gives these bytes again. */
TEST(golden_files_are_unchanged)
{
    const char *root = getenv("WEIR_SOURCE");
    char path[SPEC];

    for (size_t i = 0; weir_algorithm_at(WEIR_KIND_SCREEN, i); i++) {
        const char *name = weir_algorithm_at(WEIR_KIND_SCREEN, i)->name;

        snprintf(path, sizeof path, "%s/tests/golden/screen-%s.weir", root ? root : ".", name);
        struct blob file = blob_read(path);
        weir_screen *w = golden_screen(name);
        struct blob again = screen_blob(w);
        tells_what_it_told(name, file);
        assert_true(again.size <= file.size);
        assert_memory_equal(again.data, file.data, again.size);
        blob_free(file);
        blob_free(again);
        weir_screen_close(w);
    }
}

PROPERTY_TEST(batch_equals_single_calls)
PROPERTY_TEST(counts_add_up)
PROPERTY_TEST(keys_without_answers_leave_no_trace)
PROPERTY_TEST(answers_of_a_failed_store_are_ignored)
PROPERTY_TEST(saving_changes_nothing)
PROPERTY_TEST(a_config_opens_an_equal_screen)
PROPERTY_TEST(every_truncation_is_refused)
PROPERTY_TEST(every_bit_flip_is_detected)
PROPERTY_TEST(every_bit_flip_with_valid_checksum_is_refused_or_usable)
PROPERTY_TEST(forged_counters_are_refused_or_usable)

RUN_TESTS("screen properties")
