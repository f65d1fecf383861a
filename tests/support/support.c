/* support.c - see support.h. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/build.h>

#include "filter/filter.h"

void choose_cases(void)
{
    const char *pattern = getenv("WEIR_CASE");

    if (pattern)
        cmocka_set_test_filter(pattern);
}

size_t sized(size_t full)
{
    const char *quick = getenv("WEIR_QUICK");

    return quick && *quick == '1' && full >= 10 ? full / 10 : full;
}

weir_filter *open_filter(const char *spec)
{
    struct weir_error error = {0};
    weir_filter *w;

    if (weir_open(&w, spec, &error) != WEIR_OK)
        fail_msg("'%s' is refused: %s", spec, error.text);
    assert_non_null(w);
    return w;
}

weir_filter *open_filtered(const char *format, ...)
{
    char spec[SPEC];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(spec, sizeof spec, format, arguments);
    va_end(arguments);
    return open_filter(spec);
}

bool can_learn(const char *name)
{
    return weir_find_algorithm(WEIR_KIND_FILTER, name)->traits & WEIR_CAN_OBSERVE;
}

weir_filter *built_filter(const char *spec, const struct weir_key *keys, size_t n)
{
    struct weir_error error = {0};
    weir_builder *b;
    weir_filter *w = NULL;

    if (weir_build_begin(&b, spec, NULL, &error) != WEIR_OK ||
        weir_build_add(b, keys, n, &error) != WEIR_OK ||
        weir_build_finish(b, &w, &error) != WEIR_OK)
        fail_msg("'%s' is not built: %s", spec, error.text);
    assert_non_null(w);
    return w;
}

struct listed names_with(enum weir_kind kind, uint64_t traits)
{
    struct listed list = {""};

    for (size_t i = 0; weir_algorithm_at(kind, i); i++)
        if ((weir_algorithm_at(kind, i)->traits & traits) == traits)
            strcat(strcat(list.text, *list.text ? ", " : ""), weir_algorithm_at(kind, i)->name);
    return list;
}

void assert_refused(const char *spec, const char *expected)
{
    struct weir_error error = {0};
    weir_filter *w = (weir_filter *)&error; /* must become NULL */

    if (weir_open(&w, spec, &error) == WEIR_OK)
        fail_msg("'%s' is accepted", spec);
    assert_null(w);
    assert_int_equal(error.status, WEIR_BAD_CONFIG);
    assert_string_equal(error.text, expected);
    assert_int_equal(weir_open(&w, spec, NULL), WEIR_BAD_CONFIG);
}

struct blob blob_of(const weir_filter *w)
{
    struct blob b = {NULL, weir_saved_size(w)};

    b.data = malloc(b.size);
    assert_int_equal(weir_save_buffer(w, b.data, b.size, NULL), b.size);
    return b;
}

struct blob blob_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct blob b = {NULL, 0};
    uint8_t piece[4096];
    size_t n;

    if (!file)
        fail_msg("%s cannot be read", path);
    while ((n = fread(piece, 1, sizeof piece, file)) > 0)
        blob_sink(&b, piece, n);
    fclose(file);
    return b;
}

void blob_free(struct blob b)
{
    free(b.data);
}

bool blob_sink(void *context, const void *data, size_t size)
{
    struct blob *b = context;

    b->data = realloc(b->data, b->size + size);
    memcpy(b->data + b->size, data, size);
    b->size += size;
    return true;
}

void assert_same_blob(struct blob a, struct blob b)
{
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
}

void assert_same_saved(struct blob a, struct blob b)
{
    assert_same_blob(a, b);
    blob_free(a);
    blob_free(b);
}

void assert_same_state(const weir_filter *a, const weir_filter *b)
{
    assert_same_saved(blob_of(a), blob_of(b));
}

void assert_not_loaded(struct blob b, const char *expected)
{
    struct weir_error error = {0};
    weir_filter *w = (weir_filter *)&error; /* must become NULL */
    size_t used = 4711;

    assert_int_equal(weir_load_buffer(&w, b.data, b.size, &used, NULL, &error), WEIR_BAD_DATA);
    assert_null(w);
    assert_int_equal(used, 4711);
    assert_int_equal(error.status, WEIR_BAD_DATA);
    if (expected)
        assert_string_equal(error.text, expected);
    else
        assert_true(*error.text);
    assert_int_equal(weir_load_buffer(&w, b.data, b.size, NULL, NULL, NULL), WEIR_BAD_DATA);
}

bool loads_usable(struct blob b)
{
    struct weir_error error = {0};
    uint8_t verdicts[40];
    struct weir_key keys[40];
    weir_filter *w, *again;

    if (weir_load_buffer(&w, b.data, b.size, NULL, NULL, &error) != WEIR_OK) {
        assert_true(error.status == WEIR_BAD_DATA && *error.text);
        return false;
    }
    for (uint64_t i = 0; i < 40; i++) {
        keys[i] = numbered(w, i);
        keys[i].importance = (uint32_t)(i * 0x9e3779b9u);
    }
    if (w->ops->is.about.traits & WEIR_CAN_OBSERVE)
        weir_observe_many(w, keys, 40, verdicts);
    weir_ask_many(w, keys, 40, verdicts);
    struct weir_stats stats = weir_stats_of(w);
    assert_true(stats.fill >= 0 && stats.fill <= 1 && stats.error >= 0 && stats.error <= 1.000001);
    assert_int_equal(stats.observed, stats.seen + stats.new_keys);
    struct blob saved = blob_of(w);
    assert_int_equal(weir_load_buffer(&again, saved.data, saved.size, NULL, NULL, NULL), WEIR_OK);
    assert_same_state(w, again);
    blob_free(saved);
    weir_close(w);
    weir_close(again);
    return true;
}

struct weir_key numbered(const weir_filter *w, uint64_t i)
{
    uint8_t bytes[8];

    bits_store64(bytes, i);
    return weir_hash(w, bytes, sizeof bytes);
}

struct weir_key *stream_of(const weir_filter *w, size_t n, uint64_t seed)
{
    struct weir_key *keys = malloc((n + 1) * sizeof *keys);
    struct rng r = rng_at(seed, 1);

    for (size_t i = 0; i < n; i++) {
        uint64_t back = rng_below(&r, 4) ? 50 : i + 1;

        keys[i] = i > 50 && rng_below(&r, 2) ? keys[i - 1 - rng_below(&r, back < i ? back : i)]
                                             : numbered(w, seed << 32 | i);
        uint64_t draw = rng_next(&r);
        keys[i].importance = (uint32_t)(draw >> (32 + rng_below(&r, 32)));
    }
    return keys;
}

double chi_square(const uint64_t *counts, size_t n)
{
    double total = 0, sum = 0;

    for (size_t i = 0; i < n; i++)
        total += (double)counts[i];
    for (size_t i = 0; i < n; i++) {
        double off = (double)counts[i] - total / (double)n;

        sum += off * off / (total / (double)n);
    }
    return sum;
}

double chi_square_limit(size_t n)
{
    double free = (double)n - 1, t = 2 / (9 * free);

    return free * pow(1 - t + 5.2 * sqrt(t), 3);
}
