/* prints.h - packed fingerprints of 1 to 32 bits, and the sizes of filters that consist of them.
 *
 * Fingerprint i begins at bit i * bits of a little-endian bit string, as the cells of base/cells.h
 * do. Each is read and written as an eight-byte word, so up to eight bytes after the last one are
 * read too. A cache line follows the cells of a handle; the checksums follow those of a file. */
#ifndef WEIR_FILTER_SETS_PRINTS_H
#define WEIR_FILTER_SETS_PRINTS_H

#include "base/cells.h"
#include "filter/config.h"

static inline uint64_t prints_mask(uint32_t bits)
{
    return (UINT64_C(1) << bits) - 1;
}

/* The word may cross a line boundary. */
static inline void prints_touch(const uint8_t *prints, uint32_t bits, uint64_t i)
{
    const uint8_t *p = prints + (i * bits >> 3);

    cells_fetch(p);
    if (bits != 8)
        cells_fetch(p + 7);
}

static inline uint32_t prints_get(const uint8_t *prints, uint32_t bits, uint64_t i)
{
    uint64_t bit = i * bits;

    return (uint32_t)(bits_load64(prints + (bit >> 3)) >> (bit & 7) & prints_mask(bits));
}

static inline void prints_set(uint8_t *prints, uint32_t bits, uint64_t i, uint32_t value)
{
    uint64_t bit = i * bits, shift = bit & 7;
    uint8_t *p = prints + (bit >> 3);
    uint64_t word = bits_load64(p);

    bits_store64(p, (word & ~(prints_mask(bits) << shift)) | (uint64_t)value << shift);
}

/* ---- sizes: memory=, capacity=, fpr= and bits= ---- */

/* The sizes of one kind of set. */
struct print_sizes {
    uint64_t (*memory)(uint64_t capacity, uint64_t bits); /* bits of memory for this many keys */
    double (*error)(uint64_t bits);                       /* false-positive rate when it is full */
};

/* Complete the configuration. capacity= and fpr= determine bits and memory. memory= is a limit;
 * with capacity= it determines the bits, with fpr= or bits= the capacity. */
bool print_bits_plan(struct config *c, const struct print_sizes *sizes, struct weir_error *error);

#endif
