/* expiry.c - keys with a TTL each in the filter recent (ttl=), compared with exact expiry times. */
#include "support/support.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weir/hash.h>
#include <weir/shared.h>

#include "base/processor.h"
#include "filter/recent/expiry.h"

#define START UINT64_C(1700000000000)
#define KEYS 3000

static uint64_t next_random(uint64_t *x)
{
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return *x >> 20;
}

/* ---- the model ---- */

struct life {
    uint64_t certain, possible; /* seen before the one, new from the other on */
};

struct model {
    uint64_t min, max;
    bool late, refresh;
    struct life of[KEYS];
};

/* A key with this TTL has arrived, and was seen or not. */
static void model_arrives(struct model *m, uint64_t key, uint64_t now, uint64_t ttl, bool seen)
{
    struct life *life = &m->of[key];

    if (ttl == 0 || (ttl < m->min && !m->late) || (seen && !m->refresh))
        return;
    ttl = ttl < m->min ? m->min : ttl > m->max ? m->max : ttl;
    struct life own = {now + (m->late ? ttl : ttl - ttl / 4),
                       now + ttl + (m->late ? (ttl + 3) / 4 : 0)};
    if (!seen)
        *life = own;
    life->certain = own.certain > life->certain ? own.certain : life->certain;
    life->possible = own.possible > life->possible ? own.possible : life->possible;
}

/* TTLs of all sizes, some of them outside the range. */
static uint64_t random_ttl(const struct model *m, uint64_t *x)
{
    uint64_t ttl = m->min;

    switch (next_random(x) % 16) {
    case 0:
        return 0;
    case 1:
        return m->min / 2;
    case 2:
        return WEIR_TTL_LONGEST;
    case 3:
        return 2 * m->max;
    case 4:
        return m->max;
    default:
        for (uint64_t up = next_random(x) % 20; up > 0 && ttl < m->max / 2; up--)
            ttl *= 2;
        ttl += next_random(x) % (ttl + 1);
        return ttl < m->max ? ttl : m->max;
    }
}

static uint64_t random_pause(const struct model *m, uint64_t *x, uint64_t i)
{
    if (i % 5000 == 4999)
        return next_random(x) % (m->min * 40000); /* further than lines count */
    if (i % 500 == 499)
        return next_random(x) % (2 * m->max + 2);
    return next_random(x) % (i % 20 == 0 ? m->min + 1 : m->min / 16 + 2);
}

struct range {
    uint64_t min, max;
};

static const struct range ranges[] = {
    {4, 4},       {7, 900},         {1000, 1000},       {1000, 8000},
    {1000, 9001}, {60000, 7200000}, {333, 333 * 16000}, {5, 11}};

#define RANGES (sizeof ranges / sizeof *ranges)

static void assert_expires(struct range range, bool late, bool refresh, const char *more)
{
    struct model m = {.min = range.min, .max = range.max, .late = late, .refresh = refresh};
    weir_filter *w = open_filtered(
        "recent memory=1M width=32 ttl=%" PRIu64 "ms-%" PRIu64 "ms %s %s %s seed=1", range.min,
        range.max, late ? "expire=late" : "", refresh ? "" : "refresh=no", more);
    uint64_t now = START, x = range.max, count[2][2] = {{0}};

    for (uint64_t i = 0; i < sized(150000); i++) {
        now += random_pause(&m, &x, i);
        uint64_t key = next_random(&x) % (i % 2 ? 40 : KEYS), ttl = random_ttl(&m, &x);
        struct weir_key hashed = numbered(w, key);
        hashed.importance = (uint32_t)key;
        uint8_t seen;
        if (i % 3 == 0)
            assert_int_equal(weir_ask(w, hashed), weir_ask(w, hashed));
        weir_observe_many_ttl(w, &hashed, &now, &ttl, 1, &seen);
        bool certain = now < m.of[key].certain, possible = now < m.of[key].possible;
        if (certain)
            assert_int_equal(seen, WEIR_SEEN);
        if (!possible)
            assert_int_equal(seen, WEIR_NEW);
        count[certain][seen]++;
        model_arrives(&m, key, now, ttl, seen);
    }
    assert_true(count[0][WEIR_NEW] > sized(1000));
    assert_true(count[1][WEIR_SEEN] > sized(1000));
    assert_int_equal(w->reg[OVERFLOW], 0);
    weir_close(w);
}

static void keys_are_seen_for_their_ttl_and_not_longer(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4 * RANGES; i++)
        assert_expires(ranges[i / 4], i & 1, i & 2, "");
    assert_expires(ranges[5], false, true, "importance=1-3000");
    assert_expires(ranges[5], true, false, "importance=percentile");
}

