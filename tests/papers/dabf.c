/* dabf.c - Busnel and Gillet 2019: the shape and level of the figures in section VII, the theorems
 * of sections V and VI compared with simulation, and the screen cache in the same set-up.
 *
 * 10^4 keys, of which B random ones are members; Zipf streams; means of 500 streams (WEIR_LONG=1)
 * or
 * 60. Recall varies by about 0.2 between streams, and its mean over 60 by 0.03; precision at 1000
 * bits and theta 1/9 hardly varies. */
#include "papers/stream.h"
#include "papers/screen_runs.h"

#include <math.h>
#include <stdio.h>
#include <weir/screen.h>

#include "theory/sets.h"

#define UNIVERSE 10000

static size_t streams(void)
{
    return is_long() ? 500 : 60;
}

/* The tolerance for the mean over so few streams. */
static double stray(double of_60)
{
    return of_60 * sqrt(60 / (double)streams());
}

/* Means after the last record, for a spec in printf format. */
__attribute__((format(printf, 2, 3))) static struct outcome outcome_of(const struct screen_run *t,
                                                                       const char *format, ...)
{
    struct outcome at_end;
    char spec[200];
    va_list args;

    va_start(args, format);
    vsnprintf(spec, sizeof spec, format, args);
    va_end(args);
    screen_run_means(t, streams(), spec, t->records, &at_end);
    return at_end;
}

static void assert_between(const char *what, double low, double value, double high)
{
    if (value < low || value > high)
        fail_msg("%s is %f, not between %f and %f", what, value, low, high);
}

/* Figure 1: more memory for beta increases recall and decreases precision. */
TEST(memory_for_one_filter_is_taken_from_the_other)
{
    const struct screen_run t = {UNIVERSE, 100, 4000, 0.5};
    struct outcome before = {.precision = 1.01, .recall = 0};

    for (unsigned i = 1; i <= 9; i += 2) {
        char spec[100];

        snprintf(spec, sizeof spec, "dabf memory=500bit set=100 theta=%u/%u seed=1", i, 10 - i);
        struct outcome now = outcome_of(&t, "%s", spec);
        assert_true(now.precision < before.precision && now.recall > before.recall);
        before = now;
    }
    assert_between("precision at theta 9", 0, before.precision, 0.1);
    assert_between("recall at theta 9", 0.15, before.recall, 0.3);
}

/* Figure 2: B = 100. */
TEST(precision_is_near_1_at_1000_bits)
{
    const struct screen_run even = {UNIVERSE, 100, 4000, 0.5}, steep = {UNIVERSE, 100, 4000, 2};

    struct outcome flat = outcome_of(&even, "dabf memory=%ubit set=100 seed=1", 1000);
    assert_between("precision, zipf-0.5", 0.99, flat.precision, 1);
    assert_between("recall, zipf-0.5", 0, flat.recall, 0.1);
    struct outcome one = outcome_of(&even, "1bf memory=%ubit set=100 seed=1", 1000);
    assert_between("precision of 1bf", 0.5 - stray(0.05), one.precision, 0.58 + stray(0.05));
    assert_true(one.recall == 1 && one.calls == 0);
    one = outcome_of(&even, "1bf memory=%ubit set=100 seed=1", 2000);
    assert_between("precision of 1bf at 2000 bits", 0.97, one.precision, 1);
    struct outcome skewed = outcome_of(&steep, "dabf memory=%ubit set=100 seed=1", 1000);
    assert_between("precision, zipf-2", 0.99, skewed.precision, 1);
    assert_true(skewed.recall > flat.recall + 0.5);
    assert_true(outcome_of(&steep, "dabf memory=%ubit set=100 seed=1", 2000).recall >
                skewed.recall);
}

TEST(recall_on_zipf_2_stays_above_0_9_for_1000_records)
{
    const struct screen_run t = {UNIVERSE, 100, 4000, 2};
    struct outcome at[40];

    screen_run_means(&t, streams(), "dabf memory=1000bit set=100 seed=2", 100, at);
    for (int i = 0; i < 10; i++)
        assert_between("recall", 0.9 - stray(0.01), at[i].recall, 1);
    assert_between("recall at the end", 0.7 - stray(0.05), at[39].recall, 0.9);
}

