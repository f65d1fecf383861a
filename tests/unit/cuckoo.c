/* cuckoo.c - the cuckoo filter: any number of buckets, deletion, overflow. */
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "filter/filter.h"

static void observe_from(weir_filter *w, uint64_t from, uint64_t n)
{
    for (uint64_t i = from; i < from + n; i++)
        weir_observe(w, numbered(w, i));
}

static uint64_t missed(const weir_filter *w, uint64_t from, uint64_t n, uint64_t step)
{
    uint64_t sum = 0;

    for (uint64_t i = from; i < from + n; i += step)
        sum += weir_ask(w, numbered(w, i)) == WEIR_NEW;
    return sum;
}

/* Every size from one key on: numbers of buckets that are not powers of two. */
TEST(any_number_of_buckets_holds_its_capacity)
{
    for (uint64_t capacity = 1; capacity < 400; capacity++) {
        weir_filter *w = open_filtered("cuckoo capacity=%d bits=12 seed=5", (int)capacity);

        observe_from(w, 0, capacity);
        assert_int_equal(weir_stats_of(w).overflow, 0);
        assert_int_equal(missed(w, 0, capacity, 1), 0);
        for (uint64_t i = 0; i < capacity; i += 2)
            assert_int_equal(weir_forget(w, numbered(w, i), NULL, NULL), WEIR_OK);
        assert_int_equal(missed(w, 1, capacity - 1, 2), 0);
        for (uint64_t i = 1; i < capacity; i += 2)
            weir_forget(w, numbered(w, i), NULL, NULL);
        assert_true(weir_stats_of(w).fill == 0 && weir_stats_of(w).error == 0);
        weir_close(w);
    }
}

/* With 32 bits, so few keys have distinct fingerprints. */
TEST(additions_of_a_key_are_counted)
{
    weir_filter *w = open_filtered("cuckoo capacity=%d bits=32 seed=5", 1000);
    weir_filter *other = open_filtered("bloom memory=1K seed=%d", 5);

    for (uint64_t i = 0; i < 100; i++)
        for (uint64_t n = 0; n < i % 5; n++)
            weir_observe(w, numbered(w, i));
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(weir_count(w, numbered(w, i)), i % 5);
    weir_forget(w, numbered(w, 4), NULL, NULL);
    assert_int_equal(weir_count(w, numbered(w, 4)), 3);
    weir_observe(other, numbered(other, 1));
    weir_observe(other, numbered(other, 1));
    assert_int_equal(weir_count(other, numbered(other, 1)), 1);
    assert_int_equal(weir_count(other, numbered(other, 2)), 0);
    weir_close(w);
    weir_close(other);
}

TEST(memory_is_below_13_bits_per_key_at_an_error_of_0_002)
{
    for (uint64_t n = 1000; n <= sized(1000000); n *= 10) {
        weir_filter *w = open_filtered("cuckoo capacity=%d fpr=0.2%% seed=5", (int)n);
        uint64_t strangers = 0, asked = sized(1000000);

        observe_from(w, 0, n);
        struct weir_stats stats = weir_stats_of(w);
        assert_int_equal(stats.overflow, 0);
        assert_true(8.0 * (double)stats.memory < 13.0 * (double)n);
        assert_true(stats.error <= 0.002);
        assert_int_equal(missed(w, 0, n, 1), 0);
        for (uint64_t i = 0; i < asked; i++)
            strangers += weir_ask(w, numbered(w, UINT64_C(1) << 40 | i));
        assert_true((double)strangers < 0.002 * (double)asked);
        weir_close(w);
    }
}

TEST(eight_additions_of_one_key_are_stored)
{
    weir_filter *w = open_filter("cuckoo capacity=1000 bits=16 seed=5");
    struct weir_key key = numbered(w, 1);
    bool there;

    for (int i = 0; i < 8; i++) {
        weir_observe(w, key);
        assert_int_equal(weir_stats_of(w).overflow, 0);
    }
    struct blob full = blob_of(w);
    assert_int_equal(weir_observe(w, key), WEIR_SEEN);
    assert_int_equal(weir_stats_of(w).overflow, 1);
    struct blob after = blob_of(w); /* no cell has changed, only the head */
    assert_memory_equal(full.data + 256, after.data + 256, (size_t)w->shape.cells);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(weir_ask(w, key), WEIR_SEEN);
        assert_int_equal(weir_forget(w, key, &there, NULL), WEIR_OK);
        assert_true(there);
    }
    assert_int_equal(weir_ask(w, key), WEIR_NEW);
    assert_int_equal(weir_forget(w, key, &there, NULL), WEIR_OK);
    assert_false(there);
    weir_close(w);
    blob_free(full);
    blob_free(after);
}

