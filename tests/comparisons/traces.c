/* traces.c - the filter recent compared with other filters on real traces (traces_in.h). */
#include "comparisons/traces_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- forgotten keys ---- */

static const char *const forgetful[] = {
    "sbf fpr=1%",
    "sbf fpr=0.5%",
    "sbf fpr=0.1%",
    "sbf fpr=0.01%",
    "sbf k=5 cell=3 fpr=1%",
    "two-buffer fpr=1%",
    "two-buffer fpr=0.5%",
    "two-buffer fpr=0.1%",
    "two-buffer fpr=0.01%",
    "two-buffer k=6 fpr=1%",
    "apbf fpr=1%",
    "apbf fpr=0.5%",
    "apbf fpr=0.1%",
    "apbf fpr=0.01%",
    "apbf k=10 slices=25",
    "rlbsbf fpr=1%",
    "rlbsbf fpr=0.5%",
    "rlbsbf fpr=0.1%",
    "rlbsbf fpr=0.01%",
    "rlbsbf k=11",
    "rlbsbf k=16",
};

/* Two bits per distinct key, in bytes. */
static size_t memory_for(const struct trace *t)
{
    return t->distinct * 2 / 8;
}

struct tally {
    int made, better;
};

static void compare_forgetting(const struct trace *t, const char *other, struct tally *tally)
{
    struct comparison c = {
        .trace = t, .other = other, .memory = memory_for(t), .seed = 1, .most = 0.01};

    if (!comparison_made(&c))
        return;
    tally->made++;
    tally->better += c.ours.fnr < c.its.fnr;
    if (!stays_under(&c) || c.ours.fnr > 1.05 * c.its.fnr)
        fail_msg("%s, %s: fpr %.6f, fnr %.4f; weir %.6f, %.4f", t->name, other, c.its.fpr,
                 c.its.fnr, c.ours.fpr, c.ours.fnr);
}

/* On seven traces of 20,000 to 1.1 million records, recent forgot less in all of 120 comparisons:
 * 0.23 to 0.98 of the other filter's false negatives, median 0.64. */
static void at_2_bits_per_key_recent_forgets_less_in_95_of_100_comparisons(void **state)
{
    struct tally tally = {0, 0};

    for (size_t i = 0; i < trace_count; i++)
        for (size_t r = 0; r < sizeof forgetful / sizeof *forgetful; r++)
            compare_forgetting(&traces[i], forgetful[r], &tally);
    print_message("# weir forgets less in %d of %d comparisons\n", tally.better, tally.made);
    assert_true(tally.made > 0 && tally.better >= 0.95 * tally.made);
}

/* ---- importance ---- */

static int compare_importance(const struct trace *t, const char *importance, size_t memory)
{
    static const char *const others[] = {"ibf-2c", "ibf-mc", "ibf-h"};
    int made = 0;

    for (int i = 0; i < 3; i++) {
        struct comparison c = {.trace = t,
                               .other = others[i],
                               .memory = memory,
                               .importance = importance,
                               .seed = 1,
                               .most = 0.2};

        if (comparison_made(&c)) {
            assert_important_kept(&c);
            made++;
        }
    }
    return made;
}

/* At 16 KB, where few other filters keep the error below 20 %, and at two bits per key. On three
 * traces with varying importance, 13 comparisons: top 30 % 0.28 to 0.87, wFNR 0.28 to 0.84. */
static void at_equal_error_recent_keeps_more_important_keys(void **state)
{
    int made = 0;

    for (size_t i = 0; i < trace_count; i++)
        if (traces[i].top > traces[i].least) {
            size_t small = memory_for(&traces[i]);

            made += compare_importance(&traces[i], "percentile", 16384);
            made += compare_importance(&traces[i], "capped", 16384);
            made += compare_importance(&traces[i], "percentile", small);
            made += compare_importance(&traces[i], "capped", small);
        }
    print_message("# weir keeps more of what matters in all of %d comparisons\n", made);
    assert_true(made > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_2_bits_per_key_recent_forgets_less_in_95_of_100_comparisons),
        cmocka_unit_test(at_equal_error_recent_keeps_more_important_keys),
    };

    return traces_read() ? cmocka_run_group_tests(tests, NULL, traces_free) : 0;
}