/* In a filter that is too small, keys are evicted, and those that are not still expire. */
static void full_lines_expire_except_for_false_positives(void **state)
{
    static const char *const specs[] = {"fpr=1% importance=1-3000", "width=8",
                                        "width=16 expire=late",
                                        "width=11 importance=log refresh=no"};

    (void)state;
    for (size_t s = 0; s < 4; s++) {
        struct model m = {.min = 1000, .max = 128000, .late = s == 2, .refresh = s != 3};
        weir_filter *w = open_filtered("recent memory=2K ttl=1s-128s %s seed=1", specs[s]);
        struct weir_stats stats;
        uint64_t now = START, x = 7, dead = 0, stale = 0;
        bool was_false[KEYS] = {false}; /* a repeat finds the same slot again: counted once */
        double error = 0;

        for (uint64_t i = 0; i < 200000; i++) {
            now += next_random(&x) % 60;
            uint64_t key = next_random(&x) % KEYS, ttl = random_ttl(&m, &x);
            struct weir_key hashed = numbered(w, key);
            hashed.importance = (uint32_t)key;
            uint8_t seen;
            if (i % 64 == 0) {
                weir_advance(w, now);
                weir_measure(w, &stats, sizeof stats);
                error += stats.error;
            }
            weir_observe_many_ttl(w, &hashed, &now, &ttl, 1, &seen);
            bool is_dead = now >= m.of[key].possible;
            dead += is_dead && !was_false[key];
            stale += is_dead && !was_false[key] && seen;
            was_false[key] = is_dead && seen;
            model_arrives(&m, key, now, ttl, seen);
        }
        error /= 200000 / 64.0;
        assert_true(dead > 20000);
        assert_true(w->reg[OVERFLOW] > 1000);
        assert_true((double)stale < 1.1 * error * (double)dead + 50);
        assert_true((double)stale > 0.7 * error * (double)dead);
        weir_close(w);
    }
}

/* ---- batches, paths, replicas ---- */

static const char *const all_specs[] = {
    "memory=4K fpr=1% ttl=1m-2h importance=log",
    "memory=4K width=8 ttl=1s",
    "memory=4K width=12 ttl=1s-8s expire=late importance=1-50",
    "memory=4K width=15 ttl=4ms-20s refresh=no importance=percentile",
    "memory=64K width=10 ttl=1s-300s expire=late refresh=no",
    "memory=4K width=32 ttl=1s-9s",
};

#define SPECS (sizeof all_specs / sizeof *all_specs)
#define STREAM 40000

struct stream {
    struct weir_key key[STREAM];
    uint64_t time[STREAM], ttl[STREAM];
};

static void make_stream(struct stream *s, const weir_filter *w)
{
    const struct ttl *t = &w->config.ttl;
    struct model m = {.min = t->min, .max = t->max};
    uint64_t x = 3, now = START;

    for (size_t i = 0; i < STREAM; i++) {
        if (i % 4000 == 0)
            now += next_random(&x) % (3 * t->max);
        else if (i / 5000 % 2 == 0)
            now += next_random(&x) % (t->max / 400 + 2);
        else if (i % 250 == 0) /* many keys at one time */
            now += next_random(&x) % (t->max / 4 + 2);
        s->key[i] = numbered(w, next_random(&x) % (i % 3 ? 300 : 5000));
        s->key[i].importance = (uint32_t)(s->key[i].lo >> s->key[i].hi % 64);
        s->time[i] = i % 7 ? now : now - next_random(&x) % (t->max + 1); /* late records, too */
        s->ttl[i] = random_ttl(&m, &x);
    }
}

static struct stream stream;

/* Batches of several sizes, and single keys. */
static void batches_equal_single_calls(void **state)
{
    static uint8_t verdicts[STREAM];

    (void)state;
    for (size_t c = 0; c < SPECS; c++) {
        weir_filter *a = open_filtered("recent %s seed=1", all_specs[c]);
        weir_filter *b = open_filtered("recent %s seed=1", all_specs[c]);
        make_stream(&stream, a);
        for (size_t at = 0, n = 1; at < STREAM; at += n, n = n * 3 % 1009) {
            n = n < STREAM - at ? n : STREAM - at;
            weir_observe_many_ttl(a, stream.key + at, stream.time + at, stream.ttl + at, n,
                                  verdicts + at);
        }
        for (size_t i = 0; i < STREAM; i++) {
            uint8_t seen;
            weir_advance(b, stream.time[i]);
            weir_observe_many_ttl(b, &stream.key[i], NULL, &stream.ttl[i], 1, &seen);
            assert_int_equal(seen, verdicts[i]);
        }
        assert_same_state(a, b);
        weir_close(a);
        weir_close(b);
    }
}

