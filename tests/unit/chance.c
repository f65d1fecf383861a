/* chance.c - hashes, positions and random draws are fixed, uniform and independent.
 *
 * A correct generator exceeds each limit once in 10^7 runs (5.2 sigma). Seeds are fixed, so a test
 * that passes once always passes. */
#include "support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"

/* ---- draws ---- */

TEST(the_same_counter_gives_the_same_draws)
{
    struct rng a = rng_at(5, 7), b = rng_at(5, 7), other = rng_at(5, 8);

    for (int i = 0; i < 100; i++) {
        uint64_t draw = rng_next(&a);

        assert_true(draw == rng_next(&b));
        assert_true(draw != rng_next(&other));
    }
}

/* Saved filters depend on these values: another generator would change what they do next. */
TEST(draws_have_not_changed_since_filters_were_saved)
{
    static const uint64_t expected[] = {0x71654cf51d71631c, 0x260003b8177b8cc1, 0x22441fc47e1fe7c5};
    struct rng r = rng_at(42, 1000);

    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_true(rng_next(&r) == expected[i]);
}

#define EVEN 1000

TEST(draws_are_uniform)
{
    static const uint64_t awkward[] = {3, 7, 100, 255, 257, 1000};
    uint64_t draws = sized(300000);

    for (size_t a = 0; a < sizeof awkward / sizeof *awkward; a++) {
        uint64_t first[EVEN] = {0}, fourth[EVEN] = {0};

        for (uint64_t arrival = 0; arrival < draws; arrival++) {
            struct rng r = rng_at(1, arrival);

            first[rng_below(&r, awkward[a])]++;
            rng_next(&r);
            rng_next(&r);
            fourth[rng_below(&r, awkward[a])]++;
        }
        assert_true(chi_square(first, awkward[a]) < chi_square_limit(awkward[a]));
        assert_true(chi_square(fourth, awkward[a]) < chi_square_limit(awkward[a]));
    }
}

/* Pairs of draws in a 16 x 16 grid, by their highest or lowest bits. */
struct square {
    uint64_t upper[256], lower[256];
};

static void square_add(struct square *s, uint64_t a, uint64_t b)
{
    s->upper[a >> 60 << 4 | b >> 60]++;
    s->lower[(a & 15) << 4 | (b & 15)]++;
}

static void assert_square_even(const struct square *s)
{
    assert_true(chi_square(s->upper, 256) < chi_square_limit(256));
    assert_true(chi_square(s->lower, 256) < chi_square_limit(256));
}

static uint64_t draw_of(uint64_t seed, uint64_t arrival, int number)
{
    struct rng r = rng_at(seed, arrival);

    while (number-- > 0)
        rng_next(&r);
    return rng_next(&r);
}

TEST(draws_for_one_record_are_independent)
{
    uint64_t n = sized(200000);

    for (int apart = 1; apart <= 3; apart++) {
        struct square s = {0};

        for (uint64_t i = 0; i < n; i++)
            square_add(&s, draw_of(3, i, 0), draw_of(3, i, apart));
        assert_square_even(&s);
    }
}

TEST(draws_for_different_records_are_independent)
{
    static const uint64_t apart[] = {1, 2, 3, 16, 64, 1 << 20, UINT64_C(1) << 32};
    uint64_t n = sized(200000);

    for (size_t a = 0; a < sizeof apart / sizeof *apart; a++) {
        struct square same = {0}, next = {0};

        for (uint64_t i = 0; i < n; i++) {
            square_add(&same, draw_of(4, i, 0), draw_of(4, i + apart[a], 0));
            square_add(&next, draw_of(4, i, 1), draw_of(4, i + apart[a], 0));
        }
        assert_square_even(&same);
        assert_square_even(&next);
    }
}

TEST(draws_of_neighbouring_seeds_are_independent)
{
    uint64_t n = sized(200000);

    for (uint64_t seed = 0; seed < 4; seed++) {
        struct square s = {0};

        for (uint64_t i = 0; i < n; i++)
            square_add(&s, draw_of(seed, i, 0), draw_of(seed + 1, i, 0));
        assert_square_even(&s);
    }
}

