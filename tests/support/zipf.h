/* zipf.h - draws from n ranks with probability proportional to (rank + 1)^-alpha; alpha 0 is
 * uniform. */
#ifndef WEIR_TESTS_SUPPORT_ZIPF_H
#define WEIR_TESTS_SUPPORT_ZIPF_H

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* Cumulative weights of the ranks, to be freed. NULL if there is no memory. */
static inline double *zipf_sums(size_t n, double alpha)
{
    double *sums = calloc(n, sizeof *sums), sum = 0;

    for (size_t i = 0; sums && i < n; i++)
        sums[i] = sum += pow((double)(i + 1), -alpha);
    return sums;
}

/* The rank (from 0) for a random number in [0, 1). */
static inline size_t zipf_draw(const double *sums, size_t n, double random)
{
    size_t low = 0, high = n - 1;
    double at = random * sums[high];

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (sums[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

#endif
