/* theory/bloom.c - see bloom.h. */
#include "bloom.h"

#include <math.h>

#define K_MOST 32

double bloom_error_at(double fill, uint64_t k)
{
    return pow(fill, (double)k);
}

double bloom_error(double cells, double keys, uint64_t k)
{
    return bloom_error_at(-expm1(-(double)k * keys / cells), k);
}

uint64_t bloom_best_k(double cells, double keys)
{
    double best = cells / keys * M_LN2;
    uint64_t k = best < 1 ? 1 : best > K_MOST ? K_MOST : (uint64_t)best;

    if (k < K_MOST && bloom_error(cells, keys, k + 1) < bloom_error(cells, keys, k))
        k++;
    return k;
}

double bloom_load(double error, uint64_t k)
{
    double root = log(error) / (double)k; /* of error^(1/k); of which near 1 nothing may be lost */

    return -(root < -M_LN2 ? log1p(-exp(root)) : log(-expm1(root))) / (double)k;
}

uint64_t bloom_best_k_for(double error)
{
    uint64_t k = 1;

    while (k < K_MOST && bloom_load(error, k + 1) > bloom_load(error, k))
        k++;
    return k;
}
