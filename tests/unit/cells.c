/* cells.c - packed cells of every width, compared with a plain array of numbers. */
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/cells.h"
#include "base/rng.h"

#define CELLS_MAX 300

/* Cells, the model, and guard bytes on both sides. */
struct pair {
    struct cells cells;
    uint32_t model[CELLS_MAX];
    uint8_t *block;
    struct rng rng;
};

#define FENCE 16
#define FENCE_BYTE 0xc5

static struct pair pair_of(uint32_t width, uint64_t n, uint64_t seed)
{
    struct pair p = {.rng = rng_at(seed, width)};
    uint64_t bytes = cells_bytes(n, width);

    p.block = malloc(bytes + 2 * FENCE);
    memset(p.block, FENCE_BYTE, bytes + 2 * FENCE);
    memset(p.block + FENCE, 0, bytes);
    p.cells = (struct cells){p.block + FENCE, n, width};
    for (uint64_t i = 0; i < n; i++) {
        p.model[i] = (uint32_t)rng_below(&p.rng, cells_top(&p.cells) + 1);
        cells_set(&p.cells, i, p.model[i]);
    }
    return p;
}

/* Every cell equals the model, and no other bit has changed. */
static void assert_as_model(const struct pair *p)
{
    uint64_t size = cells_size(p->cells.n, p->cells.width);
    uint64_t bytes = cells_bytes(p->cells.n, p->cells.width);
    uint32_t spare = (uint32_t)(size * 8 - p->cells.n * p->cells.width);

    for (uint64_t i = 0; i < p->cells.n; i++)
        assert_int_equal(cells_get(&p->cells, i), p->model[i]);
    assert_int_equal(p->cells.bytes[size - 1] >> (8 - spare), 0);
    for (uint64_t i = size; i < bytes; i++)
        assert_int_equal(p->cells.bytes[i], 0);
    for (uint64_t i = 0; i < FENCE; i++) {
        assert_int_equal(p->block[i], FENCE_BYTE);
        assert_int_equal(p->block[FENCE + bytes + i], FENCE_BYTE);
    }
}

typedef void (*check)(struct pair *p);

static void with_every_width(check body)
{
    static const uint64_t lengths[] = {1, 2, 3, 7, 8, 9, 31, 63, 64, 65, 127, 200, 300};

    for (uint32_t width = 1; width <= 8; width++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            struct pair p = pair_of(width, lengths[i], 11);

            body(&p);
            assert_as_model(&p);
            free(p.block);
        }
}

static void set_each(struct pair *p)
{
    assert_as_model(p);
    for (int round = 0; round < 100; round++) {
        uint64_t i = rng_below(&p->rng, p->cells.n);

        p->model[i] = (uint32_t)rng_below(&p->rng, cells_top(&p->cells) + 1);
        cells_set(&p->cells, i, p->model[i]);
    }
}

static void raise_and_lower(struct pair *p)
{
    for (int round = 0; round < 500; round++) {
        uint64_t i = rng_below(&p->rng, p->cells.n);
        uint32_t level = (uint32_t)rng_below(&p->rng, cells_top(&p->cells) + 1);

        if (round % 2) {
            cells_raise(&p->cells, i, level);
            p->model[i] = p->model[i] < level ? level : p->model[i];
        } else {
            cells_lower(&p->cells, i);
            p->model[i] -= p->model[i] > 0;
        }
    }
}

static void lower_runs(struct pair *p)
{
    for (int round = 0; round < 60; round++) {
        uint64_t start = rng_below(&p->rng, p->cells.n);
        uint64_t count = rng_below(&p->rng, p->cells.n + 1);

        cells_lower_run(&p->cells, start, count);
        for (uint64_t i = 0; i < count; i++)
            p->model[(start + i) % p->cells.n] -= p->model[(start + i) % p->cells.n] > 0;
        assert_as_model(p);
        for (int again = 0; again < 20; again++) { /* otherwise all would soon be zero */
            uint64_t i = rng_below(&p->rng, p->cells.n);

            p->model[i] = cells_top(&p->cells);
            cells_set(&p->cells, i, p->model[i]);
        }
    }
}

static void raise_all(struct pair *p)
{
    struct pair other = pair_of(p->cells.width, p->cells.n, 12);

    cells_raise_all(&p->cells, &other.cells);
    for (uint64_t i = 0; i < p->cells.n; i++)
        p->model[i] = p->model[i] > other.model[i] ? p->model[i] : other.model[i];
    assert_as_model(&other);
    free(other.block);
}

