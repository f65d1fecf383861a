/* fading.c - theory/stable.h compared with the filters, on streams of new keys: fill from empty to
 * the stable point, misses by gap and class, and the parameters that theory chooses for a maximum
 * error rate. predictions.c and classes.c have streams with repeats. */
#include "papers/stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "filter/filter.h"
#include "papers/stable_settings.h"

#define VALUES 49 /* importance=1-49: seven values for each of seven classes */
#define TOP 7

static unsigned long long cells_wanted(void)
{
    return is_quick() ? 1 << 17 : 1 << 20;
}

/* ---- new keys of classes with unequal shares ---- */

struct filter {
    const char *spec;
    uint32_t top, k, decay;
    bool harmonic;
    uint32_t (*level_of)(uint32_t value);
};

static uint32_t level_sbf(uint32_t value)
{
    (void)value;
    return 3;
}

static uint32_t level_2c(uint32_t value)
{
    return value > VALUES / 2 + 1 ? TOP : (TOP + 1) / 2;
}

static uint32_t level_mc(uint32_t value)
{
    return 1 + (value - 1) * TOP / VALUES;
}

/* Bhoraskar et al. 2013 */
#define AS_PUBLISHED "k=5 cell=3 decay=10 importance=1-49"
static const struct filter filters[] = {
    {"sbf k=3 cell=2 decay=5", 3, 3, 5, false, level_sbf},
    {"ibf-2c " AS_PUBLISHED, TOP, 5, 10, false, level_2c},
    {"ibf-mc " AS_PUBLISHED, TOP, 5, 10, false, level_mc},
    {"ibf-h " AS_PUBLISHED, TOP, 5, 10, true, level_mc},
};
#define FILTERS 4

/* Class c occurs in proportion to 8 - c. */
static void deal(uint32_t *table)
{
    for (int i = 0; i < DEALT; i++) {
        double left = 28 * (i + 0.5) / DEALT;
        uint32_t class = 1;

        for (; left > 8 - class; class ++)
            left -= 8 - class;
        table[i] = (class - 1) * (VALUES / TOP) + 1 + (uint32_t)i % (VALUES / TOP);
    }
}

/* One class per level; levels that do not occur have no keys. */
static void classes_of(const struct filter *f, const uint32_t *table, double n,
                       struct key_class *classes)
{
    for (uint32_t level = 1; level <= f->top; level++) {
        classes[level - 1].level = level;
        model_endless(&classes[level - 1].keys, n);
        classes[level - 1].keys.fresh = 0;
    }
    for (int i = 0; i < DEALT; i++)
        classes[f->level_of(table[i]) - 1].keys.fresh += 1.0 / DEALT;
}

static struct cell_filter fading_of(const struct filter *f, const weir_filter *w)
{
    return (struct cell_filter){(double)plane(w, 0).n, f->top, f->k, f->decay, f->harmonic};
}

static weir_filter *open_sized(const struct filter *f)
{
    return open_filter("%s memory=%llubit seed=9", f->spec, cells_wanted() * (f->top == 3 ? 2 : 3));
}

static void fills_as_predicted(const struct filter *f)
{
    static const double parts[] = {0.01, 0.03, 0.1, 0.2, 0.4, 0.8, 1.5};
    uint32_t table[DEALT];
    struct key_class classes[TOP];
    struct cell_history fade;
    struct fresh keys = {1, table};
    weir_filter *w = open_sized(f);
    struct cell_filter of = fading_of(f, w);

    deal(table);
    classes_of(f, table, INFINITY, classes);
    assert_true(history_open(&fade, &of, classes, f->top));
    for (int i = 0; i < 7; i++) {
        double arrivals = floor(parts[i] * of.cells);

        show_fresh(w, &keys, (uint64_t)arrivals - (keys.next - 1));
        assert_within(f->spec, history_fill(&fade, arrivals), weir_stats_of(w).fill,
                      is_quick() ? 0.02 : 0.01, 0);
    }
    history_close(&fade);
    weir_close(w);
}

