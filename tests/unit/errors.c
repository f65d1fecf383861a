/* errors.c - the error code of every kind of failure, and the names of the codes. */
#include <string.h>
#include <weir/build.h>
#include <weir/hash.h>
#include <weir/saved.h>
#include <weir/screen.h>
#include <weir/shared.h>
#include <weir/sketch.h>

#define WEIR_UNSTABLE
#include <weir/plan.h>

#include "support/sketches.h"
#include "support/support.h"

/* The returned status, and the error that the call filled in. */
static void assert_code(int32_t code, int status, const struct weir_error *error)
{
    if (error->code != code)
        fail_msg("%s: %s is not %s", error->text, weir_error_name(error->code),
                 weir_error_name(code));
    assert_int_equal(error->status, code / 100);
    assert_int_equal(status, code / 100);
    assert_true(*error->text);
}

/* ---- specs ---- */

static const struct {
    int32_t code;
    enum weir_kind kind;
    const char *spec;
} wrong_specs[] = {
    {WEIR_ERROR_BAD_CONFIG, WEIR_KIND_FILTER, "bloom memory"},
    {WEIR_ERROR_UNKNOWN_ALGORITHM, WEIR_KIND_FILTER, "blom"},
    {WEIR_ERROR_UNKNOWN_ALGORITHM, WEIR_KIND_SKETCH, "bloom"},
    {WEIR_ERROR_UNKNOWN_PARAMETER, WEIR_KIND_FILTER, "bloom memry=1M"},
    {WEIR_ERROR_INVALID_VALUE, WEIR_KIND_FILTER, "bloom memory=12Q"},
    {WEIR_ERROR_INVALID_VALUE, WEIR_KIND_FILTER, "recent width=17"},
    {WEIR_ERROR_INVALID_VALUE, WEIR_KIND_FILTER, "fuse bits=17 capacity=1k"},
    {WEIR_ERROR_INVALID_VALUE, WEIR_KIND_SCREEN, "cache width=17"},
    {WEIR_ERROR_INVALID_VALUE, WEIR_KIND_SKETCH, "heavykeeper depth=17"},
    {WEIR_ERROR_REPEATED_PARAMETER, WEIR_KIND_FILTER, "bloom k=2 k=2"},
    {WEIR_ERROR_CONFLICTING_PARAMETERS, WEIR_KIND_FILTER, "recent window=1k span=1h"},
    {WEIR_ERROR_CONFLICTING_PARAMETERS, WEIR_KIND_SKETCH, "count-min memory=1K error=1%"},
    {WEIR_ERROR_CONFLICTING_PARAMETERS, WEIR_KIND_SKETCH, "heavykeeper memory=1K width=8"},
    {WEIR_ERROR_CONFLICTING_PARAMETERS, WEIR_KIND_SCREEN, "strict window=1k"},
    {WEIR_ERROR_LIMIT_UNREACHABLE, WEIR_KIND_FILTER, "recent fpr=1e-9 width=8"},
    {WEIR_ERROR_LIMIT_UNREACHABLE, WEIR_KIND_SCREEN, "cache fpr=1e-9 width=8"},
    {WEIR_ERROR_MEMORY_TOO_SMALL, WEIR_KIND_FILTER, "cuckoo memory=64 capacity=1M"},
    {WEIR_ERROR_MEMORY_TOO_SMALL, WEIR_KIND_SKETCH, "top memory=64"},
    {WEIR_ERROR_MEMORY_TOO_SMALL, WEIR_KIND_SKETCH, "heavykeeper memory=64"},
    {WEIR_ERROR_INVALID_ARGUMENT, (enum weir_kind)9, "bloom"},
};

TEST(a_wrong_spec_has_its_code)
{
    char text[WEIR_SPEC_MAX];

    for (size_t i = 0; i < sizeof wrong_specs / sizeof *wrong_specs; i++) {
        struct weir_error error = {0};
        int status =
            weir_spec_complete(wrong_specs[i].kind, wrong_specs[i].spec, text, sizeof text, &error);

        assert_code(wrong_specs[i].code, status, &error);
    }
}

/* ---- calls ---- */

