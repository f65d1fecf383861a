/* shared.c - one filter, many threads: each shard equals a plain filter that observed its keys one
 * at a time, in an order that preserves every caller's order. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <weir/hash.h>
#include <weir/saved.h>
#include <weir/shared.h>

#include "support/support.h"
#include "support/variants.h"

#define START UINT64_C(1700000000000)

static weir_shared *open_shared(const char *spec, uint32_t shards)
{
    weir_shared *s;
    struct weir_error error = {0};

    if (weir_shared_open(&s, spec, shards, NULL, &error) != WEIR_OK)
        fail_msg("%s: %s", spec, error.text);
    return s;
}

static void process(weir_shared *s, uint64_t ticket, const struct weir_key *keys,
                    const uint64_t *times, size_t n, uint8_t *verdicts)
{
    weir_shared_process(s, ticket,
                        &(struct weir_shared_batch){.size = sizeof(struct weir_shared_batch),
                                                    .keys = keys,
                                                    .times = times,
                                                    .n = n,
                                                    .verdicts = verdicts});
}

/* ---- the model: a plain filter per shard, one key at a time ---- */

struct model {
    uint32_t n;
    weir_filter *w[WEIR_SHARED_SHARDS_MAX];
};

static struct model open_model(const char *spec, uint32_t n)
{
    struct model m = {.n = n};
    char whole[WEIR_SPEC_MAX], part[WEIR_SPEC_MAX];

    assert_int_equal(weir_spec_complete(WEIR_KIND_FILTER, spec, whole, sizeof whole, NULL), 0);
    assert_int_equal(weir_shard_spec(whole, n, part, sizeof part, NULL), WEIR_OK);
    for (uint32_t i = 0; i < n; i++)
        m.w[i] = open_filter(part);
    return m;
}

static void assert_as_the_model(weir_shared *s, struct model *m)
{
    assert_int_equal(weir_shared_shards(s), m->n);
    for (uint32_t i = 0; i < m->n; i++)
        assert_same_state(weir_shared_shard(s, i), m->w[i]);
}

static void close_model(struct model *m)
{
    for (uint32_t i = 0; i < m->n; i++)
        weir_close(m->w[i]);
}

/* Batches of every size; in some of them all keys are equal. */
static size_t next_batch(struct weir_key *keys, size_t left, size_t number)
{
    static const size_t sizes[] = {1, 3, 700, 4096, 5000, 17, 0, 20000};
    size_t n = sizes[number % 8] < left ? sizes[number % 8] : left;

    for (size_t i = 0; number % 3 == 2 && i < n; i++)
        keys[i] = keys[0];
    return n;
}

static void property_a_shard_is_a_plain_filter(const struct variant *v)
{
    static const uint32_t shards[] = {1, 2, 7};
    size_t n = sized(30000);
    uint8_t *verdicts = malloc(n);

    for (int c = 0; c < 3; c++) {
        struct model m = open_model(v->spec, shards[c]);
        weir_shared *s = open_shared(v->spec, shards[c]);
        struct weir_key *keys = stream_of(m.w[0], n, 5);

        for (size_t at = 0, number = 0, some; at < n; at += some, number++) {
            some = next_batch(keys + at, n - at, number);
            weir_shared_observe_many(s, keys + at, some, verdicts + at);
        }
        for (size_t i = 0; i < n; i++) {
            weir_filter *w = m.w[weir_shard(keys[i], shards[c])];

            assert_int_equal(verdicts[i], weir_observe(w, keys[i]));
        }
        assert_as_the_model(s, &m);
        weir_shared_ask_many(s, keys, n, verdicts);
        for (size_t i = 0; i < n; i += 101) {
            weir_filter *w = m.w[weir_shard(keys[i], shards[c])];

            assert_int_equal(verdicts[i], weir_ask(w, keys[i]));
            assert_int_equal(weir_shared_ask(s, keys[i]), weir_ask(w, keys[i]));
        }
        for (size_t i = 0; i < n; i += 101) {
            weir_filter *w = m.w[weir_shard(keys[i], shards[c])];

            assert_int_equal(weir_shared_observe(s, keys[i]), weir_observe(w, keys[i]));
        }
        assert_as_the_model(s, &m);
        weir_shared_close(s);
        close_model(&m);
        free(keys);
    }
    free(verdicts);
}