/* A key without a free slot is not stored but counted, and no other key is affected. */
TEST(a_full_filter_keeps_its_keys)
{
    weir_filter *w = open_filter("cuckoo memory=3000 bits=12 seed=5");
    uint64_t n = 0, before;

    for (before = 0; before == 0 && n < 4000; n++) {
        weir_observe(w, numbered(w, n));
        before = weir_stats_of(w).overflow;
    }
    assert_true(weir_stats_of(w).fill > 0.95);
    n--; /* the key without a slot */
    assert_int_equal(missed(w, 0, n, 1), 0);
    observe_from(w, 10000, 1000);
    assert_true(weir_stats_of(w).overflow > 900);
    assert_int_equal(missed(w, 0, n, 1), 0);
    assert_true(weir_stats_of(w).fill <= 1);
    weir_close(w);
}

/* Random additions and deletions, compared with an exact multiset. */
TEST(members_are_never_missed)
{
    enum { UNIVERSE = 4000 };
    static uint8_t count[UNIVERSE];
    weir_filter *w = open_filter("cuckoo capacity=6000 bits=9 seed=5");
    struct rng r = rng_at(7, 7);

    memset(count, 0, sizeof count);
    for (uint64_t i = 0, all = 0; i < 300000; i++) {
        uint64_t key = rng_below(&r, UNIVERSE);

        if (all < 5000 && count[key] < 2 && rng_below(&r, 2)) {
            weir_observe(w, numbered(w, key));
            count[key]++;
            all++;
            assert_int_equal(weir_stats_of(w).overflow, 0);
        } else if (count[key]) {
            assert_int_equal(weir_forget(w, numbered(w, key), NULL, NULL), WEIR_OK);
            count[key]--;
            all--;
        }
        if (i % 1000 == 0)
            for (uint64_t j = 0; j < UNIVERSE; j++)
                assert_true(!count[j] || weir_ask(w, numbered(w, j)) == WEIR_SEEN);
    }
    assert_int_equal(weir_stats_of(w).overflow, 0);
    weir_close(w);
}

/* Keys of a universe are each added up to `times` times and deleted, at random, and compared with
 * an exact multiset of at most `load` additions. Returns the total number of missed members. */
static uint64_t misses_of(const char *spec, uint32_t times, uint64_t load)
{
    enum { UNIVERSE = 3000 };
    uint8_t count[UNIVERSE] = {0};
    weir_filter *w = open_filter(spec);
    struct rng r = rng_at(times, load);
    uint64_t sum = 0;

    for (uint64_t i = 0, all = 0; i < 40000; i++) {
        uint64_t key = rng_below(&r, UNIVERSE), missing = 0;

        if (all < load && count[key] < times && rng_below(&r, 2)) {
            weir_observe(w, numbered(w, key));
            count[key]++;
            all++;
        } else if (count[key]) {
            assert_int_equal(weir_forget(w, numbered(w, key), NULL, NULL), WEIR_OK);
            count[key]--;
            all--;
        }
        if (i % 2000)
            continue;
        for (uint64_t j = 0; j < UNIVERSE; j++)
            missing += count[j] && weir_ask(w, numbered(w, j)) == WEIR_NEW;
        assert_true(missing <= weir_stats_of(w).overflow);
        sum += missing;
    }
    weir_close(w);
    return sum;
}

TEST(misses_never_exceed_the_reported_overflow)
{
    static const char *const filters[] = {"cuckoo capacity=4000 bits=9 seed=5",
                                          "cuckoo capacity=4000 bits=32 seed=5",
                                          "counting capacity=4000 fpr=1% seed=5"};
    uint64_t missed_by_cuckoo = 0;

    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        for (uint32_t times = 1; times <= 9; times += times < 4 ? 1 : 4)
            for (uint64_t load = 1000; load <= 5000; load += 2000) {
                uint64_t missed = misses_of(filters[i], times, load);

                missed_by_cuckoo += missed;
                if (i == 2 || (times <= 2 && load < 4000))
                    assert_int_equal(missed, 0);
            }
    assert_true(missed_by_cuckoo > 0); /* the limit was reached */
}

/* A batch whose insertions move other keys, and which contains those keys. */
TEST(ask_many_equals_single_calls_in_cuckoo)
{
    static uint8_t verdicts[4000];
    struct weir_key *keys = malloc(sizeof verdicts * sizeof *keys);
    weir_filter *w = open_filter("cuckoo capacity=3800 bits=13 seed=5");

    for (size_t i = 0; i < sizeof verdicts; i++)
        keys[i] = numbered(w, i);
    weir_observe_many(w, keys, 3800, verdicts);
    weir_ask_many(w, keys, sizeof verdicts, verdicts);
    for (size_t i = 0; i < sizeof verdicts; i++) {
        assert_int_equal(verdicts[i], weir_ask(w, keys[i]));
        assert_true(i >= 3800 || verdicts[i] == WEIR_SEEN);
    }
    weir_close(w);
    free(keys);
}

RUN_TESTS("cuckoo")
