/* cells.h - an array of n cells of 1 to 8 bits each, packed.
 *
 *   bit:  0  1  2  3  4  5  6  7 | 8  9 10 ...
 *   d=3: [cell 0 ][cell 1 ][cell | 2 ][cell 3 ...
 *
 * Cell i starts at bit i * d of a little-endian bit string. The bytes are the same on every
 * machine and are saved as they are. Runs of cells are accessed eight bytes at a time;
 * cells_bytes() reserves the bytes after the last cell. */
#ifndef WEIR_BASE_CELLS_H
#define WEIR_BASE_CELLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bits.h"

struct cells {
    uint8_t *bytes;
    uint64_t n;
    uint32_t width; /* bits per cell, 1..8 */
};

/* Bytes of the cells themselves, which are saved. */
static inline uint64_t cells_size(uint64_t n, uint32_t width)
{
    return (uint64_t)(((bits_u128)n * width + 7) / 8);
}

/* Bytes to allocate. */
static inline uint64_t cells_bytes(uint64_t n, uint32_t width)
{
    return cells_size(n, width) + 8;
}

static inline uint32_t cells_top(const struct cells *c)
{
    return (1u << c->width) - 1;
}

/* Prefetch a cache line that is needed some keys later, into the second-level cache. Prefetching
 * into the first level is limited to a few misses at a time, and everything else waits for them
 * (bench/speed on Zen 4: bloom takes twice as long without this). The empty asm is for GCC, which
 * treats a function that only prefetches as one without effect and removes calls to it. */
static inline void cells_fetch(const uint8_t *p)
{
    __builtin_prefetch(p, 0, 1);
    __asm__ volatile("");
}

/* Prefetch a line that is needed next, from the second-level cache into the first. A 64-byte load
 * from the second level takes longer than a load of one word (bench/speed, Zen 4). */
static inline void cells_fetch_near(const uint8_t *p)
{
    __builtin_prefetch(p, 0, 3);
    __asm__ volatile("");
}

/* Prefetch a line that is needed immediately. */
static inline void cells_fetch_now(const uint8_t *p)
{
    __builtin_prefetch(p, 1);
    __asm__ volatile("");
}

/* Cells of one bit, as in most filters. */
static inline void bit_prefetch(const struct cells *c, uint64_t i)
{
    cells_fetch(c->bytes + (i >> 3));
}

static inline bool bit_get(const struct cells *c, uint64_t i)
{
    return c->bytes[i >> 3] >> (i & 7) & 1;
}

static inline void bit_set(struct cells *c, uint64_t i)
{
    c->bytes[i >> 3] |= (uint8_t)(1u << (i & 7));
}

static inline void bit_clear(struct cells *c, uint64_t i)
{
    c->bytes[i >> 3] &= (uint8_t) ~(1u << (i & 7));
}

/* Cells of 1, 2, 4 or 8 bits never cross a byte boundary. */
static inline bool cells_in_a_byte(const struct cells *c)
{
    return (c->width & (c->width - 1)) == 0;
}

/* Cells of any width. The test for one bit costs nothing: the compiler hoists it out of loops. */
static inline void cells_prefetch(const struct cells *c, uint64_t i)
{
    const uint8_t *p = c->bytes + (i * c->width >> 3);

    cells_fetch(p);
    if (!cells_in_a_byte(c) && ((uintptr_t)p & 63) == 63) /* its second byte is in the next line */
        cells_fetch(p + 1);
}

static inline uint32_t cells_get(const struct cells *c, uint64_t i)
{
    if (c->width == 1)
        return bit_get(c, i);
    uint64_t bit = i * c->width;
    const uint8_t *p = c->bytes + (bit >> 3);
    uint32_t bits = cells_in_a_byte(c) ? p[0] : bits_load16(p);

    return bits >> (bit & 7) & cells_top(c);
}

static inline void cells_set(struct cells *c, uint64_t i, uint32_t value)
{
    uint64_t bit = i * c->width;
    uint8_t *p = c->bytes + (bit >> 3);
    uint32_t flip = (cells_get(c, i) ^ value) << (bit & 7);

    if (cells_in_a_byte(c))
        p[0] ^= (uint8_t)flip;
    else
        bits_store16(p, bits_load16(p) ^ flip);
}

/* Raise a cell to at least value. */
static inline void cells_raise(struct cells *c, uint64_t i, uint32_t value)
{
    if (c->width == 1 && value == 1) {
        bit_set(c, i);
        return;
    }
    uint32_t old = cells_get(c, i);

    cells_set(c, i, old < value ? value : old);
}

/* Lower a cell by one; zero stays zero. */
static inline void cells_lower(struct cells *c, uint64_t i)
{
    uint32_t old = cells_get(c, i);

    cells_set(c, i, old - (old != 0));
}

/* A word with the lowest bit set of each cell in it. */
static inline uint64_t cells_ones(uint32_t width)
{
    static const uint64_t ones[] = {
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

    return ones[width];
}

/* Lower by one each nonzero cell in `size` bits of a word, from `shift` on. A cell is nonzero if
 * any of its bits is set. */
static inline void cells_lower_word(uint8_t *p, uint64_t shift, uint64_t size, uint32_t width)
{
    uint64_t word = bits_load64(p), any = word >> shift;

    for (uint32_t i = 1; i < width; i++)
        any |= word >> shift >> i;
    any &= cells_ones(width) & UINT64_MAX >> (64 - size);
    bits_store64(p, word - (any << shift));
}

/* The address of a word that covers a byte and does not extend into the next cache line. */
static inline uint64_t cells_word_in_line(uint64_t byte)
{
    return (byte & 63) > 56 ? byte & ~UINT64_C(7) : byte;
}

/* Lower `count` cells by one each, at most n, from start on, wrapping around at the end. */
static inline void cells_lower_run(struct cells *c, uint64_t start, uint64_t count)
{
    while (count > 0) {
        uint64_t bit = start * c->width, word = cells_word_in_line(bit >> 3);
        uint64_t shift = bit - 8 * word;
        uint64_t now = count < c->n - start ? count : c->n - start;

        if (now * c->width > 64 - shift)
            now = (64 - shift) / c->width;
        if (now > 0) {
            cells_lower_word(c->bytes + word, shift, now * c->width, c->width);
        } else { /* a cell that crosses a word boundary */
            cells_lower(c, start);
            now = 1;
        }
        count -= now;
        start = start + now == c->n ? 0 : start + now;
    }
}

/* Are the bytes behind the last cell zero, up to this size of the array? */
bool cells_gap_is_zero(const struct cells *c, uint64_t size);

/* Raise every cell to at least that of another array of the same shape. */
void cells_raise_all(struct cells *c, const struct cells *other);

/* Count the nonzero cells. Reads all cells. */
uint64_t cells_used(const struct cells *c);

/* The share of nonzero cells: exact up to four million cells, otherwise estimated from as many
 * evenly spaced ones (standard error below 0.0003). */
double cells_fill(const struct cells *c);

/* The same for the lower and the upper bit of 2-bit cells. */
void cells_fill_bits(const struct cells *c, double fill[2]);

#endif