static void any_number_of_shards_works(void **state)
{
    enum { KEYS = 40000 };
    uint8_t *verdicts = malloc(KEYS);

    for (uint32_t n = 1; n <= WEIR_SHARED_SHARDS_MAX; n = n < 4 ? n + 1 : n * 2) {
        struct model m = open_model("recent memory=64K seed=11", n);
        weir_shared *s = open_shared("recent memory=64K seed=11", n);
        struct weir_key *keys = stream_of(m.w[0], KEYS, n);

        weir_shared_observe_many(s, keys, KEYS, verdicts);
        for (size_t i = 0; i < KEYS; i++)
            assert_int_equal(verdicts[i], weir_observe(m.w[weir_shard(keys[i], n)], keys[i]));
        assert_as_the_model(s, &m);
        weir_shared_close(s);
        close_model(&m);
        free(keys);
    }
    free(verdicts);
}

static void each_key_can_have_its_own_time(void **state)
{
    enum { KEYS = 30000, SHARDS = 5 };
    static uint64_t times[KEYS];
    static uint8_t verdicts[KEYS];
    struct model m = open_model("recent memory=64K span=10s seed=11", SHARDS);
    weir_shared *s = open_shared("recent memory=64K span=10s seed=11", SHARDS);
    struct weir_key *keys = stream_of(m.w[0], KEYS, 5);

    for (uint64_t i = 0; i < KEYS; i++)
        times[i] = START + 4 * i - (i % 7 == 0 ? 900 : 0);
    weir_shared_observe_many_at(s, keys, times, KEYS / 2, verdicts);
    process(s, weir_shared_ticket(s), keys + KEYS / 2, times + KEYS / 2, KEYS - KEYS / 2,
            verdicts + KEYS / 2);
    for (size_t i = 0; i < KEYS; i++) {
        weir_filter *w = m.w[weir_shard(keys[i], SHARDS)];

        weir_advance(w, times[i]);
        assert_int_equal(verdicts[i], weir_observe(w, keys[i]));
    }
    assert_as_the_model(s, &m);
    weir_shared_advance(s, START + 60000000);
    weir_shared_ask_many(s, keys, KEYS, verdicts);
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(verdicts[i], WEIR_NEW);
    weir_shared_close(s);
    close_model(&m);
    free(keys);
}

static void a_key_is_deleted_from_its_shard(void **state)
{
    weir_shared *s = open_shared("counting capacity=10k fpr=1e-6 seed=11", 4);
    bool was_there;

    for (uint64_t i = 0; i < 1000; i++)
        weir_shared_observe(s, weir_shared_hash(s, &i, sizeof i));
    for (uint64_t i = 0; i < 1000; i += 2) {
        struct weir_key key = weir_shared_hash(s, &i, sizeof i);

        assert_int_equal(weir_shared_forget(s, key, &was_there, NULL), WEIR_OK);
        assert_true(was_there);
    }
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(weir_shared_ask(s, weir_shared_hash(s, &i, sizeof i)), i % 2);
    weir_shared_close(s);
}

/* ---- threads ---- */

enum { THREADS = 4, BATCH = 1000, BATCHES = 300, SHARDS = 6 };

struct work {
    weir_shared *s;
    const struct weir_key *keys;
    uint8_t *verdicts;
    pthread_mutex_t reading;
    size_t next;
    uint64_t fresh;
};

static bool is_empty(size_t batch)
{
    return batch % 50 == 7;
}

