/* theory/window.c - see window.h. */
#include "theory/window.h"

#include <math.h>

#include "theory/bloom.h"

/* Written as a sum: 1 - (1 - a)(1 - b) would be 0 for what is below 1e-16. */
static double either(double a, double b)
{
    return a + b - a * b;
}

double two_buffer_error_at(const double fill[2], uint64_t k)
{
    return either(bloom_error_at(fill[0], k), bloom_error_at(fill[1], k));
}

/* Fresh keys that a buffer has taken when it is in use to this share, per cell.
 * Those it takes for seen it does not take, so it sees more than it takes: the
 * fill x grows by k (1-x) per key shown, of which 1 - x^k are taken. */
static double taken_at(double fill, uint64_t k)
{
    double taken = 0, power = 1;

    for (uint64_t i = 1; i <= k; i++) {
        power *= fill;
        taken += power / (double)i;
    }
    return taken / (double)k;
}

static double fill_after(double taken, uint64_t k)
{
    double lo = 0, hi = 1;

    for (int step = 0; step < 60; step++) {
        double fill = (lo + hi) / 2;

        if (taken_at(fill, k) < taken)
            lo = fill;
        else
            hi = fill;
    }
    return hi;
}

double two_buffer_shown(double cells, double window, uint64_t k)
{
    return -log1p(-fill_after(window / cells, k)) * cells / (double)k;
}

/* Both buffers full: the worst moment, just before the older one is emptied. */
double two_buffer_error(double cells, double window, uint64_t k)
{
    double one = bloom_error_at(fill_after(window / cells, k), k);

    return either(one, one);
}

/* The e at which either(e, e) is the error. */
static double of_one(double error)
{
    return error / (1 + sqrt(1 - error));
}

double two_buffer_window(double cells, double error, uint64_t k)
{
    return cells * taken_at(pow(of_one(error), 1 / (double)k), k);
}

uint64_t two_buffer_best_k(double error)
{
    return bloom_best_k_for(of_one(error));
}

/* One more slice is looked at: the chance that it completes k neighbours. run[a] =
 * chance that the last a slices looked at all had the key's bit, and no k neighbours
 * did before them. */
static double look_on(double *run, uint64_t k, double fill)
{
    double broken = 0, found = run[k - 1] * fill;

    for (uint64_t a = 0; a < k; a++)
        broken += run[a] * (1 - fill);
    for (uint64_t a = k - 1; a > 0; a--)
        run[a] = run[a - 1] * fill;
    run[0] = broken;
    return found;
}

double apbf_error_at(const double *fill, uint64_t k, uint64_t l)
{
    double run[WINDOW_SLICES + 1] = {1}, found = 0;

    for (uint64_t i = 0; i < k + l; i++)
        found += look_on(run, k, fill[i]);
    return found;
}

/* Of the i-th slice, youngest first, at the end of a generation. */
static double fill_of(double slice_bits, double generation, uint64_t k, uint64_t i)
{
    return -expm1(-(double)(i < k ? i + 1 : k) * generation / slice_bits);
}

double apbf_error(double slice_bits, double generation, uint64_t k, uint64_t l)
{
    double fill[WINDOW_SLICES];

    for (uint64_t i = 0; i < k + l; i++)
        fill[i] = fill_of(slice_bits, generation, k, i);
    return apbf_error_at(fill, k, l);
}

double apbf_generation(double slice_bits, uint64_t k)
{
    return slice_bits * M_LN2 / (double)k;
}

double apbf_error_half_full(uint64_t k, uint64_t l)
{
    return apbf_error((double)k, apbf_generation((double)k, k), k, l);
}

/* Slice after slice: with one more there is one more that can complete k. */
uint64_t apbf_most_slices(double error, uint64_t k, uint64_t limit)
{
    double run[WINDOW_SLICES + 1] = {1}, found = 0;
    double fill, full = fill_of((double)k, apbf_generation((double)k, k), k, k);

    for (uint64_t i = 0; i < k + limit; i++) {
        fill = i < k ? fill_of((double)k, apbf_generation((double)k, k), k, i) : full;
        found += look_on(run, k, fill);
        if (i >= k && found > error)
            return i - k;
    }
    return limit;
}

uint64_t apbf_least_k(double error, uint64_t l, uint64_t limit)
{
    uint64_t k = 1;

    while (k <= limit && apbf_error_half_full(k, l) > error)
        k++;
    return k <= limit ? k : 0;
}

static double bits_per_key(uint64_t k, uint64_t l)
{
    return (double)(k + l) * (double)k / (double)l;
}

uint64_t apbf_choose(double error, uint64_t k_limit, uint64_t l_limit, uint64_t *l)
{
    double fewest = INFINITY;

    for (uint64_t k = 1; k <= k_limit; k++) {
        *l = apbf_most_slices(error, k, l_limit);
        if (*l && bits_per_key(k, *l) < fewest)
            fewest = bits_per_key(k, *l);
    }
    for (uint64_t k = 1; k <= k_limit; k++) {
        *l = apbf_most_slices(error, k, l_limit);
        if (*l && bits_per_key(k, *l) <= fewest * 1.05)
            return k;
    }
    return 0;
}
