/* theory/bloom.c - see bloom.h. */
#include "theory/bloom.h"

#include <math.h>

#define K_MOST 32
#define POINTS 512 /* an even number */

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

uint64_t bloom_k_below(uint64_t cells, uint64_t keys)
{
    double k = (double)cells / (double)keys * M_LN2;

    return k < 1 ? 1 : k > K_MOST ? K_MOST : (uint64_t)k;
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

/* The mean error over the keys 1..keys, by Simpson's rule. */
static double mean_error(double cells, double keys, uint64_t k)
{
    double sum = bloom_error(cells, keys, k);

    for (int i = 1; i < POINTS; i++)
        sum += (i % 2 ? 4 : 2) * bloom_error(cells, keys * i / POINTS, k);
    return sum / (3 * POINTS);
}

void bloom_predict(double cells, uint64_t k, const struct stream_model *m, struct prediction *p)
{
    double keys = model_distinct(m, m->n);

    p->fpr = isinf(keys) ? 1 : mean_error(cells, keys, k);
    p->fnr = keys < m->n * (1 - 1e-9) ? 0 : NAN;
    p->error = bloom_error(cells, keys, k);
    p->fill = -expm1(-(double)k * keys / cells);
    p->paper = p->error;
    p->gap_missed = 0;
}