static void run_threads(struct work *w, void *(*work)(void *))
{
    pthread_t thread[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work, w), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

static void *show_in_turn(void *context)
{
    struct work *w = context;

    for (;;) {
        pthread_mutex_lock(&w->reading);
        size_t number = w->next++;
        uint64_t ticket = number < BATCHES ? weir_shared_ticket(w->s) : 0;
        pthread_mutex_unlock(&w->reading);
        if (number >= BATCHES)
            return NULL;
        size_t at = number * BATCH, n = is_empty(number) ? 0 : BATCH;
        process(w->s, ticket, w->keys + at, NULL, n, w->verdicts + at);
    }
}

/* A small filter with many false positives: another order of the keys would change the verdicts. */
static void threads_with_tickets_equal_one_thread(void **state)
{
    static uint8_t verdicts[BATCHES * BATCH];
    struct model m = open_model("rlbsbf memory=8K seed=11", SHARDS);
    struct weir_key *keys = stream_of(m.w[0], BATCHES * BATCH, 5);
    struct work w = {.s = open_shared("rlbsbf memory=8K seed=11", SHARDS),
                     .keys = keys,
                     .verdicts = verdicts,
                     .reading = PTHREAD_MUTEX_INITIALIZER};

    run_threads(&w, show_in_turn);
    for (size_t i = 0; i < BATCHES * BATCH; i++)
        if (!is_empty(i / BATCH))
            assert_int_equal(verdicts[i], weir_observe(m.w[weir_shard(keys[i], SHARDS)], keys[i]));
    assert_as_the_model(w.s, &m);
    weir_shared_close(w.s);
    close_model(&m);
    free(keys);
}

/* All shards advance, also those without keys, and a batch of several partitions ends only once. */
static void a_batch_begins_and_ends_at_a_time(void **state)
{
    enum { KEYS = 20000, SHARDS_HERE = 5 };
    static const char spec[] = "recent memory=64K span=10s seed=11";
    static uint8_t verdicts[KEYS];
    struct model m = open_model(spec, SHARDS_HERE);
    weir_shared *s = open_shared(spec, SHARDS_HERE);
    struct weir_key *keys = stream_of(m.w[0], KEYS, 5);
    uint64_t begin = START, end = START + 4000;

    for (size_t n = 1; n <= KEYS; n = n == 1 ? KEYS : n + 1) {
        struct weir_shared_batch b = {.size = sizeof b,
                                      .keys = keys,
                                      .n = n,
                                      .begin = &begin,
                                      .end = &end,
                                      .verdicts = verdicts};

        weir_shared_process(s, weir_shared_ticket(s), &b);
        for (uint32_t i = 0; i < SHARDS_HERE; i++)
            weir_advance(m.w[i], begin);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(verdicts[i],
                             weir_observe(m.w[weir_shard(keys[i], SHARDS_HERE)], keys[i]));
        for (uint32_t i = 0; i < SHARDS_HERE; i++)
            weir_advance(m.w[i], end);
        assert_as_the_model(s, &m);
        begin += 5000;
        end += 5000;
    }
    weir_shared_close(s);
    close_model(&m);
    free(keys);
}

static void a_batch_can_ask_and_forget(void **state)
{
    enum { KEYS = 3000, SHARDS_HERE = 3 };
    static const char spec[] = "counting capacity=10k fpr=1e-6 seed=11";
    static uint8_t verdicts[KEYS];
    weir_shared *s = open_shared(spec, SHARDS_HERE);
    struct weir_key *keys = malloc(KEYS * sizeof *keys);
    struct weir_shared_batch b = {.size = sizeof b, .keys = keys, .n = KEYS, .verdicts = verdicts};
    static const enum weir_shared_operation steps[] = {WEIR_SHARED_ASK,    WEIR_SHARED_OBSERVE,
                                                       WEIR_SHARED_ASK,    WEIR_SHARED_FORGET,
                                                       WEIR_SHARED_FORGET, WEIR_SHARED_ASK};
    static const uint8_t expected[] = {WEIR_NEW,  WEIR_NEW, WEIR_SEEN,
                                       WEIR_SEEN, WEIR_NEW, WEIR_NEW};

    for (uint64_t i = 0; i < KEYS; i++)
        keys[i] = weir_shared_hash(s, &i, sizeof i);
    for (size_t step = 0; step < sizeof steps / sizeof *steps; step++) {
        b.operation = steps[step];
        weir_shared_process(s, weir_shared_ticket(s), &b);
        for (size_t i = 0; i < KEYS; i++)
            assert_int_equal(verdicts[i], expected[step]);
    }
    weir_shared_close(s);
    free(keys);
}

/* All threads observe the same keys, each in its own order. */
static void *show_all(void *context)
{
    struct work *w = context;
    uint8_t verdicts[BATCH];
    uint64_t fresh = 0;

    pthread_mutex_lock(&w->reading);
    size_t from = w->next++ * (BATCHES / THREADS);
    pthread_mutex_unlock(&w->reading);
    for (size_t i = 0; i < BATCHES; i++) {
        const struct weir_key *keys = w->keys + (from + i) % BATCHES * BATCH;

        weir_shared_observe_many(w->s, keys, BATCH, verdicts);
        for (size_t j = 0; j < BATCH; j++)
            fresh += verdicts[j] == WEIR_NEW;
    }
    pthread_mutex_lock(&w->reading);
    w->fresh += fresh;
    pthread_mutex_unlock(&w->reading);
    return NULL;
}

/* If two threads set bits of a Bloom filter at once, one would be lost and a key would be new
 * twice. */
static void each_key_is_new_for_one_thread_only(void **state)
{
    enum { KEYS = BATCHES * BATCH };
    struct weir_key *keys = malloc(KEYS * sizeof *keys);
    struct work w = {.s = open_shared("bloom memory=4M k=8 seed=11", SHARDS),
                     .keys = keys,
                     .reading = PTHREAD_MUTEX_INITIALIZER};
    struct weir_stats stats;

    for (uint64_t i = 0; i < KEYS; i++)
        keys[i] = weir_shared_hash(w.s, &i, sizeof i);
    run_threads(&w, show_all);
    assert_true(w.fresh <= KEYS && w.fresh >= KEYS - 3); /* the error at the end is 1e-6 */
    weir_shared_measure(w.s, &stats, sizeof stats);
    assert_int_equal(stats.observed, (uint64_t)THREADS * KEYS);
    assert_int_equal(stats.new_keys, w.fresh);
    weir_shared_close(w.s);
    free(keys);
}

static void *measure_and_save(void *context)
{
    struct work *w = context;
    struct weir_stats stats;

    pthread_mutex_lock(&w->reading);
    bool shows = w->next++ % 2 == 0;
    pthread_mutex_unlock(&w->reading);
    for (int i = 0; i < 40 && !shows; i++) {
        struct blob b = {0};
        weir_shared *again;

        weir_shared_measure(w->s, &stats, sizeof stats);
        assert_int_equal(stats.observed, stats.seen + stats.new_keys);
        assert_int_equal(weir_shared_save_stream(w->s, blob_sink, &b, NULL), WEIR_OK);
        assert_int_equal(weir_shared_load_buffer(&again, b.data, b.size, NULL, NULL, NULL),
                         WEIR_OK);
        weir_shared_close(again);
        blob_free(b);
    }
    return shows ? show_in_turn(w) : NULL;
}

static void a_filter_in_use_can_be_measured_and_saved(void **state)
{
    static uint8_t verdicts[BATCHES * BATCH];
    struct work w = {.s = open_shared("recent memory=64K seed=11", SHARDS),
                     .verdicts = verdicts,
                     .reading = PTHREAD_MUTEX_INITIALIZER};
    struct weir_key *keys = stream_of(weir_shared_shard(w.s, 0), BATCHES * BATCH, 5);

    w.keys = keys;
    w.next = 0;
    run_threads(&w, measure_and_save);
    weir_shared_close(w.s);
    free(keys);
}

/* ---- stats and files ---- */

static void property_saved_and_loaded_it_is_the_same(const struct variant *v)
{
    char config[WEIR_SPEC_MAX];
    size_t n = sized(3000), used;
    uint8_t *verdicts = malloc(n);
    weir_shared *s = open_shared(v->spec, 3), *again, *equal;
    struct weir_key *keys = stream_of(weir_shared_shard(s, 0), n, 5);
    struct blob b = {0};
    weir_filter *alone;

    weir_shared_observe_many(s, keys, n, verdicts);
    assert_int_equal(weir_shared_save_stream(s, blob_sink, &b, NULL), WEIR_OK);
    assert_int_equal(weir_load_buffer(&alone, b.data, b.size, NULL, NULL, NULL), WEIR_BAD_DATA);
    assert_int_equal(weir_shared_load_buffer(&again, b.data, b.size, &used, NULL, NULL), WEIR_OK);
    assert_int_equal(used, b.size);
    used = weir_shared_config(again, config, sizeof config);
    assert_int_equal(used, strlen(config));
    equal = open_shared(config, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_same_state(weir_shared_shard(s, i), weir_shared_shard(again, i));
        weir_clear(weir_shared_shard(again, i));
        assert_same_state(weir_shared_shard(equal, i), weir_shared_shard(again, i));
    }
    weir_shared_close(s);
    weir_shared_close(again);
    weir_shared_close(equal);
    blob_free(b);
    free(keys);
    free(verdicts);
}

static void stats_are_those_of_all_shards(void **state)
{
    weir_shared *s = open_shared("bloom memory=64K k=4 seed=11", 4);
    struct weir_stats all, one;
    double fill = 0;
    uint64_t shown = 0;

    for (uint64_t i = 0; i < 20000; i++)
        weir_shared_observe(s, weir_shared_hash(s, &i, sizeof i));
    weir_shared_measure(s, &all, sizeof all);
    for (uint32_t i = 0; i < 4; i++) {
        weir_measure(weir_shared_shard(s, i), &one, sizeof one);
        fill += one.fill / 4;
        shown += one.observed;
    }
    assert_int_equal(all.memory, 65536);
    assert_int_equal(all.observed, 20000);
    assert_int_equal(shown, 20000);
    assert_true(all.bytes > all.memory && all.bytes < all.memory + 20000);
    assert_int_equal(all.lost, 0);
    assert_true(all.fill > fill - 1e-9 && all.fill < fill + 1e-9);
    weir_shared_close(s);
}

static void refuse_join(weir_filter *a, weir_filter *b, enum weir_status status, const char *saying)
{
    weir_shared *s;
    struct weir_error error;

    assert_int_equal(weir_shared_join(&s, (weir_filter *[]){a, b}, 2, NULL, &error), status);
    assert_null(s);
    assert_non_null(strstr(error.text, saying));
}

static void specs_that_cannot_be_shared_are_refused(void **state)
{
    weir_filter *a = open_filter("recent memory=1K seed=1"),
                *b = open_filter("recent memory=1K seed=2");
    struct weir_error error;
    weir_shared *s;

    refuse_join(a, b, WEIR_MISMATCH, "seed=1 and seed=2");
    assert_int_equal(weir_shared_join(&s, &a, 0, NULL, &error), WEIR_BAD_CONFIG);
    assert_int_equal(weir_shared_open(&s, "", 257, NULL, &error), WEIR_BAD_CONFIG);
    assert_null(s);
    assert_string_equal(error.text, "a shared filter has 1 to 256 shards, not 257");
    assert_int_equal(weir_shared_open(&s, "wier", 2, NULL, &error), WEIR_BAD_CONFIG);
    assert_int_equal(weir_shared_open(&s, "fuse", 2, NULL, &error), WEIR_UNSUPPORTED);
    assert_int_equal(weir_shared_load_buffer(&s, "no filter", 9, NULL, NULL, &error),
                     WEIR_BAD_DATA);
    assert_null(s);
    weir_close(b);
    assert_int_equal(weir_shared_join(&s, &a, 1, NULL, &error), WEIR_OK); /* and a is used by it */
    weir_shared_close(s);
    weir_shared_close(NULL);
}

static void zero_shards_choose_a_suitable_number(void **state)
{
    weir_shared *s = open_shared("recent memory=1M", 0);

    assert_int_equal(weir_shared_shards(s), 8);
    weir_shared_close(s);
}

#ifndef WEIR_DEBUG /* sanitizers need more */

enum { STACK = 1 << 20, SHOWN = 20000 };

static void *show_and_ask(void *shared)
{
    static struct weir_key keys[SHOWN];
    static uint64_t times[SHOWN];
    static uint8_t verdicts[SHOWN];

    for (uint64_t i = 0; i < SHOWN; i++)
        keys[i] = weir_shared_hash(shared, &i, sizeof i);
    weir_shared_observe_many(shared, keys, SHOWN, verdicts);
    weir_shared_observe_many_at(shared, keys, times, SHOWN, verdicts);
    weir_shared_ask_many(shared, keys, SHOWN, verdicts);
    return NULL;
}

/* For programs whose threads have small stacks. */
static void a_batch_uses_little_stack(void **state)
{
    static _Alignas(4096) uint8_t stack[STACK];
    weir_shared *s = open_shared("recent memory=4M", 256);
    pthread_attr_t attributes;
    pthread_t thread;
    size_t unused = 0;

    memset(stack, 0xa5, sizeof stack);
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, sizeof stack), 0);
    assert_int_equal(pthread_create(&thread, &attributes, show_and_ask, s), 0);
    pthread_join(thread, NULL);
    while (stack[unused] == 0xa5)
        unused++;
    assert_in_range(STACK - unused, 1, 128 << 10);
    pthread_attr_destroy(&attributes);
    weir_shared_close(s);
}

