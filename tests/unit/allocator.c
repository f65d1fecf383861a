/* allocator.c - the caller's allocator: every byte of a handle comes from it and is freed to it,
 * nothing else is allocated, and each allocation may fail.
 *
 * The C library's own allocation always fails here (wrapped.h), so blocks are cut from an array:
 * one after the other, not aligned to cache lines, filled with garbage before they are zeroed and
 * after they are freed. */
#include "support/screened.h"
#include "support/variants.h"
#include "support/wrapped.h"

#include <stdio.h>
#include <string.h>
#include <weir/build.h>
#include <weir/saved.h>
#include <weir/shared.h>

#define ARENA (32 << 20)
#define FENCE UINT64_C(0xfe9cefe9cefe9ce1)

static _Alignas(64) uint8_t arena[ARENA];

static struct {
    size_t used;         /* used bytes of the arena */
    size_t live, bytes;  /* live blocks and their bytes */
    size_t taken, grant; /* allocations so far, and how many may succeed */
    size_t largest;
} pool;

struct block {
    uint64_t size;
    uint64_t fence;
};

static void *take(void *context, size_t size)
{
    struct block *b = (struct block *)(void *)(arena + pool.used);
    size_t room = (sizeof *b + size + sizeof b->fence + 63) / 64 * 64;

    assert_ptr_equal(context, &pool);
    if (pool.taken++ >= pool.grant)
        return NULL;
    assert_true(room <= ARENA - pool.used);
    pool.used += room;
    pool.live++;
    pool.bytes += size;
    pool.largest = size > pool.largest ? size : pool.largest;
    *b = (struct block){size, FENCE};
    memset(b + 1, 0, size);
    memcpy((uint8_t *)(b + 1) + size, &b->fence, sizeof b->fence);
    return b + 1;
}

static void give(void *context, void *block)
{
    struct block *b = (struct block *)block - 1;

    assert_ptr_equal(context, &pool);
    assert_true(b->fence == FENCE);
    assert_memory_equal((uint8_t *)block + b->size, &b->fence, sizeof b->fence);
    pool.live--;
    pool.bytes -= b->size;
    memset(b, 0xa5, sizeof *b + b->size + sizeof b->fence);
}

static const struct weir_options options = {.size = sizeof options,
                                            .allocator = {take, give, &pool}};

/* ---- saved bytes ---- */

static uint8_t room[4 << 20];
static size_t saved, read_up_to;

static bool into_room(void *context, const void *data, size_t size)
{
    (void)context;
    assert_true(saved + size <= sizeof room);
    memcpy(room + saved, data, size);
    saved += size;
    return true;
}

static bool out_of_room(void *context, void *data, size_t size)
{
    (void)context;
    if (size > saved - read_up_to)
        return false;
    memcpy(data, room + read_up_to, size);
    read_up_to += size;
    return true;
}

/* ---- open, use and close each kind ---- */

enum { OPENED, LOADED, CLONED, VIEWED, SOURCED, SHARD, HANDLES };

static void use_filter(weir_filter *w)
{
    for (uint64_t i = 0; i < 500; i++)
        weir_observe(w, numbered(w, i));
}

static void use_sketch(weir_sketch *s)
{
    for (uint64_t i = 0; i < 500; i++)
        weir_sketch_add(s, (struct weir_bytes){&i, sizeof i}, i);
}

static bool say_member(void *context, const struct weir_bytes *keys, size_t n, uint8_t *answers)
{
    memset(answers, WEIR_MEMBER, n);
    return true;
}

static void use_screen(weir_screen *s)
{
    for (uint64_t i = 0; i < 500; i++) {
        struct weir_bytes key = {&i, sizeof i};
        uint8_t answer;

        weir_screen_add_members(s, &key, 1);
        weir_screen_check(s, &key, 1, say_member, NULL, &answer);
    }
}

/* The other calls that only filters have. */
static enum weir_status load_otherwise(weir_filter *w[HANDLES], struct weir_error *error)
{
    enum weir_status status = weir_view_buffer(&w[VIEWED], room, saved, NULL, &options, error);
    uint32_t n;

    return status == WEIR_OK
               ? weir_load_shards(&w[SHARD], 1, &n, room, saved, NULL, &options, error)
               : status;
}

