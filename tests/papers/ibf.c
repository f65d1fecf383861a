/* ibf.c - the stationary distribution of SBF and the IBF family (Bhoraskar et al. 2013;
 * theory/stable.h), compared with the filters on streams of new keys: the share of cells of each
 * value, for three mixes of importance. Then the maximum error rate fpr= that follows from it.
 *
 * With m cells, a cell relaxes within a small part of m records. So the cells after 3 m records
 * follow the stationary distribution, with one sigma of V_0 below 0.4 %. SBF decrements neighbours
 * together, so they are correlated, and its average is read twice. With the mix "mostly low", H
 * also reaches its limit of draws. WEIR_LONG=1 adds a third setting. */
#include "papers/stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"
#include "theory/stable.h"

#define VALUES 49 /* importance=1-49: seven values for each of seven classes */
#define TOP_MOST 15

struct setting {
    unsigned k, cell, decay;
};

/* The first is that of Bhoraskar et al. */
static const struct setting settings[] = {{5, 3, 10}, {3, 2, 4}, {4, 4, 12}};

/* The weight of each importance from 1 to VALUES. */
static double even(double value)
{
    (void)value;
    return 1;
}

static double mostly_low(double value)
{
    return pow(VALUES + 1 - value, 4);
}

static double mostly_high(double value)
{
    return pow(value, 4);
}

static double (*const mixes[])(double) = {even, mostly_low, mostly_high};
static const char *const mix_names[] = {"even", "mostly low", "mostly high"};
#define MIXES 3

/* A table of importances in proportion to these weights. */
static void fill_table(uint32_t *table, double (*weight)(double))
{
    double all = 0, upto = 0;
    uint32_t value = 0;

    for (int v = 1; v <= VALUES; v++)
        all += weight(v);
    for (int i = 0; i < DEALT; i++) {
        while (upto <= (i + 0.5) / DEALT * all && value < VALUES)
            upto += weight(++value);
        table[i] = value;
    }
}

/* The class of a key's cells. */
typedef uint32_t (*class_fn)(uint32_t value, uint32_t top);

static uint32_t class_sbf(uint32_t value, uint32_t top)
{
    (void)value;
    return top;
}

static uint32_t class_2c(uint32_t value, uint32_t top)
{
    return value > VALUES / 2 + 1 ? top : (top + 1) / 2;
}

static uint32_t class_mc(uint32_t value, uint32_t top)
{
    return 1 + (value - 1) * top / VALUES;
}

static void mix_of(const uint32_t *table, class_fn class, uint32_t top, double *mix)
{
    memset(mix, 0, (TOP_MOST + 1) * sizeof *mix);
    for (int i = 0; i < DEALT; i++)
        mix[class(table[i], top)] += 1.0 / DEALT;
}

static void add_law(const weir_filter *w, double *law, int readings)
{
    struct cells cells = plane(w, 0);
    uint64_t count[TOP_MOST + 1] = {0};

    for (uint64_t i = 0; i < cells.n; i++)
        count[cells_get(&cells, i)]++;
    for (uint32_t v = 0; v <= cells_top(&cells); v++)
        law[v] += (double)count[v] / (double)cells.n / readings;
}

static void measure_law(weir_filter *w, const uint32_t *table, int readings, double *law)
{
    struct fresh f = {1, table};
    uint64_t m = plane(w, 0).n;

    memset(law, 0, (TOP_MOST + 1) * sizeof *law);
    show_fresh(w, &f, 2 * m + m / 2);
    for (int i = 0; i < readings; i++) {
        show_fresh(w, &f, m / 2);
        add_law(w, law, readings);
    }
}

struct kind {
    const char *name;
    class_fn class;
    void (*theory)(const double *, uint32_t, double, double, double *);
    int readings;
    const char *parameter;
};

#define PARAMETER " importance=1-49"
static const struct kind sbf = {"sbf", class_sbf, stable_shares, 2, ""};
static const struct kind ibf_2c = {"ibf-2c", class_2c, stable_shares, 1, PARAMETER};
static const struct kind ibf_mc = {"ibf-mc", class_mc, stable_shares, 1, PARAMETER};
static const struct kind ibf_h = {"ibf-h", class_mc, stable_shares_h, 1, PARAMETER};

/* V_0 within 1 % of its value, every other share within 1 % or 0.2 points; with a quarter of the
 * cells, twice that. */