TEST(opening_has_its_codes)
{
    struct weir_options options = {.size = sizeof options, .max_bytes = 100};
    struct weir_error error = {0};
    weir_shared *shared;
    weir_filter *w;

    assert_code(WEIR_ERROR_MAX_BYTES, weir_open_with(&w, "bloom", &options, &error), &error);
    options.size = 1;
    assert_code(WEIR_ERROR_INVALID_ARGUMENT, weir_open_with(&w, "bloom", &options, &error), &error);
    assert_code(WEIR_ERROR_NEEDS_BUILDER, weir_open(&w, "fuse capacity=1k", &error), &error);
    assert_code(WEIR_ERROR_INVALID_ARGUMENT, weir_shared_open(&shared, "bloom", 257, NULL, &error),
                &error);
}

TEST(saved_data_has_its_codes)
{
    weir_filter *w = open_filter("bloom memory=64 k=1 seed=1"), *again;
    struct weir_error error = {0};
    struct blob b = blob_of(w);
    uint32_t n;

    assert_int_equal(weir_save_buffer(w, b.data, b.size - 1, &error), 0);
    assert_code(WEIR_ERROR_BUFFER_TOO_SMALL, error.status, &error);
    assert_code(WEIR_ERROR_UNSUPPORTED, weir_save_shard(w, 2, 2, blob_sink, NULL, &error), &error);
    assert_code(WEIR_ERROR_NOT_WEIR, weir_load_buffer(&again, "text", 4, NULL, NULL, &error),
                &error);
    assert_code(WEIR_ERROR_TRUNCATED,
                weir_load_buffer(&again, b.data, b.size - 1, NULL, NULL, &error), &error);
    b.data[b.size - 70] ^= 1;
    assert_code(WEIR_ERROR_CHECKSUM, weir_load_buffer(&again, b.data, b.size, NULL, NULL, &error),
                &error);
    assert_code(WEIR_ERROR_CHECKSUM, weir_verify(b.data, b.size, &error), &error);
    b.data[20] ^= 1;
    assert_code(WEIR_ERROR_CHECKSUM, weir_load_buffer(&again, b.data, b.size, NULL, NULL, &error),
                &error);
    b.data[16] = 1; /* a head of this many bytes */
    assert_code(WEIR_ERROR_CONTRADICTORY,
                weir_load_buffer(&again, b.data, b.size, NULL, NULL, &error), &error);
    b.data[4] = 2;
    assert_code(WEIR_ERROR_OLD_FORMAT, weir_load_buffer(&again, b.data, b.size, NULL, NULL, &error),
                &error);
    b.data[4] = 99;
    assert_code(WEIR_ERROR_NEWER_FORMAT,
                weir_load_buffer(&again, b.data, b.size, NULL, NULL, &error), &error);
    blob_free(b);
    b = (struct blob){NULL, 0};
    assert_int_equal(weir_save_shard(w, 0, 2, blob_sink, &b, NULL), WEIR_OK);
    assert_code(WEIR_ERROR_ONE_SHARD, weir_load_buffer(&again, b.data, b.size, NULL, NULL, &error),
                &error);
    assert_code(WEIR_ERROR_BAD_SHARDS,
                weir_load_shards(&again, 1, &n, b.data, b.size, NULL, NULL, &error), &error);
    blob_free(b);
    b = (struct blob){NULL, 0};
    assert_int_equal(weir_part_write(WEIR_PART_NOTE, "", 0, blob_sink, &b, NULL), WEIR_OK);
    assert_code(WEIR_ERROR_WRONG_KIND, weir_load_buffer(&again, b.data, b.size, NULL, NULL, &error),
                &error);
    blob_free(b);
    weir_close(w);
}

static bool refuses(void *context, const void *data, size_t size)
{
    (void)context, (void)data, (void)size;
    return false;
}

TEST(filters_have_their_codes)
{
    weir_filter *w = open_filter("bloom memory=64 k=1 seed=1");
    weir_filter *seed = open_filter("bloom memory=64 k=1 seed=2");
    weir_filter *k = open_filter("bloom memory=64 k=2 seed=1");
    weir_filter *rsbf = open_filter("rsbf memory=4K seed=1"), *view;
    struct weir_error error = {0};
    struct weir_key key = weir_hash(w, "key", 3);
    struct blob b = blob_of(w);

    assert_code(WEIR_ERROR_SEED_MISMATCH, weir_merge(w, seed, &error), &error);
    assert_code(WEIR_ERROR_SPEC_MISMATCH, weir_merge(w, k, &error), &error);
    assert_code(WEIR_ERROR_SPEC_MISMATCH, weir_merge(w, rsbf, &error), &error);
    assert_code(WEIR_ERROR_UNSUPPORTED, weir_merge(rsbf, rsbf, &error), &error);
    assert_code(WEIR_ERROR_UNSUPPORTED, weir_forget(w, key, NULL, &error), &error);
    assert_code(WEIR_ERROR_WRITE_FAILED, weir_save_stream(w, refuses, NULL, &error), &error);
    assert_int_equal(weir_view_buffer(&view, b.data, b.size, NULL, NULL, NULL), WEIR_OK);
    assert_code(WEIR_ERROR_READ_ONLY, weir_merge(view, w, &error), &error);
    assert_code(WEIR_ERROR_READ_ONLY, weir_merge(w, view, &error), &error);
    assert_code(WEIR_ERROR_READ_ONLY, weir_forget(view, key, NULL, &error), &error);
    assert_null(weir_clone(view, &error));
    assert_code(WEIR_ERROR_READ_ONLY, error.status, &error);
    weir_close(view);
    weir_close(rsbf);
    weir_close(k);
    weir_close(seed);
    weir_close(w);
    blob_free(b);
}

