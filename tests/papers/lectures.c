/* lectures.c - the examples of two lectures on Bloom filters, by theory and by the filter: Wilson
 * Rivera, "Bloom's Filter & Count-Min Sketch" (lecture 10), and Carlos Castillo with Teodora Sandra
 * Buda, "Data Streams: Bloom Filters" (in "Mining Massive Datasets"). */
#include "papers/stream.h"

#include <math.h>

#include "theory/sets.h"

/* Observe n new keys, and look up enough others for about 10,000 errors: one sigma is 1 %. */
static double error_after(weir_filter *w, uint64_t n, double expected)
{
    struct fresh f = {1, NULL};
    uint64_t asked = (uint64_t)(10000 / expected);

    show_fresh(w, &f, n);
    return (double)ask_fresh(w, &f, asked) / (double)asked;
}

/* Castillo prints 0.0493 for k = 2, because of rounding: (1 - e^(-1/4))^2 is 0.0489. */
TEST(eight_bits_per_key_have_the_error_of_the_lecture)
{
    static const struct {
        int k;
        double printed, exact;
    } figures[] = {{1, 0.1175, 0.117503}, {2, 0.0493, 0.048929}, {6, 0.0216, 0.021577}};
    unsigned long long keys = is_quick() ? 100000 : 1000000;

    for (int i = 0; i < 3; i++) {
        double exact = figures[i].exact;
        weir_filter *w = open_filter("bloom memory=%llubit k=%d seed=1", 8 * keys, figures[i].k);

        assert_within("theory", bloom_error(8, 1, (uint64_t)figures[i].k), exact, 0, 5e-7);
        assert_within("printed", figures[i].printed, exact, 0.008, 0);
        assert_within("measured", error_after(w, keys, exact), exact, 0.03, 0);
        assert_within("from its fill", weir_stats_of(w).error, exact, 0.015, 0);
        weir_close(w);
    }
}

TEST(the_best_k_for_eight_bits_per_key_is_six)
{
    assert_int_equal(bloom_best_k(8, 1), 6);
    for (uint64_t k = 1; k <= 32; k++)
        assert_true(bloom_error(8, 1, k) >= bloom_error(8, 1, 6));
}

/* 8 bits per word again, with k = 5: 0.0217. 25000 keys: one sigma of the fill is 0.2 %, of the
 * error 1 %. */
TEST(the_spell_checker_accepts_two_wrong_words_in_a_hundred)
{
    weir_filter *w = open_filter("bloom memory=25000 k=5 seed=2");

    assert_within("measured", error_after(w, 25000, 0.0217), 0.0217, 0.05, 0);
    weir_close(w);
}

/* No dictionary word is rejected. */
TEST(the_spell_checker_accepts_all_its_words)
{
    weir_filter *w = open_filter("bloom memory=25000 k=5 seed=2");
    struct fresh taught = {1, NULL}, again = {1, NULL};

    show_fresh(w, &taught, 25000);
    assert_int_equal(ask_fresh(w, &again, 25000), 25000);
    weir_close(w);
}

/* The memory is the smallest that keeps the error rate, so the error at capacity is neither higher
 * nor much lower (cells are whole numbers). */
TEST(a_filter_sized_by_capacity_has_its_error_rate_when_full)
{
    static const double promises[] = {0.1, 0.01, 0.001};
    static const char *const filters[] = {"bloom", "counting"};
    unsigned long long keys = is_quick() ? 50000 : 500000;

    for (int i = 0; i < 6; i++) {
        double promise = promises[i % 3];
        weir_filter *w =
            open_filter("%s capacity=%llu fpr=%g seed=3", filters[i / 3], keys, promise);

        assert_within(filters[i / 3], error_after(w, keys, promise), promise, 0.03, 0);
        weir_close(w);
    }
}

/* log2(1/error) / ln 2 bits per key, plus the cost of rounding k. */
TEST(a_filter_sized_by_capacity_uses_the_memory_of_the_theory)
{
    weir_filter *w = open_filter("bloom capacity=1M fpr=0.01 seed=4");
    double bits_per_key = (double)weir_stats_of(w).memory * 8 / 1e6;

    assert_within("bits per key", bits_per_key, log2(100) / M_LN2, 0.005, 0);
    weir_close(w);
}

RUN_TESTS("tests")
