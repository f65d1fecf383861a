/* sketch.c - text -> sketch.
 *
 * Fast similarity sketching (Dahlgaard, Knudsen, Thorup: "Fast similarity sketching", FOCS 2017):
 * each round hashes every shingle into a bin, and a bin keeps the least hash of the first round
 * that reached it. Rounds end when no bin is empty. Long texts need one round. Two texts agree in
 * a bin with a probability equal to their Jaccard similarity J, and with smaller variance than
 * independent minima.
 *
 * The signature has two bits per bin, so that different minima agree by chance in a quarter of
 * the bins: equal bins / NEAR_BINS is about 1/4 + 3/4 J. Bands hash groups of whole minima. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "near/inside.h"

#define EMPTY UINT64_MAX
#define ROUNDS 128 /* after these, each empty bin uses a separate hash */
#define FRESH 256  /* shingles per call */
#define KEPT 8192  /* different shingles that later rounds read */
#define MIDDLE 30  /* of the bits of a minimum: high ones are mostly 0, low ones mix few others */
#define BY_CHANCE 0.25
#define BAND_FACTOR UINT64_C(0x9E3779B97F4A7C15)

struct minima {
    uint64_t bin[NEAR_BINS];
};

static inline void put(struct minima *m, uint32_t bin, uint64_t value)
{
    m->bin[bin] = value < m->bin[bin] ? value : m->bin[bin];
}

static bool has_empty(const struct minima *m)
{
    for (int i = 0; i < NEAR_BINS; i++)
        if (m->bin[i] == EMPTY)
            return true;
    return false;
}

/* The high byte of a hash selects the bin, and the high byte of a value is the round. Shingles are
 * hashes already, so that one multiplication gives another one; its high bits depend on all. */
static void add_round(struct minima *m, const uint64_t *shingle, size_t n, uint64_t round)
{
    uint64_t factor = round ? near_mix(round) | 1 : 1;

#pragma GCC unroll 4
    for (size_t i = 0; i < n; i++) {
        uint64_t h = shingle[i] * factor;

        put(m, (uint32_t)(h >> 56), round << 56 | (h & UINT64_MAX >> 8));
    }
}

static void fill_rest(struct minima *m, const uint64_t *shingle, size_t n)
{
    for (uint64_t bin = 0; bin < NEAR_BINS; bin++) {
        if (m->bin[bin] != EMPTY)
            continue;
        for (size_t i = 0; i < n; i++) {
            uint64_t h = near_mix(shingle[i] ^ near_mix(bin + 1)) >> 8;

            put(m, (uint32_t)bin, (uint64_t)ROUNDS << 56 | h);
        }
    }
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static size_t drop_repeats(uint64_t *value, size_t n)
{
    size_t left = 0;

    qsort(value, n, sizeof *value, compare);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || value[i] != value[left - 1])
            value[left++] = value[i];
    return left;
}

/* Shingles are kept for later rounds while a bin is empty. Those after KEPT different ones are
 * ignored; the probability that a bin is empty then is 3e-12. */
static void find_minima(struct shingles *s, struct minima *m)
{
    uint64_t fresh[FRESH], kept[KEPT + FRESH];
    size_t n, used = 0;

    memset(m->bin, 0xFF, sizeof m->bin);
    while ((n = shingles_next(s, fresh, FRESH)) > 0) {
        add_round(m, fresh, n, 0);
        if (used > KEPT || !has_empty(m))
            continue;
        memcpy(kept + used, fresh, n * sizeof *fresh);
        used += n;
        if (used > KEPT)
            used = drop_repeats(kept, used);
    }
    for (uint64_t round = 1; round < ROUNDS && has_empty(m); round++)
        add_round(m, kept, used, round);
    fill_rest(m, kept, used);
}

void weir_near_sketch_text(const weir_near *n, const void *text, size_t size,
                           struct weir_near_sketch *out)
{
    struct shingles s;
    struct minima m;

    shingles_start(&s, text, size, n->options.shingle, n->seed);
    find_minima(&s, &m);
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < NEAR_BINS; i++)
        out->bits[i / 32] |= (m.bin[i] >> MIDDLE & 3) << i % 32 * 2;
    for (uint32_t i = 0; i < NEAR_BANDS; i++) {
        out->band[i] = i;
        for (uint32_t j = 0; j < n->rows; j++)
            out->band[i] = out->band[i] * BAND_FACTOR + m.bin[i * n->rows + j];
        out->band[i] = near_mix(out->band[i]);
    }
}

double near_equal_jaccard(int equal)
{
    double j = ((double)equal / NEAR_BINS - BY_CHANCE) / (1 - BY_CHANCE);

    return j < 0 ? 0 : j;
}

int near_equal_bins(const uint64_t *a, const uint64_t *b)
{
    int equal = NEAR_BINS;

    for (int i = 0; i < SIGNATURE; i++) {
        uint64_t differ = a[i] ^ b[i];

        equal -= __builtin_popcountll((differ | differ >> 1) & UINT64_C(0x5555555555555555));
    }
    return equal;
}

uint32_t near_equal_needed(double jaccard)
{
    return (uint32_t)ceil(NEAR_BINS * (BY_CHANCE + (1 - BY_CHANCE) * jaccard) - 1e-9);
}

double weir_near_similarity(const struct weir_near_sketch *a, const struct weir_near_sketch *b)
{
    return near_equal_jaccard(near_equal_bins(a->bits, b->bits));
}

double weir_near_error(double similarity)
{
    double p = BY_CHANCE + (1 - BY_CHANCE) * similarity;

    return sqrt(p * (1 - p) / NEAR_BINS) / (1 - BY_CHANCE);
}
