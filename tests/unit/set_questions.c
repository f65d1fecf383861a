/* set_questions.c - a hundred million lookups in sets of ten million keys miss no member. Long. */
#include "support/support.h"

#include <weir/build.h>

#define KEYS 10000000
#define QUESTIONS 100000000
#define AT_ONCE 4096

static void assert_none_missed(const char *spec)
{
    static struct weir_key keys[AT_ONCE];
    static uint8_t verdicts[AT_ONCE];
    weir_filter *hashes = open_filter("memory=64 seed=3"), *w;
    struct weir_error error;
    weir_builder *b;
    uint64_t missed = 0;

    assert_int_equal(weir_build_begin(&b, spec, NULL, &error), WEIR_OK);
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[0] = numbered(hashes, i);
        assert_int_equal(weir_build_add(b, keys, 1, &error), WEIR_OK);
    }
    assert_int_equal(weir_build_finish(b, &w, &error), WEIR_OK);
    for (uint64_t at = 0; at < sized(QUESTIONS); at += AT_ONCE) {
        for (uint64_t i = 0; i < AT_ONCE; i++)
            keys[i] = numbered(hashes, (at + i) % KEYS);
        weir_ask_many(w, keys, AT_ONCE, verdicts);
        for (uint64_t i = 0; i < AT_ONCE; i++)
            missed += verdicts[i] == WEIR_NEW;
    }
    assert_int_equal(missed, 0);
    weir_close(w);
    weir_close(hashes);
}

TEST(fuse_misses_none_of_a_hundred_million)
{
    assert_none_missed("fuse bits=8 seed=3");
}

TEST(cuckoo_misses_none_of_a_hundred_million)
{
    assert_none_missed("cuckoo capacity=10M fpr=0.2% seed=3");
}

RUN_TESTS("set questions")
