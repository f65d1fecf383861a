/* format.c - the format of saved filters: golden files, parts, and sinks. */
#include "support/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct blob golden_read(const char *name)
{
    const char *root = getenv("WEIR_SOURCE");
    char path[SENTENCE];

    snprintf(path, sizeof path, "%s/tests/golden/%s.weir", root ? root : ".", name);
    return blob_read(path);
}

static weir *load(const void *data, size_t size, size_t *used)
{
    struct weir_error error;
    weir *w;

    if (weir_load(&w, data, size, used, &error) != WEIR_OK)
        fail_msg("%s", error.text);
    return w;
}

/* ---- golden files ---- */

/* The note is what ends the file. */
static void ends_in(struct blob file, size_t used, const char *note)
{
    struct weir_part part;

    assert_int_equal(weir_part_read(file.data + used, file.size - used, &part, NULL), WEIR_OK);
    assert_int_equal(part.kind, WEIR_PART_NOTE);
    assert_int_equal(used + part.size, file.size);
    assert_int_equal(part.body_size, strlen(note));
    assert_memory_equal(part.body, note, part.body_size);
}

static void with_every_golden_file(void (*check)(const char *name, struct blob file))
{
    for (size_t i = 0; weir_listed(WEIR_KIND_FILTER, i); i++) {
        struct blob file = golden_read(weir_listed(WEIR_KIND_FILTER, i)->name);

        check(weir_listed(WEIR_KIND_FILTER, i)->name, file);
        blob_free(file);
    }
}

static void tells_the_same(const char *name, struct blob file)
{
    size_t used = 0;
    weir *w = load(file.data, file.size, &used);
    char note[GOLDEN_NOTE];

    golden_note(w, note);
    assert_memory_equal(note, name, strlen(name));
    ends_in(file, used, note);
    weir_close(w);
}

static void is_saved_the_same(const char *name, struct blob file)
{
    size_t used = 0;
    weir *w = load(file.data, file.size, &used);
    struct blob saved = blob_of(w);

    (void)name;
    assert_int_equal(saved.size, used);
    assert_memory_equal(saved.data, file.data, used);
    blob_free(saved);
    weir_close(w);
}

static void is_made_the_same(const char *name, struct blob file)
{
    weir *w = golden_filter(name);
    struct blob saved = blob_of(w);

    assert_true(saved.size <= file.size);
    assert_memory_equal(saved.data, file.data, saved.size);
    blob_free(saved);
    weir_close(w);
}

static void golden_sketches_tell_are_saved_and_made_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; golden_sketch(i); i++) {
        struct blob file = golden_read(golden_sketch(i)->name);
        weir_sketch *made = golden_counted(golden_sketch(i)), *loaded;
        char note[GOLDEN_NOTE];
        size_t used = 0;

        assert_int_equal(weir_sketch_load(&loaded, file.data, file.size, &used, NULL), WEIR_OK);
        golden_sketch_note(loaded, note);
        ends_in(file, used, note);
        struct blob saved = sketch_blob(loaded);
        assert_int_equal(saved.size, used);
        assert_memory_equal(saved.data, file.data, used);
        assert_same_sketch(made, loaded);
        blob_free(saved);
        blob_free(file);
        weir_sketch_close(made);
        weir_sketch_close(loaded);
    }
}

static void golden_files_tell_what_they_told(void **state)
{
    (void)state;
    with_every_golden_file(tells_the_same);
}

static void golden_files_are_saved_as_they_were(void **state)
{
    (void)state;
    with_every_golden_file(is_saved_the_same);
}

static void golden_files_are_what_their_streams_give(void **state)
{
    (void)state;
    with_every_golden_file(is_made_the_same);
}

/* The first bytes of one, by hand: docs/format.md in numbers. */
static void the_head_is_as_documented(void **state)
{
    struct blob b = golden_read("bloom");
    static const char config[] = "bloom memory=200 k=4 hash=xxh3 seed=2012";
    size_t body = 4 + sizeof config - 1 + 8 + 8 + 4 + 200;

    (void)state;
    assert_memory_equal(b.data, "WEIR\1\0\1\0", 8);
    assert_int_equal(b.data[8] | b.data[9] << 8, body);
    assert_memory_equal(b.data + 10, "\0\0\0\0\0\0", 6);
    assert_memory_equal(b.data + 16, "\50\0\0\0", 4);
    assert_memory_equal(b.data + 20, config, sizeof config - 1);
    assert_int_equal(b.data[60] | b.data[61] << 8, 300);
    assert_memory_equal(b.data + 16 + body + 8, "WEIR\1\0\2\0", 8);
    blob_free(b);
}

