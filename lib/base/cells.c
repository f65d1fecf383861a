/* cells.c - what is done to many cells at once. */
#include "cells.h"

#define SAMPLE_BITS 22
#define SAMPLE (UINT64_C(1) << SAMPLE_BITS)

/* One in the lowest bit of each of the first count fields. */
static uint64_t lowest_bits(uint32_t width, uint64_t count)
{
    static const uint64_t all[] = {
        0,
        UINT64_C(0xffffffffffffffff), /* every bit */
        UINT64_C(0x5555555555555555), /* every second */
        UINT64_C(0x9249249249249249),
        UINT64_C(0x1111111111111111),
        UINT64_C(0x1084210842108421),
        UINT64_C(0x1041041041041041),
        UINT64_C(0x8102040810204081),
        UINT64_C(0x0101010101010101),
    };

    return all[width] & ((UINT64_C(1) << count * width) - 1);
}

/* Lower up to 56 bits' worth of cells in one word: a cell is one less where any
 * of its bits is set. */
static void lower_word(uint8_t *p, uint32_t shift, uint32_t width, uint64_t count)
{
    uint64_t word = bits_load64(p), any = word >> shift;

    for (uint32_t i = 1; i < width; i++)
        any |= word >> shift >> i;
    bits_store64(p, word - ((any & lowest_bits(width, count)) << shift));
}

void cells_lower_run(struct cells *c, uint64_t start, uint64_t count)
{
    uint64_t most = 56 / c->width;

    while (count > 0) {
        uint64_t now = count < most ? count : most;

        if (now > c->n - start)
            now = c->n - start;
        lower_word(c->bytes + (start * c->width >> 3), start * c->width & 7, c->width, now);
        count -= now;
        start = start + now == c->n ? 0 : start + now;
    }
}

void cells_raise_all(struct cells *c, const struct cells *other)
{
    for (uint64_t i = 0; i < c->n; i++)
        cells_raise(c, i, cells_get(other, i));
}

static uint64_t count_bits(const uint8_t *bytes, uint64_t n)
{
    uint64_t used = 0;
    uint64_t words = n / 64;

    for (uint64_t i = 0; i < words; i++)
        used += (uint64_t)__builtin_popcountll(bits_load64(bytes + 8 * i));
    for (uint64_t i = words * 64; i < n; i++)
        used += bytes[i >> 3] >> (i & 7) & 1;
    return used;
}

uint64_t cells_used(const struct cells *c)
{
    uint64_t used = 0;

    if (c->width == 1)
        return count_bits(c->bytes, c->n);
    for (uint64_t i = 0; i < c->n; i++)
        used += cells_get(c, i) != 0;
    return used;
}

/* The i-th of the cells looked at when n is too many to look at all. */
static uint64_t sampled_at(const struct cells *c, uint64_t i)
{
    return bits_scale(i << (64 - SAMPLE_BITS), c->n);
}

double cells_fill(const struct cells *c)
{
    uint64_t used = 0;

    if (c->n <= SAMPLE)
        return (double)cells_used(c) / (double)c->n;
    for (uint64_t i = 0; i < SAMPLE; i++)
        used += cells_get(c, sampled_at(c, i)) != 0;
    return (double)used / (double)SAMPLE;
}

void cells_fill_bits(const struct cells *c, double fill[2])
{
    uint64_t used[2] = {0, 0}, all = c->n <= SAMPLE ? c->n : SAMPLE;

    for (uint64_t i = 0; i < all; i++) {
        uint32_t value = cells_get(c, all == c->n ? i : sampled_at(c, i));

        used[0] += value & 1;
        used[1] += value >> 1;
    }
    fill[0] = (double)used[0] / (double)all;
    fill[1] = (double)used[1] / (double)all;
}
