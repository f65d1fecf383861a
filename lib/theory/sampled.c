/* theory/sampled.c - see sampled.h. */
#include "theory/sampled.h"

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

double sampled_error_rsbf(uint64_t k, double p_star)
{
    return k == 1 ? 1 - 1 / (exp(1) - log(p_star)) : pow(1 - exp(-1), (double)k);
}

double sampled_error_rsbf_tables(uint64_t k, double p_star)
{
    (void)p_star;
    return pow(0.5, (double)k);
}

/* With y = X^(1/k): y grows by (1-X)(1 - lost y) / s per arrival; in RSBF by 1/m of
 * that, from arrival s on, until s/m falls below p*. */
static double paper_slope(const struct sampled *f, double t, double y)
{
    bool reservoir = f->kind == SAMPLED_RSBF || f->kind == SAMPLED_RSBF_TABLES;
    double lost = f->kind == SAMPLED_BSBFSD ? 1 / (double)f->k : f->kind == SAMPLED_RLBSBF ? y : 1;
    double slower = reservoir && f->bits > f->p_star * t ? fmax(t, f->bits) : f->bits;

    return (1 - pow(y, (double)f->k)) * (1 - lost * y) / slower;
}

double sampled_paper(const struct sampled *f, double n)
{
    bool reservoir = f->kind == SAMPLED_RSBF || f->kind == SAMPLED_RSBF_TABLES;
    double t = 0, y = 0, end = fmin(n, 1e6 * f->bits);

    if (reservoir) { /* the first s are inserted, and nothing is cleared */
        t = fmin(n, f->bits);
        y = -expm1(-t / f->bits);
    }
    while (t < end) {
        double h = fmin(end - t, fmax(t, f->bits) / 64);
        double half = y + h / 2 * paper_slope(f, t, y);

        y = fmin(y + h * paper_slope(f, t + h / 2, fmin(half, 1)), 1);
        t += h;
    }
    return pow(y, (double)f->k);
}