static void count_used(struct pair *p)
{
    uint64_t used = 0;

    for (uint64_t i = 0; i < p->cells.n; i++)
        used += p->model[i] != 0;
    assert_int_equal(cells_used(&p->cells), used);
    assert_float_equal(cells_fill(&p->cells), (double)used / (double)p->cells.n, 1e-12);
}

TEST(setting_a_cell_does_not_change_its_neighbours)
{
    with_every_width(set_each);
}

TEST(cells_are_raised_and_lowered_and_stop_at_zero)
{
    with_every_width(raise_and_lower);
}

TEST(a_run_of_lowered_cells_wraps_around)
{
    with_every_width(lower_runs);
}

TEST(merging_takes_the_higher_of_each_cell)
{
    with_every_width(raise_all);
}

TEST(used_cells_are_counted)
{
    with_every_width(count_used);
}

TEST(cells_start_at_the_lowest_bit)
{
    uint8_t bytes[16] = {0};
    struct cells c = {bytes, 5, 3};

    for (uint32_t i = 0; i < 5; i++)
        cells_set(&c, i, i + 3);
    /* 3, 4, 5, 6, 7 in 3 bits each: 011 100 101 110 111, starting at the lowest bit */
    assert_int_equal(bytes[0], 0x63);
    assert_int_equal(bytes[1], 0x7d);
    assert_int_equal(bytes[2], 0);
}

TEST(bits_agree_with_cells_of_width_one)
{
    struct pair p = pair_of(1, 200, 13);

    for (int round = 0; round < 500; round++) {
        uint64_t i = rng_below(&p.rng, 200);

        p.model[i] = (uint32_t)rng_below(&p.rng, 2);
        if (p.model[i])
            bit_set(&p.cells, i);
        else
            bit_clear(&p.cells, i);
        assert_int_equal(bit_get(&p.cells, i), p.model[i]);
    }
    assert_as_model(&p);
    free(p.block);
}

TEST(fill_counts_one_and_two_of_two_bits)
{
    struct pair p = pair_of(2, 300, 14);
    double fill[2], lower = 0, upper = 0;

    for (uint64_t i = 0; i < 300; i++) {
        lower += (p.model[i] & 1) / 300.0;
        upper += (p.model[i] >> 1) / 300.0;
    }
    cells_fill_bits(&p.cells, fill);
    assert_float_equal(fill[0], lower, 1e-9);
    assert_float_equal(fill[1], upper, 1e-9);
    free(p.block);
}

/* Ten million cells are sampled. Every third is used, then all of the last tenth: a sample that
 * omits a part would get one of the two wrong. */
TEST(fill_of_very_many_cells_is_sampled)
{
    struct cells c = {NULL, 10000000, 2};
    double fill[2];

    c.bytes = calloc(1, cells_bytes(c.n, c.width));
    for (uint64_t i = 0; i < c.n; i++)
        cells_set(&c, i, (i % 3 == 0) + 2 * (i >= c.n / 10 * 9));
    assert_float_equal(cells_fill(&c), 0.1 + 0.9 / 3, 0.001);
    cells_fill_bits(&c, fill);
    assert_float_equal(fill[0], 1.0 / 3, 0.001);
    assert_float_equal(fill[1], 0.1, 0.001);
    free(c.bytes);
}

TEST(numbers_are_stored_little_endian)
{
    uint8_t bytes[8];
    const uint8_t expected[] = {8, 7, 6, 5, 4, 3, 2, 1};

    bits_store64(bytes, UINT64_C(0x0102030405060708));
    assert_memory_equal(bytes, expected, 8);
    assert_true(bits_load64(bytes) == UINT64_C(0x0102030405060708));
    assert_int_equal(bits_load32(bytes), 0x05060708);
    bits_store32(bytes, 0xfffefdfc);
    assert_true(bits_load64(bytes) == UINT64_C(0x01020304fffefdfc));
}

TEST(a_128_bit_product_has_the_right_upper_half)
{
    assert_int_equal(bits_scale(0, 1000), 0);
    assert_int_equal(bits_scale(UINT64_MAX, 1000), 999);
    assert_int_equal(bits_scale(UINT64_C(1) << 63, 1000), 500);
    assert_true(bits_scale(UINT64_MAX, UINT64_MAX) == UINT64_MAX - 1);
    assert_true(bits_fold(UINT64_MAX, UINT64_MAX) == UINT64_MAX); /* (2^64-2) ^ 1 */
}

RUN_TESTS("cells")
