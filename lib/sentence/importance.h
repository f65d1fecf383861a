/* importance.h - how much an arrival matters -> a class from 1 to M.
 *
 *   none        all alike: of the top class
 *   range       linear over a declared lo-hi; what lies outside is cut off
 *   log         by its logarithm
 *   percentile  by rank among the recent arrivals
 *   capped      linear from 0 to the recent 90th percentile, all above in M
 *
 * Percentile and capped look at a running sample: a sorted list of values, in which
 * from time to time a random one gives way to the newest. It is part of the
 * saved state. */
#ifndef WEIR_SENTENCE_IMPORTANCE_H
#define WEIR_SENTENCE_IMPORTANCE_H

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "base/text.h"

enum importance_mode {
    IMPORTANCE_NONE,
    IMPORTANCE_LOG,
    IMPORTANCE_PERCENTILE,
    IMPORTANCE_CAPPED,
    IMPORTANCE_RANGE
};

struct importance {
    enum importance_mode mode;
    uint32_t lo, hi; /* of the declared range */
};

#define SAMPLE_SIZE 256   /* a percentile is known to within 3 points (one sigma) */
#define SAMPLE_EVERY 16   /* arrivals per replacement, once the sample is full, */
#define SAMPLE_RARELY 256 /* and once it can stand for so many arrivals: */
#define SAMPLE_LONG (SAMPLE_SIZE * SAMPLE_RARELY)

struct sample {
    uint32_t n;
    uint32_t value[SAMPLE_SIZE]; /* ascending */
};

bool importance_read(struct span text, struct importance *out);
void importance_write(struct text *t, const struct importance *imp);

static inline bool importance_samples(const struct importance *imp)
{
    return imp->mode == IMPORTANCE_PERCENTILE || imp->mode == IMPORTANCE_CAPPED;
}

/* The class of a value, 1..top. An empty sample puts everything in the middle
 * class (percentile) or the top one (capped). */
uint32_t importance_class(const struct importance *imp, const struct sample *s, uint32_t value,
                          uint32_t top);

/* The least value of each class: many values are classed by it faster than one by one. */
#define CLASSES_MOST 64

struct steps {
    uint32_t top;                /* no value is of a class above */
    uint32_t from[CLASSES_MOST]; /* of class i + 1; ascending */
};

/* False if it cannot be told: too many classes, or the sample is not full. */
bool importance_steps(const struct importance *imp, const struct sample *s, uint32_t top,
                      struct steps *out);

/* How many of 32 steps are not above a value. */
#if defined __AVX512F__
static inline uint32_t steps_below(const uint32_t from[32], uint32_t value)
{
    __m512i all = _mm512_set1_epi32((int)value);
    uint32_t low = _mm512_cmple_epu32_mask(_mm512_loadu_si512(from), all);
    uint32_t high = _mm512_cmple_epu32_mask(_mm512_loadu_si512(from + 16), all);

    return (uint32_t)__builtin_popcount(low | high << 16);
}
#elif defined __AVX2__
static inline uint32_t steps_below(const uint32_t from[32], uint32_t value)
{
    const __m256i *steps = (const __m256i *)(const void *)from, all = _mm256_set1_epi32((int)value);
    __m256i reached[4];

    for (int i = 0; i < 4; i++)
        reached[i] = _mm256_cmpeq_epi32(_mm256_max_epu32(_mm256_loadu_si256(steps + i), all), all);
    return (uint32_t)__builtin_popcount((uint32_t)_mm256_movemask_epi8(_mm256_packs_epi16(
        _mm256_packs_epi32(reached[0], reached[1]), _mm256_packs_epi32(reached[2], reached[3]))));
}
#else
static inline uint32_t steps_below(const uint32_t from[32], uint32_t value)
{
    uint32_t below = 0;

    for (uint32_t half = 16; half > 0; half /= 2) /* a branch would be guessed wrong */
        below += half & -(uint32_t)(from[below + half - 1] <= value);
    return below + (from[below] <= value);
}
#endif

/* The same as importance_class(). */
static inline uint32_t steps_class(const struct steps *s, uint32_t value)
{
    uint32_t class = steps_below(s->from, value);

    if (s->top > 32)
        class += steps_below(s->from + 32, value);
    return class < s->top ? class : s->top;
}

/* Does the sample change with this arrival? */
static inline bool sample_draws(const struct sample *s, uint64_t arrival)
{
    return s->n < SAMPLE_SIZE ||
           arrival % (arrival < SAMPLE_LONG ? SAMPLE_EVERY : SAMPLE_RARELY) == 0;
}

/* The 90th percentile, or 0 of an empty sample. */
static inline uint32_t sample_cap(const struct sample *s)
{
    return s->n ? s->value[s->n * 9 / 10] : 0;
}

/* Let the sample see one more arrival. */
void sample_take(struct sample *s, uint32_t value, uint64_t arrival, uint64_t seed);
bool sample_valid(const struct sample *s);

#endif