static void property_holds(const struct kind *kind, struct setting s, int mix_number)
{
    uint32_t table[DEALT], top = (1u << s.cell) - 1;
    double mix[TOP_MOST + 1], law[TOP_MOST + 1], measured[TOP_MOST + 1];
    unsigned long long cells = is_quick() ? 1 << 18 : 1 << 20;
    weir_filter *w = open_filter("%s k=%u cell=%u decay=%u memory=%llubit seed=5%s", kind->name,
                                 s.k, s.cell, s.decay, cells * s.cell, kind->parameter);
    double within = is_quick() ? 0.02 : 0.01;
    char what[80];

    fill_table(table, mixes[mix_number]);
    mix_of(table, kind->class, top, mix);
    kind->theory(mix, top, s.k, s.decay, law);
    measure_law(w, table, kind->readings, measured);
    for (uint32_t v = 0; v <= top; v++) {
        snprintf(what, sizeof what, "%s k=%u cell=%u decay=%u, %s: V_%u", kind->name, s.k, s.cell,
                 s.decay, mix_names[mix_number], v);
        assert_within(what, measured[v], law[v], within, v ? within / 5 : 0);
    }
    weir_close(w);
}

static void property_holds_for(const struct kind *kind, int mixes_wanted)
{
    for (int s = 0; s < (is_long() ? 3 : 2); s++)
        for (int mix = 0; mix < mixes_wanted; mix++)
            property_holds(kind, settings[s], mix);
}

TEST(sbf_has_its_stationary_distribution)
{
    property_holds_for(&sbf, 1);
}

TEST(ibf_2c_has_its_stationary_distribution)
{
    property_holds_for(&ibf_2c, MIXES);
}

TEST(ibf_mc_has_its_stationary_distribution)
{
    property_holds_for(&ibf_mc, MIXES);
}

TEST(ibf_h_has_its_stationary_distribution)
{
    property_holds_for(&ibf_h, MIXES);
}

/* The same by the paper's closed forms, and the known value for H. */
TEST(the_distribution_has_its_known_values)
{
    double mix[TOP_MOST + 1] = {0}, law[TOP_MOST + 1];

    mix[7] = 1; /* SBF */
    stable_shares(mix, 7, 5, 10, law);
    assert_within("SBF", law[0], pow(2.0 / 3, 7), 1e-9, 0);
    assert_within("SBF", law[0], stable_empty(7, 5, 10, 1e12), 1e-9, 0);
    for (int i = 1; i <= 7; i++)
        mix[i] = 1.0 / 7;
    stable_shares_h(mix, 7, 5, 10, law);
    assert_within("H", law[0], 0.3675, 0, 0.00005);
}

/* The paper's parameters for an error of 20 %. Its formula for 2C has a wrong sign and gives 3 to 7
 * % (depending on the rounding of M/2); its Markov chain gives 59 %, and 36 % for MC and 74 % for
 * SBF. */
TEST(the_papers_parameters_exceed_an_error_of_a_fifth)
{
    static const double printed[] = {0.0717, 0.0468, 0.0277}; /* M/2 = 4, 3.5, 3 */
    struct stable mc = {.top = 7, .cells = 1e9}, two = mc;

    for (int i = 0; i < 3; i++)
        assert_within("2C, as printed", stable_printed_2c((uint32_t)(8 - i), 5, 10), printed[i], 0,
                      0.00005);
    for (int i = 1; i <= 7; i++)
        mc.mix[i] = (i == 1 ? 8 : 7) / 50.0; /* importance 1-50 */
    two.mix[4] = two.mix[7] = 0.5;
    assert_within("MC", stable_error_of(&mc, 5, 10), 0.362, 0, 0.0005);
    assert_within("2C", stable_error_of(&two, 5, 10), 0.587, 0, 0.0005);
    assert_within("SBF", stable_error(7, 5, 10, 1e9), 0.740, 0, 0.0005);
}

/* ---- coupling ----
 *
 * Filters with the same seed decrement the same cells for the same record. If two cells are raised
 * to v and w with v <= w, a cell that was not above the other before is not above it after:
 * decrementing and raising preserve the order. So with equal K, P and M no cell of 2C or MC is ever
 * above that of SBF with random deletion (MC with all keys in the top class), and SBF remembers
 * every key that they remember. H decrements other cells, and is not bounded by SBF. */

struct pair {
    uint64_t higher_cells; /* than those of SBF */
    uint64_t more_seen;    /* repeats that this filter reports and SBF does not */
    uint64_t missed, missed_by_sbf;
};

static uint64_t count_higher(const weir_filter *w, const weir_filter *other)
{
    struct cells a = plane(w, 0), b = plane(other, 0);
    uint64_t n = 0;

    for (uint64_t i = 0; i < a.n; i++)
        n += cells_get(&a, i) > cells_get(&b, i);
    return n;
}

#define COUPLED 60000
#define COUPLED_KEYS 20000