/* Figure 3: B = 1000. */
TEST(with_1000_members_few_are_missed_but_1bf_is_half_wrong)
{
    const struct screen_run even = {UNIVERSE, 1000, 4000, 0.5}, steep = {UNIVERSE, 1000, 4000, 2};
    struct outcome at[4];

    struct outcome skewed = outcome_of(&steep, "dabf memory=%ubit set=1000 seed=1", 4000);
    assert_between("precision, zipf-2", 0.99, skewed.precision, 1);
    assert_between("recall, zipf-2", 0.89 - stray(0.03), skewed.recall, 1);
    assert_between("precision of 1bf", 0.38,
                   outcome_of(&even, "1bf memory=%ubit set=1000 seed=1", 4000).precision, 0.45);
    assert_between("precision of 1bf at 10000 bits", 0.9,
                   outcome_of(&even, "1bf memory=%ubit set=1000 seed=1", 10000).precision, 0.96);
    screen_run_means(&even, streams(), "dabf memory=10000bit set=1000 seed=1", 1000, at);
    assert_between("recall, zipf-0.5, 10000 bits", 0.5, at[0].recall, 0.7);
    assert_between("precision, zipf-0.5, 4000 bits", 0.95,
                   outcome_of(&even, "dabf memory=%ubit set=1000 seed=1", 4000).precision, 1);
}

/* Figure 4: the window. Means of 500 streams: false negatives are 0.04 at 100 and 0.255 at 1000,
 * where the paper states "close to 0.2"; with the same hash functions for both pairs it would be
 * 0.34. Recall and calls fall as the window grows. The verdict cache of two lines has at least the
 * same recall at every window, a precision at most 0.01 lower, and fewer calls. */
TEST(the_window_trades_calls_for_recall)
{
    const struct screen_run t = {UNIVERSE, 100, 40000, 2};
    struct outcome before = {.recall = 1, .calls = 1e9}, now;

    struct outcome ours = outcome_of(&t, "cache memory=%ubit seed=1", 1000);
    for (unsigned w = 100; w <= 1000; w += is_long() ? 100 : 300) {
        now = outcome_of(&t, "dabf memory=1000bit set=100 window=%u seed=1", w);
        assert_true(now.fpr < 1e-5 && now.precision > 0.99);
        assert_true(now.calls < before.calls);
        assert_true(ours.recall >= now.recall);
        assert_true(ours.precision >= now.precision - 0.01);
        assert_true(ours.calls < now.calls);
        before.calls = now.calls;
        if (w == 100) {
            assert_between("recall at 100", 0.95, now.recall, 1);
            before = now;
        }
    }
    assert_true(now.recall < before.recall - 0.05);
    assert_between("fnr at 1000", 0.2 - stray(0.06), now.fnr, 0.28 + stray(0.06));
    assert_between("calls at 1000", 1150, now.calls, 1350);
    assert_between("recall of weir", 0.999, ours.recall, 1);
    assert_between("calls of weir", 700, ours.calls, 880);
}

/* Without a window, recall keeps falling. */
TEST(without_a_window_recall_falls)
{
    const struct screen_run t = {UNIVERSE, 100, 40000, 2};
    struct outcome none = outcome_of(&t, "dabf memory=%ubit set=100 seed=1", 1000);

    assert_between("recall", 0.3, none.recall, 0.55);
    assert_between("precision of 1bf", 0.45 - stray(0.05),
                   outcome_of(&t, "1bf memory=%ubit set=100 seed=1", 1000).precision,
                   0.6 + stray(0.05));
}

/* ---- theory ---- */

#define RUNS 1000
#define KEYS 300
#define N 600 /* bits of beta, and of beta' */
#define N2 150
#define K 2
#define K2 3

