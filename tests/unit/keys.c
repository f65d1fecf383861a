/* keys.c - hashing without a filter, keys as bytes, a time per key, prefetched keys: each equals
 * the plain calls. */
#ifdef WEIR_DEBUG
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif
#include <stdio.h>
#include <string.h>
#include <weir/hash.h>
#include <weir/sketch.h>

#include "support/support.h"
#include "support/variants.h"

#define KEYS 3000

static char text[KEYS][16];
static struct weir_bytes bytes[KEYS];

/* Two thirds of the keys occur twice. */
static void make_keys(void)
{
    for (size_t i = 0; i < KEYS; i++) {
        int n = snprintf(text[i], sizeof text[i], "key %zu", i % (KEYS / 3 * 2));

        bytes[i] = (struct weir_bytes){text[i], (size_t)n};
    }
}

static void assert_same_key(struct weir_key a, struct weir_key b)
{
    assert_true(a.lo == b.lo && a.hi == b.hi);
    assert_int_equal(a.importance, b.importance);
    assert_int_equal(a.origin, b.origin);
}

static void a_filter_hashes_by_its_hash_and_seed(void **state)
{
    static const char *const spec[] = {"bloom memory=64 hash=xxh3 seed=7",
                                       "bloom memory=64 hash=sip seed=7"};
    struct weir_key many[2];

    make_keys();
    for (uint32_t kind = 0; kind < 2; kind++) {
        weir_filter *w = open_filter(spec[kind]);

        weir_hash_bytes_many(kind, 7, bytes, 2, many);
        for (int i = 0; i < 2; i++) {
            struct weir_key key = weir_hash(w, bytes[i].data, bytes[i].size);

            assert_same_key(key, weir_hash_bytes(kind, 7, bytes[i].data, bytes[i].size));
            assert_same_key(key, many[i]);
        }
        weir_close(w);
    }
}

static void keys_of_another_seed_or_hash_have_another_origin(void **state)
{
    uint32_t origin = weir_hash_bytes(WEIR_HASH_XXH3, 7, "a", 1).origin;

    assert_int_not_equal(origin, 0);
    assert_int_equal(origin, weir_hash_bytes(WEIR_HASH_XXH3, 7, "b", 1).origin);
    assert_int_not_equal(origin, weir_hash_bytes(WEIR_HASH_XXH3, 8, "a", 1).origin);
    assert_int_not_equal(origin, weir_hash_bytes(WEIR_HASH_SIP, 7, "a", 1).origin);
}

/* Sketches hash as filters do. */
static void hashing_for_a_sketch_needs_no_sketch(void **state)
{
    weir_sketch *s;
    struct weir_key key;

    assert_int_equal(weir_sketch_open(&s, "count-min memory=64 hash=sip seed=7", NULL), WEIR_OK);
    key = weir_hash_bytes(WEIR_HASH_SIP, 7, "a", 1);
    assert_same_key(weir_sketch_hash(s, "a", 1), key);
    assert_int_equal(weir_sketch_add_hashed(s, &key, NULL, 1, NULL), WEIR_OK);
    assert_int_equal(weir_sketch_ask(s, (struct weir_bytes){"a", 1}).count, 1);
    weir_sketch_close(s);
}

#ifdef WEIR_DEBUG

/* Calls that take a key; they abort on a key hashed with another seed. */
static void observe(struct weir_key key)
{
    weir_observe(open_filter("bloom memory=64 seed=7"), key);
}

static void observe_many(struct weir_key key)
{
    uint8_t verdict;

    weir_observe_many(open_filter("recent memory=64 seed=7"), &key, 1, &verdict);
}

static void ask(struct weir_key key)
{
    weir_ask(open_filter("bloom memory=64 seed=7"), key);
}

static void forget(struct weir_key key)
{
    weir_forget(open_filter("counting memory=64 seed=7"), key, NULL, NULL);
}

static void add_hashed(struct weir_key key)
{
    weir_sketch *s;

    assert_int_equal(weir_sketch_open(&s, "count-min memory=64 seed=7", NULL), WEIR_OK);
    (void)!weir_sketch_add_hashed(s, &key, NULL, 1, NULL);
}

static bool stops(void (*call)(struct weir_key key), struct weir_key key)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        close(STDERR_FILENO);
        call(key);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void a_key_of_another_seed_is_detected(void **state)
{
    void (*const calls[])(struct weir_key key) = {observe, observe_many, ask, forget, add_hashed};

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        assert_true(stops(calls[i], weir_hash_bytes(WEIR_HASH_XXH3, 8, "a", 1)));
        assert_false(stops(calls[i], weir_hash_bytes(WEIR_HASH_XXH3, 7, "a", 1)));
        assert_false(stops(calls[i], (struct weir_key){.lo = 1, .hi = 2}));
    }
}

#endif

/* A filter that gets one key in n by weir_shard() uses all of its memory: each shard has no more
 * errors than one filter with n times the memory. */
