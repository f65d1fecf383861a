/* importance.h - maps the importance of a key to a class from 1 to M.
 *
 *   none        all keys are in the top class
 *   range       linear over a declared range lo-hi; values outside it are clamped
 *   log         by the logarithm
 *   percentile  by rank among recent arrivals
 *   capped      linear from 0 to the 90th percentile of recent arrivals; higher values are in M
 *
 * Percentile and capped use a running sample: a sorted list of values in which a random one is
 * regularly replaced by the newest. The sample is part of the saved state. */
#ifndef WEIR_SPEC_IMPORTANCE_H
#define WEIR_SPEC_IMPORTANCE_H

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
    uint32_t lo, hi; /* the declared range */
};

#define SAMPLE_SIZE 256   /* a percentile is accurate to 3 points (one sigma) */
#define SAMPLE_EVERY 16   /* arrivals per replacement when the sample is full, */
#define SAMPLE_RARELY 256 /* and when it represents this many arrivals: */
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

/* The class of a value, 1..top. With an empty sample it is the middle class (percentile) or the top
 * class (capped). */
uint32_t importance_class(const struct importance *imp, const struct sample *s, uint32_t value,
                          uint32_t top);

/* The minimum value of each class. Classifying many values with this table is faster than one by
 * one. */
#define CLASSES_MAX 64

struct steps {
    uint32_t top;               /* higher classes have no values */
    uint32_t from[CLASSES_MAX]; /* minimum of class i + 1; ascending */
    uint32_t fourth[2][4][8];   /* [h][i][j]: the minimum of class 32 h + 4 j + i + 1 */
};

/* Returns false if there are too many classes or the sample is not full. */
bool importance_steps(const struct importance *imp, const struct sample *s, uint32_t top,
                      struct steps *out);

/* How many of 32 minimums are not above a value. */
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

    for (uint32_t half = 16; half > 0; half /= 2) /* without branches: they would be mispredicted */
        below += half & -(uint32_t)(from[below + half - 1] <= value);
    return below + (from[below] <= value);
}
#endif

/* Returns the same as importance_class(). */
static inline uint32_t steps_class(const struct steps *s, uint32_t value)
{
    uint32_t class = steps_below(s->from, value);

    if (s->top > 32)
        class += steps_below(s->from + 32, value);
    return class < s->top ? class : s->top;
}

#if defined __AVX512F__
/* Add `more` to each n whose step is not above its value. */
static inline __m512i steps_more(__m512i n, __m512i step, __m512i values, int more)
{
    return _mm512_mask_add_epi32(n, _mm512_cmple_epu32_mask(step, values), n,
                                 _mm512_set1_epi32(more));
}

/* steps_below() of sixteen values at once: by eights, by twos, by ones. Within a round the
 * comparisons are independent, because one round waits for the result of another. */
static inline __m512i steps_below_each(const uint32_t from[32], __m512i values)
{
    const __m512i low = _mm512_loadu_si512(from), high = _mm512_loadu_si512(from + 16);
    __m512i eights = _mm512_setzero_si512(), twos, ones;

#define NTH(i) _mm512_set1_epi32((int)from[i])
#define AFTER(n, i) _mm512_permutex2var_epi32(low, _mm512_add_epi32(n, _mm512_set1_epi32(i)), high)
    eights = steps_more(eights, NTH(7), values, 8);
    eights = steps_more(eights, NTH(15), values, 8);
    eights = steps_more(eights, NTH(23), values, 8);
    twos = steps_more(eights, AFTER(eights, 1), values, 2);
    twos = steps_more(twos, AFTER(eights, 3), values, 2);
    twos = steps_more(twos, AFTER(eights, 5), values, 2);
    ones = steps_more(twos, AFTER(twos, 0), values, 1);
    return steps_more(ones, AFTER(twos, 1), values, 1);
#undef AFTER
#undef NTH
}