static void calls_without_a_ttl_use_the_longest(void **state)
{
    static uint8_t verdicts[STREAM];

    (void)state;
    for (size_t c = 0; c < SPECS; c++) {
        weir_filter *a = open_filtered("recent %s seed=1", all_specs[c]);
        weir_filter *b = open_filtered("recent %s seed=1", all_specs[c]);
        weir_filter *d = open_filtered("recent %s seed=1", all_specs[c]);
        make_stream(&stream, a);
        weir_observe_many_at(a, stream.key, stream.time, STREAM, verdicts);
        for (size_t i = 0; i < STREAM; i++) {
            weir_advance(b, stream.time[i]);
            assert_int_equal(weir_observe(b, stream.key[i]), verdicts[i]);
            stream.ttl[i] = WEIR_TTL_LONGEST;
        }
        weir_observe_many_ttl(d, stream.key, stream.time, stream.ttl, STREAM, verdicts);
        assert_same_state(a, b);
        assert_same_state(a, d);
        weir_close(a);
        weir_close(b);
        weir_close(d);
    }
}

static void all_paths_give_the_same_bytes(void **state)
{
    static const struct recent_paths *paths[3] = {&recent_paths_plain};
    static uint8_t verdicts[STREAM], asked[STREAM];
    uint64_t expires[256];
    size_t n_paths = 1;

    (void)state;
#ifdef __x86_64__
    if (processor_has_avx2())
        paths[n_paths++] = &recent_paths_avx2;
    if (processor_has_avx512())
        paths[n_paths++] = &recent_paths_avx512;
#endif
    for (size_t c = 0; c < SPECS; c++) {
        weir_filter *first = NULL;
        for (size_t p = 0; p < n_paths; p++) {
            weir_filter *w = open_filtered("recent %s seed=1", all_specs[c]);
            make_stream(&stream, w);
            for (size_t at = 0, n; at < STREAM; at += n) {
                n = STREAM - at < 256 ? STREAM - at : 256;
                n = w->ops->stamp(w, stream.time + at, stream.ttl + at, n, expires);
                struct picked picked = {
                    .keys = stream.key + at, .expires = expires, .verdicts = verdicts + at, .n = n};
                paths[p]->observe_many(w, &picked);
            }
            paths[p]->ask_many(w, stream.key, STREAM, verdicts);
            if (first) {
                assert_same_state(first, w);
                assert_memory_equal(asked, verdicts, STREAM);
                weir_close(w);
            } else {
                first = w;
                memcpy(asked, verdicts, STREAM);
            }
        }
        weir_close(first);
    }
}

/* Saved filters stay readable, and all machines give the same bytes. */
static void cells_are_those_of_the_format(void **state)
{
    static const uint64_t expected[SPECS] = {0x3cc8e9f494642aa5, 0x9e47c9e8f4588b64,
                                             0xfd495b3b20a1ca77, 0xff96ab43139f3757,
                                             0x0ffb81384e8a133f, 0x738afe429cce2eab};
    static uint8_t verdicts[STREAM];

    (void)state;
    for (size_t c = 0; c < SPECS; c++) {
        weir_filter *w = open_filtered("recent %s seed=1", all_specs[c]);
        make_stream(&stream, w);
        weir_observe_many_ttl(w, stream.key, stream.time, stream.ttl, STREAM, verdicts);
        assert_int_equal(weir_hash_bytes(WEIR_HASH_XXH3, 0, w->cells, w->shape.cells).lo,
                         expected[c]);
        weir_close(w);
    }
}

static void lookup_does_not_modify(void **state)
{
    weir_filter *w = open_filter("recent memory=4K fpr=1% ttl=1s-128s seed=1");
    static uint8_t verdicts[STREAM];

    (void)state;
    make_stream(&stream, w);
    weir_observe_many_ttl(w, stream.key, stream.time, stream.ttl, STREAM, verdicts);
    weir_advance(w, START + UINT64_C(100000000));
    weir_filter *copy = weir_clone(w, NULL);
    weir_ask_many(w, stream.key, STREAM, verdicts);
    assert_same_state(w, copy);
    for (size_t i = 0; i < STREAM; i++)
        assert_int_equal(weir_ask(w, stream.key[i]), verdicts[i]);
    weir_close(w);
    weir_close(copy);
}

