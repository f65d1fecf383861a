/* positions.c - filters of more than 2^32 cells use all of them.
 *
 * A random position of 31 or 32 bits leaves the upper part of a large filter unused, or never
 * cleared: the error behind six rows of Bera et al. 2012 (bera2012.c). So every cell gets a known
 * value, new keys are observed, and the cells that were raised and lowered are counted in each
 * sixteenth of the filter. All sixteenths must agree with theory within 1 %; one sigma is at most
 * 0.2 %. Uses up to 1.7 GiB of memory and takes half a minute. */
#include "papers/stream.h"

#include <math.h>
#include <string.h>

#include "filter/filter.h"

#define STRIPS 16
#define PATTERN 0x55 /* every second bit; in cells of three bits: 5, 2, 5, 2, ... */
#define WITHIN 0.01

struct moved {
    double raised, lowered; /* shares of the cells of one sixteenth */
};

static uint64_t load_word(const struct cells *c, uint64_t i)
{
    return bits_load64(c->bytes + i / 8);
}

static struct moved bits_moved(const struct cells *c, uint64_t from, uint64_t to)
{
    const uint64_t pattern = UINT64_C(0x5555555555555555);
    uint64_t raised = 0, lowered = 0;

    for (uint64_t i = from; i < to; i += 64) {
        uint64_t word = load_word(c, i);

        raised += (uint64_t)__builtin_popcountll(word & ~pattern);
        lowered += (uint64_t)__builtin_popcountll(~word & pattern);
    }
    return (struct moved){2 * (double)raised / (double)(to - from),
                          2 * (double)lowered / (double)(to - from)};
}

static struct moved cells_moved(const struct cells *c, uint64_t from, uint64_t to)
{
    uint64_t raised = 0, lowered = 0;

    for (uint64_t i = from; i < to; i++) {
        uint32_t value = cells_get(c, i), before = i % 2 ? 2 : 5;

        raised += value > before;
        lowered += value < before;
    }
    return (struct moved){(double)raised / (double)(to - from),
                          (double)lowered / (double)(to - from)};
}

static weir_filter *open_patterned(const char *spec)
{
    weir_filter *w = open_filter("%s seed=8", spec);

    assert_true(plane(w, 0).n > UINT64_C(1) << 32);
    memset(w->cells, PATTERN, w->stride);
    return w;
}

static void every_strip_moved(weir_filter *w, struct moved expected)
{
    struct cells c = plane(w, 0);
    uint64_t strip = c.n / STRIPS / 64 * 64;

    for (uint64_t i = 0; i < STRIPS; i++) {
        struct moved m = c.width == 1 ? bits_moved(&c, i * strip, (i + 1) * strip)
                                      : cells_moved(&c, i * strip, (i + 1) * strip);

        assert_within("share of cells raised", m.raised, expected.raised, WITHIN, 0);
        assert_within("share of cells lowered", m.lowered, expected.lowered, WITHIN, 0);
    }
    weir_close(w);
}

/* A bit at x0 is set at rate k and cleared at rate p, per cell and record over m: its value after n
 * records. */
static double gone(double towards, double against, double n_per_cell)
{
    double both = towards + against;

    return towards / both * -expm1(-both * n_per_cell);
}

#define MANY 20000000

TEST(sbf_sets_and_lowers_cells_beyond_2_to_the_32)
{
    weir_filter *w = open_patterned("sbf cell=1 k=2 decay=64 memory=1G");
    double t = (double)MANY / (double)plane(w, 0).n;
    struct fresh f = {1, NULL};

    show_fresh(w, &f, MANY);
    every_strip_moved(w, (struct moved){gone(2, 64, t), gone(64, 2, t)});
}

TEST(bloom_sets_bits_beyond_2_to_the_32)
{
    weir_filter *w = open_patterned("bloom k=4 memory=513M");
    double t = (double)MANY / (double)plane(w, 0).n;
    struct fresh f = {1, NULL};

    show_fresh(w, &f, MANY);
    every_strip_moved(w, (struct moved){gone(4, 0, t), 0});
}

/* Half of the new keys are false positives, which neither set nor clear. So each key that selects
 * an empty bit sets it, and other bits are cleared at half that rate. */
TEST(bsbf_sets_and_clears_bits_beyond_2_to_the_32)
{
    weir_filter *w = open_patterned("bsbf k=1 memory=1G");
    double t = (double)MANY / (double)plane(w, 0).n;
    struct fresh f = {1, NULL};

    show_fresh(w, &f, MANY);
    every_strip_moved(w, (struct moved){gone(1, 0.5, t), gone(0.5, 1, t)});
}

/* Two arrays of at least 2^32 bits: the second starts beyond them. */
TEST(rlbsbf_sets_and_clears_bits_of_each_large_array)
{
    weir_filter *w = open_filter("rlbsbf k=2 memory=1026M seed=8");
    struct fresh f = {1, NULL};

    memset(w->cells, PATTERN, 2 * w->stride);
    for (int i = 0; i < 2; i++)
        w->reg[i] = cells_used(&(struct cells){w->cells, plane(w, 0).n, 1});
    show_fresh(w, &f, MANY);
    for (uint64_t i = 0; i < 2; i++) {
        struct cells c = plane(w, i);
        struct moved all = bits_moved(&c, 0, c.n / 64 * 64);
        double t = (double)MANY / (double)c.n;

        assert_true(c.n > UINT64_C(1) << 32);
        assert_within("share of bits set", all.raised, gone(1, 0.375, t), WITHIN, 0);
        assert_within("share of bits cleared", all.lowered, gone(0.375, 1, t), WITHIN, 0);
    }
    weir_close(w);
}

/* Cells of three bits extend beyond bit 2^33. */
TEST(ibf_mc_raises_and_lowers_cells_beyond_2_to_the_32)
{
    uint32_t table[DEALT];
    struct fresh f = {1, table};
    weir_filter *w = open_patterned("ibf-mc k=5 cell=3 decay=10 importance=1-50 memory=1700M");
    uint64_t n = 5000000;
    double t = (double)n / (double)plane(w, 0).n;

    for (int i = 0; i < DEALT; i++)
        table[i] = 50;
    show_fresh(w, &f, n);
    every_strip_moved(w, (struct moved){-expm1(-5 * t), -expm1(-10 * t) * exp(-5 * t)});
}

RUN_TESTS("tests")
