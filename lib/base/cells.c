/* cells.c - operations on whole arrays of cells. */
#include "base/cells.h"

#define SAMPLE_BITS 22
#define SAMPLE (UINT64_C(1) << SAMPLE_BITS)

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

/* The i-th sampled cell, if there are too many to read all. */
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

bool cells_gap_is_zero(const struct cells *c, uint64_t size)
{
    for (uint64_t at = cells_size(c->n, c->width); at < size; at++)
        if (c->bytes[at])
            return false;
    return true;
}