static void saved_filters_continue(void **state)
{
    static uint8_t a_seen[STREAM], b_seen[STREAM];

    (void)state;
    for (size_t c = 0; c < SPECS; c++) {
        weir_filter *a = open_filtered("recent %s seed=1", all_specs[c]), *b;
        make_stream(&stream, a);
        weir_observe_many_ttl(a, stream.key, stream.time, stream.ttl, STREAM / 2, a_seen);
        struct blob saved = blob_of(a);
        assert_int_equal(weir_load_buffer(&b, saved.data, saved.size, NULL, NULL, NULL), WEIR_OK);
        weir_observe_many_ttl(a, stream.key + STREAM / 2, stream.time + STREAM / 2,
                              stream.ttl + STREAM / 2, STREAM / 2, a_seen);
        weir_observe_many_ttl(b, stream.key + STREAM / 2, stream.time + STREAM / 2,
                              stream.ttl + STREAM / 2, STREAM / 2, b_seen);
        assert_memory_equal(a_seen, b_seen, STREAM / 2);
        assert_same_state(a, b);
        blob_free(saved);
        weir_close(a);
        weir_close(b);
    }
}

/* Shards receive keys with their own times and TTLs. */
static void shards_receive_ttls(void **state)
{
    static uint8_t verdicts[STREAM], expected[STREAM];
    weir_shared *s;
    weir_filter *shard[4];

    (void)state;
    assert_int_equal(
        weir_shared_open(&s, "recent memory=64K fpr=1% ttl=1s-128s seed=1", 4, NULL, NULL),
        WEIR_OK);
    for (uint32_t i = 0; i < 4; i++)
        shard[i] = weir_clone(weir_shared_shard(s, i), NULL);
    make_stream(&stream, shard[0]);
    struct weir_shared_batch batch = {.size = sizeof batch,
                                      .operation = WEIR_SHARED_OBSERVE,
                                      .keys = stream.key,
                                      .times = stream.time,
                                      .ttls = stream.ttl,
                                      .n = STREAM,
                                      .verdicts = verdicts};
    weir_shared_process(s, weir_shared_ticket(s), &batch);
    for (size_t i = 0; i < STREAM; i++)
        weir_observe_many_ttl(shard[weir_shard(stream.key[i], 4)], &stream.key[i], &stream.time[i],
                              &stream.ttl[i], 1, &expected[i]);
    assert_memory_equal(verdicts, expected, STREAM);
    for (uint32_t i = 0; i < 4; i++) {
        assert_same_state(weir_shared_shard(s, i), shard[i]);
        weir_close(shard[i]);
    }
    weir_shared_close(s);
}

/* ---- merging ---- */

/* Both streams, each with its own clock: the merged filter has the later one, and sees each key as
 * long as the filter that saw it longest. */
static void merged_filters_have_the_later_clock_and_expiry_times(void **state)
{
    (void)state;
    for (int late = 0; late <= 1; late++) {
        weir_filter *w[3];
        uint64_t x = 11, now = START, alive = 0;

        for (size_t i = 0; i < 3; i++)
            w[i] = open_filtered("recent memory=256K width=32 ttl=1s-128s %s seed=1",
                                 late ? "expire=late" : "");
        for (size_t i = 0; i < 20000; i++) {
            now += next_random(&x) % 30;
            uint64_t ttl = 1000 + next_random(&x) % 127000;
            struct weir_key key = numbered(w[0], next_random(&x) % 1000);
            uint8_t seen;
            weir_observe_many_ttl(w[i < 19000 ? next_random(&x) % 2 : 1], &key, &now, &ttl, 1,
                                  &seen);
            weir_observe_many_ttl(w[2], &key, &now, &ttl, 1, &seen);
        }
        assert_true(w[0]->reg[NOW] < w[1]->reg[NOW]);
        assert_int_equal(weir_merge(w[0], w[1], NULL), WEIR_OK);
        assert_int_equal(w[0]->reg[NOW], now);
        for (size_t later = 0; later < 300; later++) {
            for (uint64_t i = 0; i < 1000; i++) {
                struct weir_key key = numbered(w[0], i);
                assert_int_equal(weir_ask(w[0], key), weir_ask(w[2], key));
                alive += weir_ask(w[0], key);
            }
            weir_advance(w[0], now += 500);
            weir_advance(w[2], now);
        }
        assert_true(alive > 10000);
        for (size_t i = 0; i < 3; i++)
            weir_close(w[i]);
    }
}