/* ---- buffers and sinks ---- */

static void a_buffer_too_small_is_left_alone(void **state)
{
    weir *w = open_filter("bloom memory=64 seed=1");
    uint8_t buffer[512];
    size_t size = weir_saved_size(w);

    (void)state;
    memset(buffer, 0xee, sizeof buffer);
    assert_int_equal(weir_save(w, buffer, size - 1), 0);
    assert_int_equal(weir_save(w, NULL, 0), 0);
    assert_int_equal(buffer[0], 0xee);
    assert_int_equal(weir_save(w, buffer, sizeof buffer), size);
    assert_int_equal(buffer[size], 0xee);
    weir_close(w);
}

/* Takes so many writes, then refuses; none may come after that. */
struct failing_sink {
    struct blob taken;
    size_t left;
    bool refused, called_again;
};

static bool take_some(void *context, const void *data, size_t size)
{
    struct failing_sink *sink = context;

    sink->called_again |= sink->refused;
    sink->refused = sink->left == 0;
    if (sink->refused)
        return false;
    sink->left--;
    return blob_sink(&sink->taken, data, size);
}

static void assert_sink_fails_well(const weir *w, struct blob whole)
{
    for (size_t n = 0;; n++) {
        struct failing_sink sink = {{NULL, 0}, n, false, false};
        enum weir_status status = weir_write(w, take_some, &sink);

        assert_int_equal(status, sink.refused ? WEIR_WRITE_FAILED : WEIR_OK);
        assert_false(sink.called_again);
        if (sink.taken.size)
            assert_memory_equal(sink.taken.data, whole.data, sink.taken.size);
        assert_true((sink.taken.size == whole.size) == !sink.refused);
        blob_free(sink.taken);
        if (!sink.refused)
            return;
        assert_true(n < 100000);
    }
}

static void a_sink_that_refuses_stops_the_writing(void **state)
{
    (void)state;
    for (size_t i = 0; weir_listed(WEIR_KIND_FILTER, i); i++) {
        weir *w = golden_filter(weir_listed(WEIR_KIND_FILTER, i)->name);
        struct blob whole = blob_of(w);

        assert_sink_fails_well(w, whole);
        blob_free(whole);
        weir_close(w);
    }
}

static void a_refused_note_says_so(void **state)
{
    (void)state;
    for (size_t n = 0; n < 4; n++) {
        struct failing_sink sink = {{NULL, 0}, n, false, false};

        assert_int_equal(weir_part_write(WEIR_PART_NOTE, "abc", 3, take_some, &sink),
                         WEIR_WRITE_FAILED);
        assert_false(sink.called_again);
        blob_free(sink.taken);
    }
}

/* ---- parts ---- */

static void parts_follow_each_other(void **state)
{
    weir *a = golden_filter("bloom"), *b = golden_filter("apbf");
    struct blob file = {NULL, 0};
    struct weir_part part;
    size_t at = 0, used;

    (void)state;
    weir_write(a, blob_sink, &file);
    weir_part_write(WEIR_PART_NOTE, "hello", 5, blob_sink, &file);
    weir_part_write(77, "", 0, blob_sink, &file); /* of a later version */
    weir_write(b, blob_sink, &file);
    weir *first = load(file.data, file.size, &used);
    assert_same_state(a, first);
    at += used;
    assert_int_equal(weir_part_read(file.data + at, file.size - at, &part, NULL), WEIR_OK);
    assert_int_equal(part.kind, WEIR_PART_NOTE);
    assert_int_equal(part.body_size, 5);
    assert_memory_equal(part.body, "hello", 5);
    at += part.size;
    assert_int_equal(weir_part_read(file.data + at, file.size - at, &part, NULL), WEIR_OK);
    assert_int_equal(part.kind, 77);
    assert_int_equal(part.body_size, 0);
    at += part.size;
    weir *second = load(file.data + at, file.size - at, &used);
    assert_same_state(b, second);
    assert_int_equal(at + used, file.size);
    weir_close(a);
    weir_close(b);
    weir_close(first);
    weir_close(second);
    blob_free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_files_tell_what_they_told),
        cmocka_unit_test(golden_sketches_tell_are_saved_and_made_the_same),
        cmocka_unit_test(golden_files_are_saved_as_they_were),
        cmocka_unit_test(golden_files_are_what_their_streams_give),
        cmocka_unit_test(the_head_is_as_documented),
        cmocka_unit_test(a_buffer_too_small_is_left_alone),
        cmocka_unit_test(a_sink_that_refuses_stops_the_writing),
        cmocka_unit_test(a_refused_note_says_so),
        cmocka_unit_test(parts_follow_each_other),
    };

    return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