TEST(fill_is_predicted_from_empty_to_stable)
{
    for (int i = 0; i < FILTERS; i++)
        fills_as_predicted(&filters[i]);
}

/* Misses by level, of keys observed that long ago, within 5 %. */
static void add_missed(const struct filter *f, const weir_filter *w, const struct fresh *keys,
                       double gap, uint64_t (*count)[2])
{
    for (double age = floor(0.95 * gap); age < 1.05 * gap; age++) {
        struct weir_key key = fresh_key(w, keys, keys->next - (uint64_t)age);
        uint64_t *of_level = count[f->level_of(key.importance)];

        of_level[0]++;
        of_level[1] += weir_ask(w, key) == WEIR_NEW;
    }
}

/* Within 4 sigma of the count, or 0.2 percentage points. */
static void assert_missed(const struct filter *f, uint32_t level, double predicted,
                          const uint64_t *count)
{
    double n = (double)count[0], sigma = sqrt(predicted * (1 - predicted) / n);
    char what[80];

    if (n == 0)
        return;
    snprintf(what, sizeof what, "%s: level %u", f->spec, level);
    assert_within(what, (double)count[1] / n, predicted, 0, 0.002 + 4 * sigma);
}

#define GAPS 5
#define READINGS 3

static void forgets_as_predicted(const struct filter *f)
{
    static const double parts[GAPS] = {0.02, 0.06, 0.15, 0.3, 0.6};
    uint32_t table[DEALT];
    uint64_t count[GAPS][TOP + 1][2] = {0};
    double gap[GAPS], miss[GAPS];
    struct key_class classes[TOP];
    struct fresh keys = {1, table};
    weir_filter *w = open_sized(f);
    struct cell_filter of = fading_of(f, w);

    deal(table);
    classes_of(f, table, INFINITY, classes);
    show_fresh(w, &keys, (uint64_t)(1.5 * of.cells));
    for (int i = 0; i < GAPS; i++)
        gap[i] = parts[i] * of.cells;
    for (int i = 0; i < READINGS * GAPS; i++) {
        if (i % GAPS == 0)
            show_fresh(w, &keys, (uint64_t)(0.2 * of.cells));
        add_missed(f, w, &keys, gap[i % GAPS], count[i % GAPS]);
    }
    for (uint32_t level = 1; level <= f->top; level++) {
        assert_true(stable_miss_by_gap(&of, classes, f->top, level, gap, miss, GAPS));
        for (int i = 0; i < GAPS; i++)
            assert_missed(f, level, miss[i], count[i][level]);
    }
    weir_close(w);
}

TEST(misses_are_predicted_by_gap_and_class)
{
    for (int i = 0; i < FILTERS; i++)
        forgets_as_predicted(&filters[i]);
}

/* ---- parameters for a maximum error rate ---- */

static struct stable evenly(bool harmonic, double cells)
{
    struct stable s = stable_worst(harmonic, TOP, cells);

    for (int level = 1; level <= TOP; level++)
        s.mix[level] = 1.0 / TOP;
    return s;
}

/* How many of its keys a filter remembers: keys reported as seen, minus the false positives among
 * as many others. All older keys are forgotten. */
static double count_remembered(const weir_filter *w, const struct fresh *keys, uint64_t last,
                               double error)
{
    uint64_t asked = 3 * plane(w, 0).n, known = 0;

    for (uint64_t age = 1; age <= asked; age++)
        known += weir_ask(w, fresh_key(w, keys, last - age)) == WEIR_SEEN;
    return ((double)known - error * (double)asked) / (1 - error);
}

