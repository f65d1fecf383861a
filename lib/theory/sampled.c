/* theory/sampled.c - see sampled.h. */
#include "sampled.h"

#include <math.h>

/* The x in 0..1 at which x^first + ... + x^(first+k-1) = 1. */
static double root(uint64_t first, uint64_t k)
{
    double lo = 0, hi = 1;

    for (int step = 0; step < 60; step++) {
        double x = (lo + hi) / 2, sum = 0;

        for (uint64_t i = 0; i < k; i++)
            sum += pow(x, (double)(first + i));
        if (sum < 1)
            lo = x;
        else
            hi = x;
    }
    return (lo + hi) / 2;
}

double sampled_error_bsbf(uint64_t k)
{
    return pow(root(1, k), (double)k);
}

double sampled_error_rlbsbf(uint64_t k)
{
    return pow(root(2, k), (double)k);
}

double sampled_error_rsbf(uint64_t k)
{
    return pow(1 - exp(-1), (double)k);
}

double sampled_error_rsbf_tables(uint64_t k)
{
    return pow(0.5, (double)k);
}