TEST(sketches_and_screens_have_their_codes)
{
    weir_sketch *s = open_sketch("count-min memory=4K seed=1");
    weir_sketch *top = open_sketch("top memory=4K seed=1");
    weir_filter *set = open_filter("bloom memory=4K seed=2");
    const weir_sketch *from[] = {s};
    struct weir_error error = {0};
    struct weir_key key = {0};
    weir_screen *screen;

    weir_sketch_add(s, (struct weir_bytes){"key", 3}, 7);
    assert_code(WEIR_ERROR_UNSUPPORTED, weir_sketch_add_hashed(top, &key, NULL, 1, &error), &error);
    assert_code(WEIR_ERROR_SPEC_MISMATCH, weir_sketch_merge(s, top, &error), &error);
    assert_code(WEIR_ERROR_OUT_OF_RANGE, weir_sketch_weigh(s, from, (int64_t[]){-1}, 1, &error),
                &error);
    assert_int_equal(weir_screen_open(&screen, "strict memory=4K seed=1", NULL), WEIR_OK);
    assert_code(WEIR_ERROR_SEED_MISMATCH, weir_screen_attach_set(screen, set, &error), &error);
    weir_screen_close(screen);
    weir_close(set);
    weir_sketch_close(top);
    weir_sketch_close(s);
}

TEST(builders_have_their_codes)
{
    struct weir_key keys[100];
    struct weir_error error = {0};
    weir_builder *b;
    weir_filter *w;

    assert_int_equal(weir_build_begin(&b, "fuse memory=64 seed=1", NULL, NULL), WEIR_OK);
    for (uint64_t i = 0; i < 100; i++)
        keys[i] = weir_hash_bytes(WEIR_HASH_XXH3, 1, &i, sizeof i);
    assert_int_equal(weir_build_add(b, keys, 100, NULL), WEIR_OK);
    assert_code(WEIR_ERROR_FULL, weir_build_finish(b, &w, &error), &error);
}

TEST(predictions_have_their_codes)
{
    struct weir_error error = {0};
    struct weir_stream stream;
    struct weir_prediction p;
    int status = weir_stream_read(&stream, sizeof stream, "uniform:n=1M,bias=direct", &error);

    assert_code(WEIR_ERROR_CONFLICTING_PARAMETERS, status, &error);
    status =
        weir_stream_read(&stream, sizeof stream, "uniform:n=1M,drift=1%/1k,universe=1k", &error);
    if (status != WEIR_OK)
        fail_msg("%s", error.text);
    assert_code(WEIR_ERROR_NO_MODEL, weir_predict(&p, sizeof p, "bloom", &stream, &error), &error);
}

/* ---- names ---- */

TEST(every_code_has_a_unique_name)
{
    const char *names[64];
    size_t n = 0;

    assert_string_equal(weir_error_name(WEIR_ERROR_NONE), "none");
    assert_string_equal(weir_error_name(WEIR_ERROR_UNKNOWN_PARAMETER), "unknown-parameter");
    assert_null(weir_error_name(-1));
    assert_null(weir_error_name(INT32_MAX));
    for (int32_t code = 0; code < 10000; code++) {
        const char *name = weir_error_name(code);

        if (!name) {
            assert_false(code % 100 == 0 && code <= 100 * WEIR_READ_FAILED); /* of a status */
            continue;
        }
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz-"), strlen(name));
        for (size_t i = 0; i < n; i++)
            assert_string_not_equal(name, names[i]);
        names[n++] = name;
    }
    assert_true(n > 30);
}

RUN_TESTS("tests")