#define LIFE(kind, calls, handle_type, more)                                                       \
    static enum weir_status live_##kind(handle_type *h[HANDLES], const char *spec,                 \
                                        struct weir_error *error)                                  \
    {                                                                                              \
        enum weir_status status = calls##_open_with(&h[OPENED], spec, &options, error);            \
                                                                                                   \
        if (status != WEIR_OK)                                                                     \
            return status;                                                                         \
        assert_int_equal(pool.bytes, calls##_stats_of(h[OPENED]).bytes);                           \
        use_##kind(h[OPENED]);                                                                     \
        assert_int_equal(calls##_save_stream(h[OPENED], into_room, NULL, NULL), WEIR_OK);          \
        status = calls##_load_buffer(&h[LOADED], room, saved, NULL, &options, error);              \
        if (status == WEIR_OK)                                                                     \
            status = calls##_load_stream(&h[SOURCED], out_of_room, NULL, &options, error);         \
        if (status == WEIR_OK)                                                                     \
            status = more;                                                                         \
        if (status != WEIR_OK)                                                                     \
            return status;                                                                         \
        h[CLONED] = calls##_clone(h[LOADED], error);                                               \
        if (!h[CLONED])                                                                            \
            return WEIR_NO_MEMORY;                                                                 \
        status = calls##_merge(h[CLONED], h[OPENED], error);                                       \
        return status == WEIR_UNSUPPORTED ? WEIR_OK : status;                                      \
    }                                                                                              \
                                                                                                   \
    static enum weir_status life_of_##kind(const char *spec, struct weir_error *error)             \
    {                                                                                              \
        handle_type *h[HANDLES] = {NULL};                                                          \
        enum weir_status status = live_##kind(h, spec, error);                                     \
                                                                                                   \
        for (int i = 0; i < HANDLES; i++)                                                          \
            calls##_close(h[i]);                                                                   \
        return status;                                                                             \
    }

LIFE(filter, weir, weir_filter, load_otherwise(h, error))
LIFE(sketch, weir_sketch, weir_sketch, WEIR_OK)
LIFE(screen, weir_screen, weir_screen, WEIR_OK)

/* More keys than a builder buffers. */
static enum weir_status life_of_set(const char *spec, struct weir_error *error)
{
    weir_builder *b;
    weir_filter *w = NULL;
    enum weir_status status = weir_build_begin(&b, spec, &options, error);

    for (uint64_t i = 0; status == WEIR_OK && i < 280000; i++)
        status = weir_build_add_bytes(b, &(struct weir_bytes){&i, sizeof i}, 1, error);
    if (status != WEIR_OK) {
        weir_build_cancel(b);
        return status;
    }
    status = weir_build_finish(b, &w, error);
    assert_true((w != NULL) == (status == WEIR_OK));
    if (w)
        assert_int_equal(pool.bytes, weir_stats_of(w).bytes);
    weir_close(w);
    return status;
}

/* ---- failing allocations ---- */

typedef enum weir_status (*life)(const char *spec, struct weir_error *error);

static enum weir_status live(life of, const char *spec, size_t grant)
{
    struct weir_error error = {0};

    pool.used = pool.taken = saved = read_up_to = 0;
    pool.grant = grant;
    wrapped.asked = wrapped.budget = 0;
    enum weir_status status = of(spec, &error);
    wrapped.budget = SIZE_MAX;
    assert_int_equal(wrapped.asked, 0);
    assert_int_equal(pool.live, 0);
    assert_int_equal(pool.bytes, 0);
    assert_true(status == WEIR_OK || error.status == (int32_t)status);
    return status;
}

/* Only the first n allocations succeed, for n = 0, 1 ... until that is enough. */
static void every_byte_comes_and_goes(life of, const char *spec)
{
    size_t n = 0;

    while (live(of, spec, n) == WEIR_NO_MEMORY) {
        assert_true(pool.taken > n);
        assert_true(++n < 20);
    }
    assert_true(n >= 2);
    assert_int_equal(live(of, spec, SIZE_MAX), WEIR_OK);
    assert_int_equal(pool.taken, n);
}

static void property_a_filter_is_of_the_callers_memory(const struct variant *v)
{
    every_byte_comes_and_goes(life_of_filter, v->spec);
}

static void a_set_is_built_in_the_callers_memory(void **state)
{
    every_byte_comes_and_goes(life_of_set, "fuse seed=1");
    every_byte_comes_and_goes(life_of_set, "bloom memory=64K seed=1");
}

/* All listed algorithms, with their simplest specs. */
static void of_every(enum weir_kind kind, life of)
{
    const struct weir_algorithm *about;

    for (size_t i = 0; (about = weir_algorithm_at(kind, i)); i++) {
        char spec[SPEC];

        snprintf(spec, sizeof spec, "%s seed=1%s", about->name,
                 weir_find_parameter(kind, about->name, "memory") ? " memory=64K" : "");
        every_byte_comes_and_goes(of, spec);
    }
}

static void a_sketch_uses_the_callers_memory(void **state)
{
    of_every(WEIR_KIND_SKETCH, life_of_sketch);
    every_byte_comes_and_goes(life_of_sketch, "top memory=64K half-life=100 seed=1");
    every_byte_comes_and_goes(life_of_sketch, "count-min memory=64K half-life=100 seed=1");
}

static void a_screen_uses_the_callers_memory(void **state)
{
    of_every(WEIR_KIND_SCREEN, life_of_screen);
}

/* ---- options ---- */

static void no_block_exceeds_max_bytes(void **state)
{
    struct weir_options little = options;
    struct weir_error error;
    weir_filter *w;

    pool.used = pool.taken = pool.largest = 0;
    pool.grant = SIZE_MAX;
    assert_int_equal(weir_open_with(&w, "bloom memory=4M", &options, NULL), WEIR_OK);
    little.max_bytes = weir_stats_of(w).bytes;
    weir_close(w);
    assert_int_equal(pool.largest, little.max_bytes);
    assert_int_equal(weir_open_with(&w, "bloom memory=4M", &little, NULL), WEIR_OK);
    weir_close(w);
    little.max_bytes = 1000;
    pool.taken = 0;
    assert_int_equal(weir_open_with(&w, "bloom memory=512", &little, &error), WEIR_NO_MEMORY);
    assert_null(w);
    assert_int_equal(pool.taken, 0);
    assert_non_null(strstr(error.text, " bytes, but max_bytes is 1000; "));
}

static void a_shared_filter_uses_the_callers_memory(void **state)
{
    struct weir_options enough = options, little = options;
    struct weir_stats stats;
    weir_shared *s, *again;

    pool.used = pool.taken = pool.bytes = saved = 0;
    pool.grant = SIZE_MAX;
    assert_int_equal(weir_shared_open(&s, "recent memory=64K", 5, &options, NULL), WEIR_OK);
    weir_shared_measure(s, &stats, sizeof stats);
    assert_int_equal(pool.bytes, stats.bytes);
    assert_int_equal(weir_shared_save_stream(s, into_room, NULL, NULL), WEIR_OK);
    weir_shared_close(s);
    assert_int_equal(pool.bytes, 0);
    enough.max_bytes = stats.bytes;
    assert_int_equal(weir_shared_open(&s, "recent memory=64K", 5, &enough, NULL), WEIR_OK);
    assert_int_equal(weir_shared_load_buffer(&again, room, saved, NULL, &enough, NULL), WEIR_OK);
    assert_int_equal(pool.bytes, 2 * stats.bytes);
    weir_shared_close(s);
    weir_shared_close(again);
    little.max_bytes = stats.bytes - 1;
    pool.taken = 0;
    assert_int_equal(weir_shared_open(&s, "recent memory=64K", 5, &little, NULL), WEIR_NO_MEMORY);
    assert_int_equal(pool.taken, 0);
    little.max_bytes = stats.bytes - 5;
    assert_int_equal(weir_shared_load_buffer(&s, room, saved, NULL, &little, NULL), WEIR_NO_MEMORY);
    assert_int_equal(pool.taken, 0);
}

static void the_error_names_the_callers_allocator(void **state)
{
    struct weir_error error;
    weir_filter *w;

    pool.grant = 0;
    assert_int_equal(weir_open_with(&w, "bloom memory=512", &options, &error), WEIR_NO_MEMORY);
    assert_string_equal(error.text,
                        "memory=512: the program's allocator does not provide that much; use less");
}

/* A program compiled with another version of the struct. */
static void options_of_another_version_are_accepted(void **state)
{
    struct {
        struct weir_options known;
        uint64_t unknown;
    } later = {{.size = sizeof later}, 0};
    struct weir_options none = {0}, half = {.size = sizeof half, .allocator = {.allocate = take}};
    struct weir_error error;
    weir_filter *w;

    assert_int_equal(weir_open_with(&w, "memory=512", &later.known, NULL), WEIR_OK);
    weir_close(w);
    later.unknown = 1;
    assert_int_equal(weir_open_with(&w, "memory=512", &later.known, &error), WEIR_UNSUPPORTED);
    assert_null(w);
    assert_int_equal(weir_open_with(&w, "memory=512", &none, &error), WEIR_BAD_CONFIG);
    assert_string_equal(error.text,
                        "struct weir_options: invalid size; set its first field to its sizeof");
    assert_int_equal(weir_load_buffer(&w, "", 0, NULL, &none, NULL), WEIR_BAD_CONFIG);
    assert_int_equal(weir_open_with(&w, "memory=512", &half, &error), WEIR_BAD_CONFIG);
    assert_string_equal(error.text,
                        "the allocator in the options needs both allocate and free, or neither");
}

PROPERTY(a_filter_is_of_the_callers_memory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        property_test(a_filter_is_of_the_callers_memory),
        cmocka_unit_test(a_set_is_built_in_the_callers_memory),
        cmocka_unit_test(a_sketch_uses_the_callers_memory),
        cmocka_unit_test(a_screen_uses_the_callers_memory),
        cmocka_unit_test(no_block_exceeds_max_bytes),
        cmocka_unit_test(a_shared_filter_uses_the_callers_memory),
        cmocka_unit_test(the_error_names_the_callers_allocator),
        cmocka_unit_test(options_of_another_version_are_accepted),
    };

    return cmocka_run_group_tests_name("allocator", tests, NULL, NULL);
}