#endif

PROPERTY(a_shard_is_a_plain_filter)
PROPERTY(saved_and_loaded_it_is_the_same)

int main(void)
{
    const struct CMUnitTest tests[] = {
        property_test(a_shard_is_a_plain_filter),
        cmocka_unit_test(any_number_of_shards_works),
        cmocka_unit_test(each_key_can_have_its_own_time),
        cmocka_unit_test(a_key_is_deleted_from_its_shard),
        cmocka_unit_test(threads_with_tickets_equal_one_thread),
        cmocka_unit_test(a_batch_begins_and_ends_at_a_time),
        cmocka_unit_test(a_batch_can_ask_and_forget),
        cmocka_unit_test(each_key_is_new_for_one_thread_only),
        cmocka_unit_test(a_filter_in_use_can_be_measured_and_saved),
        property_test(saved_and_loaded_it_is_the_same),
        cmocka_unit_test(stats_are_those_of_all_shards),
        cmocka_unit_test(specs_that_cannot_be_shared_are_refused),
        cmocka_unit_test(zero_shards_choose_a_suitable_number),
#ifndef WEIR_DEBUG
        cmocka_unit_test(a_batch_uses_little_stack),
#endif
    };

    return cmocka_run_group_tests_name("shared", tests, NULL, NULL);
}