/* Every tenth key is a member. Counts lookups. */
static bool answer(void *context, const struct weir_bytes *keys, size_t n, uint8_t *answers)
{
    *(uint64_t *)context += n;
    for (size_t i = 0; i < n; i++)
        answers[i] = *(const uint64_t *)keys[i].data % 10 == 0;
    return true;
}

/* The result after each of KEYS occurred once, and then all of them again. */
struct course {
    double missed, false_member, false_again; /* shares */
    double calls, members_asked;
};

static struct course course_of(uint64_t seed)
{
    struct course c = {0};
    uint64_t asked = 0;
    char spec[100];
    weir_screen *s;

    snprintf(spec, sizeof spec, "dabf memory=750bit theta=4/1 k=2 k-set=3 seed=%u", (unsigned)seed);
    assert_int_equal(weir_screen_open(&s, spec, NULL), WEIR_OK);
    for (uint64_t i = 0; i < 2 * KEYS; i++) {
        uint64_t key = i % KEYS, before = asked;
        struct weir_bytes bytes = {&key, sizeof key};
        uint8_t said;

        weir_screen_check(s, &bytes, 1, answer, &asked, &said);
        c.members_asked += key % 10 == 0 && asked > before;
        c.missed += (i < KEYS && key % 10 == 0 && !said) / (KEYS * 0.1);
        c.false_member += (i < KEYS && key % 10 != 0 && said) / (KEYS * 0.9);
        c.false_again += (i >= KEYS && key % 10 != 0 && said) / (KEYS * 0.9);
    }
    c.calls = (double)asked;
    weir_screen_close(s);
    return c;
}

static struct course mean_course(void)
{
    struct course mean = {0};

    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct course c = course_of(seed);

        mean.missed += c.missed / RUNS;
        mean.false_member += c.false_member / RUNS;
        mean.false_again += c.false_again / RUNS;
        mean.calls += c.calls / RUNS;
        mean.members_asked += c.members_asked / RUNS;
    }
    return mean;
}

/* The theorems, applied key by key. Means of 1000 runs of 300 keys: standard errors are 1.5 % of
 * the missed keys, 2.5 % of the false ones and 0.2 % of the calls; the varying fill of beta' adds 2
 * % to the false ones. */
TEST(error_rates_equal_the_theorems)
{
    struct dabf_filter beta = {N, K, 0}, beta2 = {N2, K2, 0};
    double missed = 0, false_member = 0, calls = 0;
    struct course mean = mean_course();

    for (int i = 0; i < KEYS; i++) {
        double known = dabf_missed(beta, beta2) + dabf_false(beta, beta2);

        missed += dabf_missed(beta, beta2) / KEYS;
        false_member += dabf_false(beta, beta2) / KEYS;
        calls += 1 - known;
        beta.keys++;
        beta2.keys += (1 - known) / 10;
    }
    assert_within("missed, theorem 1", mean.missed, missed, 0.06, 0);
    assert_within("false, theorem 1", mean.false_member, false_member, 0.1, 0);
    assert_within("false again, theorem 2", mean.false_again, dabf_false_again(beta2), 0.06, 0);
    assert_within("calls", mean.calls, calls, 0.01, 0);
}

TEST(bounds_hold)
{
    struct course mean = mean_course();
    double members = KEYS * 0.1;

    assert_true(members - mean.members_asked >= dabf_min_false_known(N, K, (uint64_t)members));
    assert_true(mean.false_again <= 1.06 * dabf_false_bound((struct dabf_filter){N, K, KEYS}, N2,
                                                            K2, (uint64_t)members));
    assert_true(mean.calls >= dabf_min_calls(N, K, KEYS));
    assert_true(dabf_min_calls(N, K, 200) > 100 && dabf_min_calls(N, K, 1000) == 0);
}

TEST(there_is_always_a_hash_function)
{
    assert_int_equal(bloom_k_below(50, 1000), 1);
    assert_int_equal(bloom_k_below(450, 100), 3);
    assert_int_equal(bloom_k_below(1000, 100), 6);
    assert_int_equal(bloom_k_below(900, 10), 32);
}

RUN_TESTS("tests")