static void a_shard_fills_like_a_separate_filter(void **state)
{
    enum { SHARDS = 16, EACH = 4000 };
    weir_filter *shard = open_filter("bloom capacity=4k fpr=1% seed=7"),
                *alone = open_filter("bloom capacity=4k fpr=1% seed=7");

    for (uint64_t i = 0, taken = 0; taken < EACH; i++) {
        struct weir_key key = weir_hash_bytes(WEIR_HASH_XXH3, 7, &i, sizeof i);

        if (weir_shard(key, SHARDS) == 3) {
            weir_observe(shard, key);
            taken++;
        }
        if (i < EACH)
            weir_observe(alone, key);
    }
    double a = weir_stats_of(shard).fill, b = weir_stats_of(alone).fill;
    assert_true(a > b * 0.98 && a < b * 1.02);
    weir_close(shard);
    weir_close(alone);
}

static void shards_get_equal_shares(void **state)
{
    uint32_t count[1000] = {0};

    for (uint64_t i = 0; i < 1000000; i++)
        count[weir_shard(weir_hash_bytes(WEIR_HASH_XXH3, 1, &i, sizeof i), 1000)]++;
    for (int i = 0; i < 1000;
         i++) /* 1000 each; one sigma is 32, and 65536 is not a multiple of n: 1.5 % */
        assert_in_range(count[i], 800, 1200);
}

static void law_bytes_are_keys_that_are_hashed(const struct variant *v)
{
    weir_filter *a = open_filter(v->spec), *b = open_filter(v->spec);
    static struct weir_key keys[KEYS];
    static uint8_t of_a[KEYS], of_b[KEYS];

    make_keys();
    weir_hash_many(b, bytes, KEYS, keys);
    weir_observe_bytes_many(a, bytes, KEYS - 1, of_a);
    of_a[KEYS - 1] = weir_observe_bytes(a, bytes[KEYS - 1].data, bytes[KEYS - 1].size);
    weir_observe_many(b, keys, KEYS, of_b);
    assert_memory_equal(of_a, of_b, KEYS);
    weir_ask_bytes_many(a, bytes, KEYS - 1, of_a);
    of_a[KEYS - 1] = weir_ask_bytes(a, bytes[KEYS - 1].data, bytes[KEYS - 1].size);
    for (int i = 0; i < KEYS; i++)
        weir_prefetch(b, keys[i]);
    weir_ask_many(b, keys, KEYS, of_b);
    assert_memory_equal(of_a, of_b, KEYS);
    assert_same_state(a, b);
    weir_close(a);
    weir_close(b);
}

static void keys_can_be_bytes(void **state)
{
    for_each_variant(law_bytes_are_keys_that_are_hashed);
}

/* Times go forward and back, stand still, and jump over whole spans. */
static void assert_times_are_advances(const char *spec)
{
    weir_filter *a = open_filter(spec), *b = open_filter(spec);
    static struct weir_key keys[KEYS];
    static uint64_t times[KEYS];
    static uint8_t of_a[KEYS], of_b[KEYS];

    make_keys();
    weir_hash_many(a, bytes, KEYS, keys);
    for (uint64_t i = 0; i < KEYS; i++)
        times[i] = i / 3 * 7 + (i % 11 == 0 ? 400 : 0) + i / 1000 * 5000;
    weir_observe_many_at(a, keys, times, KEYS, of_a);
    for (int i = 0; i < KEYS; i++) {
        weir_advance(b, times[i]);
        of_b[i] = weir_observe(b, keys[i]);
    }
    assert_memory_equal(of_a, of_b, KEYS);
    assert_same_state(a, b);
    weir_close(a);
    weir_close(b);
}

static void a_time_per_key_equals_an_advance_before_each(void **state)
{
    assert_times_are_advances("recent memory=4K span=1s seed=7");
    assert_times_are_advances("recent memory=4K span=1s refresh=no seed=7");
    assert_times_are_advances("recent memory=4K span=4ms seed=7");
    assert_times_are_advances("recent memory=4K window=100 seed=7");
    assert_times_are_advances("bloom memory=4K seed=7");
}

static void stats_fit_the_struct_of_an_older_or_newer_caller(void **state)
{
    weir_filter *w = open_filter("bloom memory=64 seed=7");
    struct weir_stats whole = weir_stats_of(w);
    struct {
        struct weir_stats known;
        uint64_t later;
    } newer;
    uint64_t older[2] = {0, 99};

    memset(&newer, 0xff, sizeof newer);
    weir_measure(w, (struct weir_stats *)(void *)older, sizeof *older);
    weir_measure(w, (struct weir_stats *)(void *)&newer, sizeof newer);
    assert_int_equal(older[0], whole.memory);
    assert_int_equal(older[1], 99);
    assert_memory_equal(&newer.known, &whole, sizeof whole);
    assert_int_equal(newer.later, 0);
    weir_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_hashes_by_its_hash_and_seed),
        cmocka_unit_test(keys_of_another_seed_or_hash_have_another_origin),
        cmocka_unit_test(hashing_for_a_sketch_needs_no_sketch),
#ifdef WEIR_DEBUG
        cmocka_unit_test(a_key_of_another_seed_is_detected),
#endif
        cmocka_unit_test(a_shard_fills_like_a_separate_filter),
        cmocka_unit_test(shards_get_equal_shares),
        cmocka_unit_test(keys_can_be_bytes),
        cmocka_unit_test(a_time_per_key_equals_an_advance_before_each),
        cmocka_unit_test(stats_fit_the_struct_of_an_older_or_newer_caller),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