TEST(events_occur_with_the_requested_probability)
{
    uint64_t n = 300000, hits = 0, always = 0, never = 0;

    for (uint64_t i = 0; i < n; i++) {
        struct rng r = rng_at(9, i);

        hits += rng_chance(&r, 3, 100);
        always += rng_chance(&r, 100, 100);
        never += rng_chance(&r, 0, 100);
    }
    assert_float_equal((double)hits, 9000, 5.2 * sqrt(9000 * 0.97));
    assert_int_equal(always, n);
    assert_int_equal(never, 0);
}

/* ---- hashes ---- */

static void assert_hash(struct hash128 h, uint64_t hi, uint64_t lo)
{
    assert_true(h.hi == hi && h.lo == lo);
}

TEST(hashes_are_fixed_for_a_seed)
{
    /* XXH3-128 of the empty input with seed 0, from its documentation */
    assert_hash(hash_fast("", 0, 0), 0x99aa06d3014798d8, 0x6001c324468d497f);
    assert_hash(hash_fast("weir", 4, 42), 0x0bad18f777ee064d, 0xd844a6650f8fa619);
    assert_hash(hash_keyed("weir", 4, 42), 0xf6deda6f6a63d0bd, 0xc93e68d963c8307a);
}

TEST(hashes_differ_by_seed_and_by_function)
{
    weir_filter *fast = open_filter("bloom memory=64 seed=1"),
                *keyed = open_filter("bloom memory=64 hash=sip seed=1");
    weir_filter *other = open_filter("bloom memory=64 hash=sip seed=2");
    struct weir_key a = weir_hash(fast, "key", 3), b = weir_hash(keyed, "key", 3);
    struct weir_key c = weir_hash(other, "key", 3);
    struct hash128 f = hash_fast("key", 3, 1), k = hash_keyed("key", 3, 1);

    assert_true(a.lo == f.lo && a.hi == f.hi && a.importance == 1);
    assert_true(b.lo == k.lo && b.hi == k.hi && b.importance == 1);
    assert_true(a.lo != b.lo && a.hi != b.hi);
    assert_true(b.lo != c.lo && b.hi != c.hi);
    weir_close(fast);
    weir_close(keyed);
    weir_close(other);
}

TEST(hash_many_equals_single_calls)
{
    static const char text[] = "a key of any length, the empty one too";
    weir_filter *w = open_filter("memory=64");
    struct weir_bytes bytes[sizeof text];
    struct weir_key keys[sizeof text];

    for (size_t i = 0; i < sizeof text; i++)
        bytes[i] = (struct weir_bytes){text, i};
    weir_hash_many(w, bytes, sizeof text, keys);
    for (size_t i = 0; i < sizeof text; i++) {
        struct weir_key key = weir_hash(w, text, i);

        assert_true(key.lo == keys[i].lo && key.hi == keys[i].hi && keys[i].importance == 1);
    }
    weir_close(w);
}

/* ---- positions ---- */

static struct weir_key key_number(uint64_t i)
{
    struct hash128 h = hash_fast(&i, sizeof i, 6);

    return (struct weir_key){h.lo, h.hi, 1, 0};
}

TEST(positions_are_uniform_for_awkward_lengths)
{
    static const uint64_t awkward[] = {3, 7, 100, 255, 257, 1000};
    static const uint32_t functions[] = {0, 1, 2, 3, 7, 31};
    uint64_t n = sized(200000);

    for (size_t a = 0; a < sizeof awkward / sizeof *awkward; a++)
        for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
            uint64_t counts[EVEN] = {0};

            for (uint64_t i = 0; i < n; i++)
                counts[place(key_number(i), functions[f], awkward[a])]++;
            assert_true(chi_square(counts, awkward[a]) < chi_square_limit(awkward[a]));
        }
}

/* With 3 * 2^62 positions, a modulo would put half of all keys into the first third; this bias is
 * too small to measure at lengths that fit in memory. */
TEST(positions_have_no_modulo_bias)
{
    uint64_t counts[3] = {0}, n = sized(100000);

    for (uint64_t i = 0; i < n; i++)
        counts[place(key_number(i), 2, UINT64_C(3) << 62) >> 62]++;
    assert_true(chi_square(counts, 3) < chi_square_limit(3));
}

/* ---- no correlated double hashing ---- */

#define SMALL 64 /* cells of the small array */
#define KEYS 16384
#define FUNCTIONS 8