static struct pair run_coupled(const char *name)
{
    weir_filter *w = open_filter("%s k=5 cell=3 decay=10 memory=16000 seed=9" PARAMETER, name);
    weir_filter *stable = open_filter("ibf-mc k=5 cell=3 decay=10 memory=16000 seed=9" PARAMETER);
    struct source draw = source_of(3);
    struct pair p = {0};
    bool *came = calloc(COUPLED_KEYS, sizeof *came);

    for (int i = 0; i < COUPLED; i++) {
        uint64_t number = source_below(&draw, COUPLED_KEYS);
        struct weir_key key = weir_hash(w, &number, sizeof number), top = key;

        key.importance = 1 + (uint32_t)(number % VALUES);
        top.importance = VALUES;
        bool seen = weir_observe(w, key), seen_by_sbf = weir_observe(stable, top);
        p.missed += came[number] && !seen;
        p.missed_by_sbf += came[number] && !seen_by_sbf;
        p.more_seen += seen && !seen_by_sbf;
        came[number] = true;
        if (i % 1000 == 999)
            p.higher_cells += count_higher(w, stable);
    }
    free(came);
    weir_close(w);
    weir_close(stable);
    return p;
}

TEST(no_cell_of_2c_or_mc_is_ever_above_that_of_sbf)
{
    static const char *const names[] = {"ibf-2c", "ibf-mc"};

    for (int i = 0; i < 2; i++) {
        struct pair p = run_coupled(names[i]);

        assert_int_equal(p.higher_cells, 0);
        assert_int_equal(p.more_seen, 0);
        assert_true(p.missed > p.missed_by_sbf * 5 / 4 && p.missed_by_sbf > 1000);
    }
    assert_true(run_coupled("ibf-h").higher_cells > 1000);
}

/* All keys in the top class: the worst mix. With a quarter of a million cells the error is stable
 * within 1 %, and 4000 errors are counted: 3 sigma are 5 %. */
static double settled_error(weir_filter *w, double expected)
{
    uint32_t table[DEALT];
    struct fresh f = {1, table};
    uint64_t asked = (uint64_t)(4000 / expected);

    for (int i = 0; i < DEALT; i++)
        table[i] = VALUES;
    show_fresh(w, &f, 2 * plane(w, 0).n);
    return (double)ask_fresh(w, &f, asked) / (double)asked;
}

/* At most the limit, and not lower than rounding P implies. */
static void ceiling_is_kept(const char *name, const char *parameters, double ceiling, bool harmonic)
{
    unsigned long long memory = is_quick() ? 3 << 16 : 3 << 18;
    weir_filter *w =
        open_filter("%s fpr=%g memory=%llubit seed=6%s", name, ceiling, memory, parameters);
    const struct config *c = &w->config;
    double error = settled_error(w, ceiling), decay = (double)c->decay;
    struct stable worst = stable_worst(harmonic, (1u << c->cell) - 1, (double)plane(w, 0).n);

    assert_true(error <= ceiling * 1.05);
    assert_within(name, error, stable_error_of(&worst, c->k, decay), 0.07, 0);
    assert_true(stable_error_of(&worst, c->k, decay) <= ceiling);
    if (c->decay > 1)
        assert_true(stable_error_of(&worst, c->k, decay - 1) > ceiling);
    weir_close(w);
}

TEST(sbf_keeps_its_error_with_the_least_decay)
{
    static const char *const parameters[] = {"", " k=2 cell=1", " k=5 cell=3"};

    for (int i = 0; i < 3; i++) {
        ceiling_is_kept("sbf", parameters[i], 0.1, false);
        ceiling_is_kept("sbf", parameters[i], 0.01, false);
    }
    ceiling_is_kept("sbf", "", 0.001, false);
}

TEST(ibf_keeps_its_error_with_the_least_decay)
{
    ceiling_is_kept("ibf-2c", PARAMETER, 0.2, false);
    ceiling_is_kept("ibf-mc", PARAMETER, 0.2, false);
    ceiling_is_kept("ibf-h", PARAMETER, 0.2, true);
    ceiling_is_kept("ibf-h", PARAMETER " cell=4", 0.02, true);
}

/* 4.33 with the parameters of Bera et al. 2012; rounded down, as in the paper, the error is 0.111.
 */
TEST(sbf_rounds_its_decay_up)
{
    assert_int_equal(stable_decay(0.1, 1, 2, 1e9), 5);
    assert_within("P = 4", stable_error(1, 2, 4, 1e9), 0.111, 0, 0.0005);
    assert_within("P = 4.33", stable_error(1, 2, 4.325, 1e9), 0.1, 0.001, 0);
}

RUN_TESTS("tests")
