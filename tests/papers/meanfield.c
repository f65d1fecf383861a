/* meanfield.c - the fill at which the filters of Bera et al. 2012 settle on a stream of new keys.
 *
 * x = fill of one array, X = x^k; per record and times 1/s (theory/sampled.h):
 *
 *  BSBF    dx = (1-x) - (1-X) x      RLBSBF  dx = (1-x) - (1-X) x^2
 *  BSBFSD  dx = (1-x) - (1-X) x/k
 *  RSBF    dx = (1-x) up to record s; BSBF's, slowed down by s/i, up to s/p*;
 *          and 0 from there on
 *
 * Time is measured in s records. With s = 2^19 one sigma of a fill is about 0.1 %. */
#include "papers/stream.h"

#include <math.h>

#include "theory/sampled.h"

#define WITHIN 0.01
#define SETTLED 12 /* the slowest of the stable ones halves its distance in 0.7 */

static unsigned long long array_bits(void)
{
    return is_quick() ? 1 << 17 : 1 << 19;
}

static weir_filter *open_arrays(const char *name, int k)
{
    return open_filter("%s k=%d memory=%llubit seed=%d", name, k, array_bits() * (unsigned)k, k);
}

/* The error rate over the last of n times s records. */
static double error_of_last(weir_filter *w, struct fresh *f, uint64_t times)
{
    show_fresh(w, f, (times - 1) * array_bits());
    return (double)show_fresh(w, f, array_bits()) / (double)array_bits();
}

static void settles_at(const char *name, int k, double fixed_point, double error)
{
    weir_filter *w = open_arrays(name, k);
    struct fresh f = {1, NULL};
    double measured = error_of_last(w, &f, SETTLED);

    assert_within(name, weir_stats_of(w).fill, fixed_point, WITHIN, 0);
    assert_within(name, measured, pow(fixed_point, k), WITHIN, 0);
    assert_within(name, error, pow(fixed_point, k), 1e-6, 0);
    weir_close(w);
}

/* The solution of 1 = x + x^2 is the golden ratio minus 1; that of 1 = x + x^2 + x^3 is the
 * reciprocal of the tribonacci constant. */
TEST(bsbf_settles_at_its_fixed_point)
{
    settles_at("bsbf", 2, 0.618034, sampled_error_bsbf(2));
    settles_at("bsbf", 3, 0.543689, sampled_error_bsbf(3));
    assert_within("k = 2", sampled_error_bsbf(2), 0.382, 0, 0.0005);
    assert_within("k = 3", sampled_error_bsbf(3), 0.161, 0, 0.0005);
}

TEST(rlbsbf_settles_at_its_fixed_point)
{
    settles_at("rlbsbf", 2, 0.754878, sampled_error_rlbsbf(2));
    settles_at("rlbsbf", 3, 0.682328, sampled_error_rlbsbf(3));
    assert_within("k = 2", sampled_error_rlbsbf(2), 0.570, 0, 0.0005);
    assert_within("k = 3", sampled_error_rlbsbf(3), 0.318, 0, 0.0005);
}

/* dx = (1-x) - lost * (1-X) x over a period, in Heun's steps. */
static double integrate(double x, double time, int k, double lost)
{
    int steps = 1000;
    double h = time / steps;

    for (int i = 0; i < steps; i++) {
        double slope = (1 - x) - lost * (1 - pow(x, k)) * x;
        double ahead = x + h * slope;
        double slope_ahead = (1 - ahead) - lost * (1 - pow(ahead, k)) * ahead;

        x += h * (slope + slope_ahead) / 2;
    }
    return x;
}

/* The empty share is compared too: it decreases as 1/time. */
static void bsbfsd_creeps(int k)
{
    weir_filter *w = open_arrays("bsbfsd", k);
    struct fresh f = {1, NULL};
    double x = 0, before = 0, stable = pow(sampled_error_bsbf((uint64_t)k), 1.0 / k);

    for (int time = 1; time <= 32; time *= 2) {
        uint64_t stretch = time == 1 ? 1 : (uint64_t)time / 2;

        x = integrate(x, (double)stretch, k, 1.0 / k);
        show_fresh(w, &f, stretch * array_bits());
        double fill = weir_stats_of(w).fill;
        assert_within("fill of bsbfsd", fill, x, WITHIN, 0);
        assert_within("empty part of bsbfsd", 1 - fill, 1 - x, 0.02, 0);
        assert_true(fill > before);
        before = fill;
    }
    assert_true(before > stable + 0.3);
    weir_close(w);
}

TEST(bsbfsd_never_settles_but_follows_the_mean_field)
{
    bsbfsd_creeps(2);
    bsbfsd_creeps(3);
}

/* After record s, time runs as ln i. With k = 2 the fill falls to 0.618 only; with many arrays,
 * where false positives are rare, to a half. */
static void rsbf_rises_and_falls(int k, double falls_to)
{
    weir_filter *w = open_arrays("rsbf", k);
    struct fresh f = {1, NULL};

    show_fresh(w, &f, array_bits());
    assert_within("rsbf at s", weir_stats_of(w).fill, 1 - exp(-1), WITHIN / 2, 0);
    for (uint64_t i = 2; i <= 32; i *= 2) {
        double x = integrate(1 - exp(-1), log((double)i), k, 1);

        show_fresh(w, &f, i / 2 * array_bits());
        assert_within("rsbf after s", weir_stats_of(w).fill, x, WITHIN / 2, 0);
    }
    assert_within("rsbf at 32 s", weir_stats_of(w).fill, falls_to, WITHIN / 2, 0);
    weir_close(w);
}

TEST(rsbf_rises_to_1_minus_1_over_e_and_falls_from_there)
{
    rsbf_rises_and_falls(2, 0.6180);
    rsbf_rises_and_falls(6, 0.5041);
}

TEST(rsbf_keeps_its_fill_once_a_bit_set_is_a_bit_cleared)
{
    weir_filter *w = open_filter("rsbf k=2 p-star=0.25 memory=%llubit seed=9", array_bits() * 2);
    struct fresh f = {1, NULL};

    show_fresh(w, &f, 4 * array_bits() + 1);
    double fill = weir_stats_of(w).fill;
    show_fresh(w, &f, 4 * array_bits());
    assert_within("fill", weir_stats_of(w).fill, fill, 1e-9, 0);
    weir_close(w);
}

/* Every record clears a bit, so the fill is x = (1 - e^(-2t))/2 up to s, and approaches a half from
 * below. */
TEST(rsbf_tables_nears_a_half_from_below)
{
    weir_filter *w = open_arrays("rsbf-tables", 2);
    struct fresh f = {1, NULL};
    double at_s = (1 - exp(-2)) / 2;

    show_fresh(w, &f, array_bits());
    assert_within("at s", weir_stats_of(w).fill, at_s, WITHIN, 0);
    show_fresh(w, &f, 3 * array_bits());
    assert_within("at 4 s", weir_stats_of(w).fill, 0.5 - (0.5 - at_s) / 16, WITHIN, 0);
    assert_true(weir_stats_of(w).error <= sampled_error_rsbf_tables(2, 0.03));
    weir_close(w);
}

RUN_TESTS("tests")