/* H settles slowly: after 2 m records its error is still 5 % too low. */
static void remembers_as_predicted(const char *kind, const struct stable *s, struct settings set)
{
    uint32_t table[DEALT];
    struct fresh keys = {1, table};
    weir_filter *w = open_filter("%s memory=%.0fbit k=%u decay=%u seed=4", kind,
                                 s->cells * log2(s->top + 1), (unsigned)set.k, (unsigned)set.decay);
    uint64_t asked = 2 * plane(w, 0).n;

    for (uint32_t i = 0; i < DEALT; i++)
        table[i] = 1 + i % VALUES;
    show_fresh(w, &keys, 4 * asked);
    uint64_t last = keys.next;
    double error = (double)ask_fresh(w, &keys, asked) / (double)asked;
    double remembered = count_remembered(w, &keys, last, error);
    printf("%s: k=%u decay=%u, error %.4f, measured %.4f; remembers %.0f, measured %.0f\n", kind,
           (unsigned)set.k, (unsigned)set.decay, set.error, error, set.remembered, remembered);
    assert_within("error", error, set.error, is_quick() ? 0.06 : 0.03, 0.0005);
    assert_within("remembered", remembered, set.remembered, is_quick() ? 0.05 : 0.03, 0);
    weir_close(w);
}

#define ON_7 " cell=3 importance=1-49"

/* The 20 % of Bhoraskar et al. The worst mix would require nearly twice the decay. */
TEST(parameters_for_a_mix_keep_the_error_and_remember_as_predicted)
{
    double cells = (double)cells_wanted() / 4;

    for (int harmonic = 0; harmonic < 2; harmonic++) {
        struct stable even = evenly(harmonic, cells), worst = stable_worst(harmonic, TOP, cells);
        struct settings set = stable_settings(&even, 0.2, K_MAX, DECAY_MAX);

        assert_true(set.error <= 0.2);
        assert_true(stable_error_of(&even, set.k, (double)set.decay - 1) > 0.2);
        assert_true(stable_min_decay(&worst, 0.2, set.k, DECAY_MAX) * 2 > set.decay * 3);
        remembers_as_predicted(harmonic ? "ibf-h" ON_7 : "ibf-mc" ON_7, &even, set);
    }
}

static double remembered_with(const struct stable *s, uint64_t k, double error)
{
    return stable_settings(s, error, k, DECAY_MAX).remembered;
}

TEST(parameters_of_sbf_remember_the_most)
{
    static const double error[] = {0.1, 0.01, 0.001};
    static const uint64_t k[] = {2, 3, 5};

    for (int i = 0; i < 3; i++) {
        struct stable s = stable_worst(false, 1, (double)cells_wanted() / 4);
        struct settings set = stable_settings(&s, error[i], K_MAX, DECAY_MAX);

        assert_int_equal(set.k, k[i]);
        assert_int_equal(set.decay, stable_decay(error[i], 1, k[i], s.cells));
        assert_true(remembered_with(&s, k[i] - 1, error[i]) < set.remembered);
        remembers_as_predicted("sbf cell=1", &s, set);
    }
}

/* plan() uses a simpler rule, the lifetime of a single key. Its choice remembers as much as the
 * best one, or 6 % less. The smallest K times P, which is right for one-bit cells, would lose up to
 * 45 %. */
TEST(sbf_plans_a_k_that_remembers_nearly_the_most)
{
    for (uint32_t top = 1; top <= 31; top = 2 * top + 1) {
        for (double error = 0.3; error > 1e-5; error /= 3) {
            struct stable s = stable_worst(false, top, 1e6);
            struct key_class class = {.level = top};
            uint64_t k = stable_best_k(error, top, s.cells);
            struct cell_filter of = {s.cells, top, (double)k,
                                     (double)stable_decay(error, top, k, s.cells), false};

            model_endless(&class.keys, INFINITY);
            assert_true(stable_remembered(&of, &class, 1) >
                        0.94 * stable_settings(&s, error, K_MAX, DECAY_MAX).remembered);
        }
    }
}

TEST(no_parameters_are_found_for_an_impossible_error)
{
    struct stable s = stable_worst(false, TOP, 1e6);

    assert_true(stable_settings(&s, 1e-9, 2, DECAY_MAX).remembered == 0);
    assert_true(stable_settings(&s, 1e-9, K_MAX, DECAY_MAX).remembered > 0);
}

RUN_TESTS("tests")