static void merged_lines_are_possible(void **state)
{
    static uint8_t verdicts[STREAM];

    (void)state;
    for (size_t c = 0; c < SPECS; c++) {
        weir_filter *a = open_filtered("recent %s seed=1", all_specs[c]);
        weir_filter *b = open_filtered("recent %s seed=1", all_specs[c]), *copy;
        make_stream(&stream, a);
        weir_observe_many_ttl(a, stream.key, stream.time, stream.ttl, STREAM / 2, verdicts);
        weir_observe_many_ttl(b, stream.key + STREAM / 4, stream.time + STREAM / 4,
                              stream.ttl + STREAM / 4, STREAM / 2, verdicts);
        assert_int_equal(weir_merge(a, b, NULL), WEIR_OK);
        struct blob saved = blob_of(a);
        assert_int_equal(weir_load_buffer(&copy, saved.data, saved.size, NULL, NULL, NULL),
                         WEIR_OK);
        assert_same_state(a, copy);
        blob_free(saved);
        weir_close(a);
        weir_close(b);
        weir_close(copy);
    }
}

/* ---- specs and damaged files ---- */

static void invalid_ranges_are_rejected(void **state)
{
    (void)state;
    assert_refused(
        "recent ttl=1h-1m",
        "ttl=1h-1m: invalid value; use a time or a range of times, from 4ms to 36500d: 1h, "
        "1m-2h");
    assert_refused("recent ttl=3ms",
                   "ttl=3ms: invalid value; use a time or a range of times, from 4ms "
                   "to 36500d: 1h, 1m-2h");
    assert_refused(
        "recent ttl=1s-1000d",
        "ttl=: the range is too wide; the longest TTL may be 16,384 times the shortest, and "
        "TTLs outside the range become its nearest end");
    assert_refused("recent ttl=1h span=1h",
                   "ttl= cannot be combined with window= and span=; for keys "
                   "of one TTL use ttl= alone");
    assert_refused("recent expire=late", "expire=late requires ttl=, for example ttl=1m-2h");
}

static void completed_specs_open_equal_filters(void **state)
{
    (void)state;
    for (size_t c = 0; c < SPECS; c++) {
        char spec[SPEC], again[SPEC];
        weir_filter *a = open_filtered("recent %s seed=1", all_specs[c]);
        weir_config(a, spec, sizeof spec);
        weir_filter *b = open_filter(spec);
        weir_config(b, again, sizeof again);
        assert_string_equal(spec, again);
        weir_close(a);
        weir_close(b);
    }
}

/* Damaged cells never crash: loading finds impossible ones, and a view answers anything. */
static void damaged_lines_are_rejected_or_harmless(void **state)
{
    static uint8_t verdicts[STREAM];
    uint64_t x = 5;

    (void)state;
    for (size_t c = 0; c < SPECS; c++) {
        weir_filter *w = open_filtered("recent %s seed=1", all_specs[c]);
        make_stream(&stream, w);
        weir_observe_many_ttl(w, stream.key, stream.time, stream.ttl, 3000, verdicts);
        for (size_t round = 0; round < 300; round++) {
            for (uint32_t i = 0; i < 4; i++)
                w->cells[next_random(&x) % w->shape.cells] ^= (uint8_t)next_random(&x);
            weir_ask_many(w, stream.key, 3000, verdicts);
            if (!w->ops->check_cells(w))
                continue;
            weir_filter *copy = weir_clone(w, NULL);
            weir_observe_many_ttl(copy, stream.key, stream.time, stream.ttl, 3000, verdicts);
            weir_close(copy);
        }
        weir_close(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_seen_for_their_ttl_and_not_longer),
        cmocka_unit_test(full_lines_expire_except_for_false_positives),
        cmocka_unit_test(batches_equal_single_calls),
        cmocka_unit_test(calls_without_a_ttl_use_the_longest),
        cmocka_unit_test(all_paths_give_the_same_bytes),
        cmocka_unit_test(cells_are_those_of_the_format),
        cmocka_unit_test(lookup_does_not_modify),
        cmocka_unit_test(saved_filters_continue),
        cmocka_unit_test(shards_receive_ttls),
        cmocka_unit_test(merged_filters_have_the_later_clock_and_expiry_times),
        cmocka_unit_test(merged_lines_are_possible),
        cmocka_unit_test(invalid_ranges_are_rejected),
        cmocka_unit_test(completed_specs_open_equal_filters),
        cmocka_unit_test(damaged_lines_are_rejected_or_harmless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