typedef uint64_t (*placer)(struct weir_key key, uint32_t i, uint64_t n);

/* What weir does not do: position i is h1 + i * h2, */
static uint64_t place_double(struct weir_key key, uint32_t i, uint64_t n)
{
    return (key.lo % n + i * (key.hi % n)) % n;
}

/* or the same in 64 bits, reduced to n at the end. */
static uint64_t place_double_wide(struct weir_key key, uint32_t i, uint64_t n)
{
    return bits_scale(key.lo + i * key.hi, n);
}

/* Among pairs of keys with equal positions in functions a and b: how many are there, and how many
 * are also equal in c? */
struct agreement {
    uint64_t pairs, also;
};

static struct agreement agree(placer at, uint32_t a, uint32_t b, uint32_t c)
{
    static uint32_t counts[SMALL * SMALL][SMALL];
    struct agreement out = {0, 0};

    memset(counts, 0, sizeof counts);
    for (uint64_t i = 0; i < KEYS; i++) {
        struct weir_key key = key_number(i);

        counts[at(key, a, SMALL) * SMALL + at(key, b, SMALL)][at(key, c, SMALL)]++;
    }
    for (size_t i = 0; i < SMALL * SMALL; i++) {
        uint64_t here = 0;

        for (size_t j = 0; j < SMALL; j++) {
            here += counts[i][j];
            out.also += (uint64_t)counts[i][j] * (counts[i][j] - (counts[i][j] > 0)) / 2;
        }
        out.pairs += here * (here - (here > 0)) / 2;
    }
    return out;
}

/* The deviation from chance (1 in 64), in sigmas. */
static double excess(placer at, uint32_t a, uint32_t b, uint32_t c)
{
    struct agreement got = agree(at, a, b, c);
    double expected = (double)got.pairs / SMALL;

    assert_true(got.pairs > 20000);
    return ((double)got.also - expected) / sqrt(expected);
}

TEST(keys_that_share_two_positions_share_no_third)
{
    for (uint32_t a = 0; a < FUNCTIONS; a++)
        for (uint32_t b = a + 1; b < FUNCTIONS; b++)
            for (uint32_t c = 0; c < FUNCTIONS; c++)
                if (c != a && c != b)
                    assert_true(fabs(excess(place, a, b, c)) < 5.2);
}

/* About 32,800 pairs agree in functions 0 and 1. By chance 514 of them agree in function 2, and 526
 * do. With h1 + i*h2 all do (1422 sigma); with the same in 64 bits 12,159 do (513 sigma). */
TEST(double_hashing_would_share_them)
{
    assert_true(excess(place_double, 0, 1, 2) > 1000);
    assert_true(excess(place_double_wide, 0, 1, 2) > 100);
}

#define BITS 512
#define HASHES 10
#define IN 35
#define ASKED 1000

/* The false-positive rate of many small Bloom filters, divided by what their fill implies: with
 * independent positions it is exactly fill^k. */
static double bloom_excess(placer at, uint64_t filters)
{
    double found = 0, expected = 0;

    for (uint64_t f = 0; f < filters; f++) {
        uint8_t bytes[BITS / 8 + 8] = {0};
        struct cells bits = {bytes, BITS, 1};

        for (uint64_t i = 0; i < IN; i++)
            for (uint32_t j = 0; j < HASHES; j++)
                bit_set(&bits, at(key_number(f << 20 | i), j, BITS));
        for (uint64_t i = IN; i < IN + ASKED; i++) {
            bool seen = true;

            for (uint32_t j = 0; j < HASHES && seen; j++)
                seen = bit_get(&bits, at(key_number(f << 20 | i), j, BITS));
            found += seen;
        }
        expected += ASKED * pow(cells_fill(&bits), HASHES);
    }
    return found / expected - 1;
}

/* Over 4 million keys, weir is off by -1.8 %, h1 + i*h2 by +286 %, and the same in 64 bits by +60
 * %. */
TEST(small_bloom_filters_have_the_predicted_error)
{
    uint64_t filters = sized(4000);

    assert_float_equal(bloom_excess(place, filters), 0, filters < 4000 ? 0.16 : 0.08);
    assert_true(bloom_excess(place_double, filters) > 0.20);
    assert_true(bloom_excess(place_double_wide, filters) > 0.20);
}

RUN_TESTS("chance")
