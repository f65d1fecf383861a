/* importance.c - classes of importance (lib/spec/importance.h), compared with exact ranks of known
 * distributions.
 *
 * The running sample has 256 values. So one sigma of a rank is at most 3.1 points, and all ranks
 * are within 14 points at any time (Kolmogorov; fails once in 10,000 samples): of seven classes,
 * the right one or its neighbour. On average over the stream the classes are exact. */
#include "papers/stream.h"

#include <math.h>
#include <string.h>

#include "filter/filter.h"

#define TOP 7
#define FORGOTTEN (SAMPLE_SIZE * SAMPLE_EVERY * 6) /* records that replace all but 1 in 400 */

static uint64_t arrivals(void)
{
    return is_quick() ? 200000 : 1000000;
}

static struct importance mode_of(const char *text)
{
    struct importance imp;

    assert_true(importance_read((struct span){text, strlen(text)}, &imp));
    return imp;
}

static uint32_t class_at(const char *text, uint32_t value)
{
    struct importance imp = mode_of(text);
    struct sample none = {0};

    return importance_class(&imp, &none, value, TOP);
}

/* ---- range and logarithm ---- */

TEST(a_range_is_cut_into_equal_parts)
{
    static const uint32_t parts[TOP + 1] = {0, 8, 7, 7, 7, 7, 7, 7};
    uint32_t count[TOP + 1] = {0}, before = 1;

    for (uint32_t value = 1; value <= 50; value++) {
        uint32_t class = class_at("1-50", value);

        assert_true(class >= before);
        before = class;
        count[class]++;
    }
    assert_memory_equal(count, parts, sizeof parts);
}

TEST(values_outside_a_range_are_in_its_first_or_last_class)
{
    assert_int_equal(class_at("10-50", 0), 1);
    assert_int_equal(class_at("10-50", 9), 1);
    assert_int_equal(class_at("10-50", 51), TOP);
    assert_int_equal(class_at("10-50", UINT32_MAX), TOP);
}

TEST(a_range_can_be_maximal_or_two_values)
{
    assert_int_equal(class_at("0-4294967295", 0), 1);
    assert_int_equal(class_at("0-4294967295", UINT32_MAX / 2), 4);
    assert_int_equal(class_at("0-4294967295", UINT32_MAX), TOP);
    assert_int_equal(class_at("3-4", 3), 1);
    assert_int_equal(class_at("3-4", 4), TOP);
}

/* 0 to 32 bits in seven classes: class c begins at 1 + log2(value) = 33/7 (c - 1). Between powers
 * of two the logarithm is linear, at most 0.086 off, in steps of 1/32. */
TEST(logarithm_gives_classes_of_equal_doublings)
{
    uint32_t class = 1;

    assert_int_equal(class_at("log", 0), 1);
    for (double length = 1; length < 33; length += 0.001) {
        uint32_t value = (uint32_t)exp2(length - 1), now = class_at("log", value);

        if (now == class)
            continue;
        assert_int_equal(now, ++class);
        assert_true(fabs(1 + log2(value) - 33.0 / TOP * (class - 1)) < 0.12);
    }
    assert_int_equal(class, TOP);
    assert_int_equal(class_at("log", UINT32_MAX), TOP);
}

/* ---- by the running sample ---- */

/* A stream of importances, and the classes of its records. */
struct classifier {
    struct importance imp;
    struct sample sample;
    struct source source;
    uint64_t arrival;
    double share[TOP + 1];
};

static struct classifier classifier_for(const char *text)
{
    return (struct classifier){.imp = mode_of(text), .source = source_of(7)};
}

static uint32_t classify(struct classifier *j, uint32_t value)
{
    sample_take(&j->sample, value, j->arrival++, 1);
    return importance_class(&j->imp, &j->sample, value, TOP);
}

static double unit(struct classifier *j)
{
    return (double)source_next(&j->source) / 0x1p64;
}

/* From 1 to 2^20, uniform in the logarithm; multiplied by a factor for a drift. The exact rank of a
 * value is its logarithm. */
static uint32_t draw_skewed(struct classifier *j, double *rank)
{
    *rank = unit(j);
    return (uint32_t)exp2(20 * *rank);
}

static uint32_t exact_class(double rank)
{
    return 1 + (uint32_t)(rank * TOP);
}

/* Observe n skewed records; returns how many are more than one class off. Values below 64 are left
 * out, because many of them are equal and share a class. */
static uint64_t show_skewed(struct classifier *j, uint64_t n, uint32_t factor)
{
    uint64_t off = 0;

    memset(j->share, 0, sizeof j->share);
    for (uint64_t i = 0; i < n; i++) {
        double rank;
        uint32_t value = draw_skewed(j, &rank), class = classify(j, factor * value);

        j->share[class] += 1.0 / (double)n;
        off += value >= 64 && (class > exact_class(rank) + 1 || class + 1 < exact_class(rank));
    }
    return off;
}

