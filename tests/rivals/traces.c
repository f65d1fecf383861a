/* traces.c - the weir filter beside the others on real traces, where there are
 * any: reading.h says where. */
#include "rivals/traces_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct trace traces[TRACES_MOST];
static size_t trace_count;

/* ---- what is forgotten ---- */

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

/* Two bits a distinct key, in bytes. */
static size_t memory_for(const struct trace *t)
{
    return t->distinct * 2 / 8;
}

struct tally {
    int held, won;
};

static void compare_forgetting(const struct trace *t, const char *rival, struct tally *tally)
{
    struct contest c = {
        .trace = t, .rival = rival, .memory = memory_for(t), .seed = 1, .most = 0.01};

    if (!contest_held(&c))
        return;
    tally->held++;
    tally->won += c.ours.fnr < c.its.fnr;
    if (!stays_under(&c) || c.ours.fnr > 1.05 * c.its.fnr)
        fail_msg("%s, %s: fpr %.6f, fnr %.4f; weir %.6f, %.4f", t->name, rival, c.its.fpr,
                 c.its.fnr, c.ours.fpr, c.ours.fnr);
}

/* On seven traces of 20,000 to 1.1 million records it forgot less in all of 120
 * contests: 0.23 to 0.98 of what the rival did, 0.64 in the middle. */
static void at_2_bits_a_key_less_is_forgotten_in_95_of_100_contests(void **state)
{
    struct tally tally = {0, 0};

    (void)state;
    for (size_t i = 0; i < trace_count; i++)
        for (size_t r = 0; r < sizeof forgetful / sizeof *forgetful; r++)
            compare_forgetting(&traces[i], forgetful[r], &tally);
    print_message("# weir forgets less in %d of %d contests\n", tally.won, tally.held);
    assert_true(tally.held > 0 && tally.won >= 0.95 * tally.held);
}

/* ---- what matters ---- */

static int compare_importance(const struct trace *t, const char *importance, size_t memory)
{
    static const char *const rivals[] = {"ibf-2c", "ibf-mc", "ibf-h"};
    int held = 0;

    for (int i = 0; i < 3; i++) {
        struct contest c = {.trace = t,
                            .rival = rivals[i],
                            .memory = memory,
                            .importance = importance,
                            .seed = 1,
                            .most = 0.2};

        if (contest_held(&c)) {
            assert_important_kept(&c);
            held++;
        }
    }
    return held;
}

/* At 16 KB, where few rivals are in reach, and at two bits a key: on three traces
 * whose importance varies, 13 contests, top 30 % 0.28 to 0.87, wFNR 0.28 to 0.84. */
static void at_the_rivals_own_error_more_of_what_matters_is_seen(void **state)
{
    int held = 0;

    (void)state;
    for (size_t i = 0; i < trace_count; i++)
        if (traces[i].top > traces[i].least) {
            size_t small = memory_for(&traces[i]);

            held += compare_importance(&traces[i], "percentile", 16384);
            held += compare_importance(&traces[i], "capped", 16384);
            held += compare_importance(&traces[i], "percentile", small);
            held += compare_importance(&traces[i], "capped", small);
        }
    print_message("# weir keeps more of what matters in all of %d contests\n", held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_2_bits_a_key_less_is_forgotten_in_95_of_100_contests),
        cmocka_unit_test(at_the_rivals_own_error_more_of_what_matters_is_seen),
    };

    trace_count = traces_read(traces);
    if (trace_count == 0)
        return 0;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    traces_free(traces, trace_count);
    return failed;
}