static inline size_t steps_classes_together(const struct steps *s, const uint32_t *values,
                                            uint32_t *classes, size_t n)
{
    size_t i = 0;

    for (; i + 16 <= n; i += 16) {
        __m512i sixteen = _mm512_loadu_si512(values + i);
        __m512i class = steps_below_each(s->from, sixteen);

        if (s->top > 32)
            class = _mm512_add_epi32(class, steps_below_each(s->from + 32, sixteen));
        _mm512_storeu_si512(classes + i, _mm512_min_epu32(class, _mm512_set1_epi32((int)s->top)));
    }
    return i;
}
#elif defined __AVX2__
/* steps_below() of eight values at once: by every fourth step, then by the three before it. */
static inline __m256i steps_below_each(const uint32_t fourth[4][8], __m256i values)
{
#define STEPS(i) _mm256_loadu_si256((const __m256i *)(const void *)fourth[i])
#define REACHED(i, n)                                                                              \
    _mm256_cmpeq_epi32(_mm256_max_epu32(_mm256_permutevar8x32_epi32(STEPS(i), n), values), values)
    const __m256i one = _mm256_set1_epi32(1);
    __m256i n = _mm256_and_si256(REACHED(3, _mm256_set1_epi32(3)), _mm256_set1_epi32(4));

    n = _mm256_add_epi32(
        n, _mm256_and_si256(REACHED(3, _mm256_add_epi32(n, one)), _mm256_set1_epi32(2)));
    n = _mm256_sub_epi32(n, REACHED(3, n));
    n = _mm256_sub_epi32(n, REACHED(3, n));
    __m256i below = _mm256_slli_epi32(n, 2);
    for (int i = 0; i < 3; i++)
        below = _mm256_sub_epi32(below, REACHED(i, n));
    return _mm256_min_epu32(below, _mm256_set1_epi32(32)); /* there are 32 steps */
#undef REACHED
#undef STEPS
}

static inline size_t steps_classes_together(const struct steps *s, const uint32_t *values,
                                            uint32_t *classes, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        __m256i eight = _mm256_loadu_si256((const __m256i *)(const void *)(values + i));
        __m256i class = steps_below_each(s->fourth[0], eight);

        if (s->top > 32)
            class = _mm256_add_epi32(class, steps_below_each(s->fourth[1], eight));
        _mm256_storeu_si256((__m256i *)(void *)(classes + i),
                            _mm256_min_epu32(class, _mm256_set1_epi32((int)s->top)));
    }
    return i;
}
#else
static inline size_t steps_classes_together(const struct steps *s, const uint32_t *values,
                                            uint32_t *classes, size_t n)
{
    (void)s, (void)values, (void)classes, (void)n;
    return 0;
}
#endif

/* steps_class() of n values; values and classes may be the same array. */
static inline void steps_classes(const struct steps *s, const uint32_t *values, uint32_t *classes,
                                 size_t n)
{
    for (size_t i = steps_classes_together(s, values, classes, n); i < n; i++)
        classes[i] = steps_class(s, values[i]);
}

/* Does the sample change at this arrival? */
static inline bool sample_draws(const struct sample *s, uint64_t arrival)
{
    return s->n < SAMPLE_SIZE ||
           arrival % (arrival < SAMPLE_LONG ? SAMPLE_EVERY : SAMPLE_RARELY) == 0;
}

/* The number of arrivals after this one before the sample changes. */
static inline uint64_t sample_rests(const struct sample *s, uint64_t arrival)
{
    uint64_t every = arrival + 1 < SAMPLE_LONG ? SAMPLE_EVERY : SAMPLE_RARELY;

    return s->n < SAMPLE_SIZE ? 0 : every - 1 - arrival % every;
}

/* The 90th percentile; 0 for an empty sample. */
static inline uint32_t sample_cap(const struct sample *s)
{
    return s->n ? s->value[s->n * 9 / 10] : 0;
}

/* Add an arrival to the sample, if it is drawn. */
void sample_take(struct sample *s, uint32_t value, uint64_t arrival, uint64_t seed);
bool sample_valid(const struct sample *s);

#endif