TEST(percentile_gives_each_class_its_share)
{
    struct classifier j = classifier_for("percentile");

    show_skewed(&j, 1000, 1);
    show_skewed(&j, arrivals(), 1);
    for (int class = 4; class <= TOP; class ++)
        assert_within("share of a class", j.share[class], 1.0 / TOP, 0, 0.015);
}

TEST(percentile_is_at_most_one_class_off)
{
    struct classifier j = classifier_for("percentile");

    show_skewed(&j, 1000, 1);
    assert_int_equal(show_skewed(&j, arrivals(), 1), 0);
}

TEST(percentile_follows_a_drift)
{
    struct classifier j = classifier_for("percentile");

    show_skewed(&j, 20000, 1);
    show_skewed(&j, 100, 2000);
    assert_true(j.share[TOP] > 0.4); /* all new values are above most old ones */
    show_skewed(&j, FORGOTTEN, 2000);
    assert_int_equal(show_skewed(&j, arrivals(), 2000), 0);
    for (int class = 4; class <= TOP; class ++)
        assert_within("share of a class", j.share[class], 1.0 / TOP, 0, 0.015);
}

/* Uniform values: the 90th percentile is 90000, known to 1.9 points. So there are six classes of
 * 90/7 %, and one of that and a tenth. */
static void show_even(struct classifier *j, uint64_t n, uint32_t from)
{
    memset(j->share, 0, sizeof j->share);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t value = from + (uint32_t)source_below(&j->source, 100000);

        j->share[classify(j, value)] += 1.0 / (double)n;
    }
}

TEST(capped_is_linear_up_to_the_90th_percentile)
{
    struct classifier j = classifier_for("capped");

    show_even(&j, 1000, 0);
    show_even(&j, arrivals(), 0);
    for (int class = 1; class < TOP; class ++)
        assert_within("share of a class", j.share[class], 0.9 / TOP, 0, 0.005);
    assert_within("share of the top", j.share[TOP], 0.1 + 0.9 / TOP, 0, 0.015);
}

/* From 500000 to 600000 the cap is 590000. A class is 590000/7 = 84286 wide, so the values are in
 * the sixth and the seventh. */
TEST(capped_follows_a_drift)
{
    struct classifier j = classifier_for("capped");

    show_even(&j, 20000, 0);
    show_even(&j, 100, 500000);
    assert_true(j.share[TOP] > 0.95);
    show_even(&j, FORGOTTEN, 500000);
    show_even(&j, arrivals(), 500000);
    assert_within("share of the sixth", j.share[6], 0.05714, 0, 0.015);
    assert_within("share of the top", j.share[TOP], 1 - 0.05714, 0, 0.015);
}

TEST(constant_importance_is_one_class)
{
    struct classifier percentile = classifier_for("percentile"), capped = classifier_for("capped");

    for (int i = 0; i < 10000; i++) {
        assert_int_equal(classify(&percentile, 42), 4);
        assert_int_equal(classify(&capped, 42), TOP);
    }
}

TEST(the_highest_values_get_the_top_class)
{
    struct classifier percentile = classifier_for("percentile"), capped = classifier_for("capped");

    show_skewed(&percentile, 50000, 1);
    show_skewed(&capped, 50000, 1);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(classify(&percentile, (1 << 20) + 1), TOP);
        assert_int_equal(classify(&capped, 1 << 20), TOP);
        assert_int_equal(classify(&percentile, 0), 1);
        assert_int_equal(classify(&capped, 0), 1);
        show_skewed(&percentile, 2000, 1);
        show_skewed(&capped, 2000, 1);
    }
}

/* ---- in the filter ---- */

static uint32_t lowest_cell(const weir_filter *w, struct weir_key key)
{
    struct cells cells = plane(w, 0);
    uint32_t lowest = cells_top(&cells);

    for (uint32_t i = 0; i < w->config.k; i++) {
        uint32_t value = cells_get(&cells, place(key, i, cells.n));

        lowest = value < lowest ? value : lowest;
    }
    return lowest;
}

/* The lowest cell of a key just observed is its class: at least one of its five was empty or lower
 * before. */
static void class_in_filter(weir_filter *w, uint64_t number, uint32_t importance, uint32_t class)
{
    struct weir_key key = weir_hash(w, &number, sizeof number);

    key.importance = importance;
    weir_observe(w, key);
    assert_int_equal(lowest_cell(w, key), class);
}

TEST(a_filter_raises_cells_to_the_class_of_the_key)
{
    static const char *const modes[] = {"1-1048576", "percentile", "capped", "log"};
    uint32_t table[DEALT];
    struct classifier j = classifier_for("log");
    double rank;

    for (int i = 0; i < DEALT; i++)
        table[i] = draw_skewed(&j, &rank);
    for (int i = 0; i < 4; i++) {
        weir_filter *w = open_filter("ibf-mc memory=64K importance=%s seed=4", modes[i]);
        struct fresh f = {1000000, table};

        show_fresh(w, &f, 5000);
        class_in_filter(w, 1, UINT32_MAX, TOP);
        class_in_filter(w, 2, 0, 1);
        weir_close(w);
    }
}

RUN_TESTS("tests")
