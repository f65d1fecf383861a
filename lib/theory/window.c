/* theory/window.c - errors and sizes of two-buffer and apbf. See window.h. */
#include "theory/window.h"

#include <math.h>

#include "theory/sets.h"

/* P(a or b). Written as a sum because 1 - (1 - a)(1 - b) rounds to 0 below 1e-16. */
static double either(double a, double b)
{
    return a + b - a * b;
}

double two_buffer_error_at(const double fill[2], uint64_t k)
{
    return either(bloom_error_at(fill[0], k), bloom_error_at(fill[1], k));
}

/* Keys per cell inserted into a buffer of a given fill. False positives are not inserted: per
 * arriving key the fill x grows by k (1-x) / m, and 1 - x^k keys are inserted. */
static double inserted_at(double fill, uint64_t k)
{
    double inserted = 0, power = 1;

    for (uint64_t i = 1; i <= k; i++) {
        power *= fill;
        inserted += power / (double)i;
    }
    return inserted / (double)k;
}

static double fill_after(double inserted, uint64_t k)
{
    double lo = 0, hi = 1;

    for (int step = 0; step < 60; step++) {
        double fill = (lo + hi) / 2;

        if (inserted_at(fill, k) < inserted)
            lo = fill;
        else
            hi = fill;
    }
    return hi;
}

double two_buffer_period(double cells, double window, uint64_t k)
{
    return -log1p(-fill_after(window / cells, k)) * cells / (double)k;
}

/* Both buffers are full just before the older one is cleared. */
double two_buffer_error(double cells, double window, uint64_t k)
{
    double one = bloom_error_at(fill_after(window / cells, k), k);

    return either(one, one);
}

/* The error e of one buffer at which either(e, e) == error. */
static double error_of_one(double error)
{
    return error / (1 + sqrt(1 - error));
}

double two_buffer_window(double cells, double error, uint64_t k)
{
    return cells * inserted_at(pow(error_of_one(error), 1 / (double)k), k);
}

uint64_t two_buffer_best_k(double error)
{
    return bloom_best_k_for(error_of_one(error));
}

/* Extend a run by one slice. Returns the probability that it completes the first k adjacent
 * matches. run[a] is the probability that exactly the last a slices match and no k adjacent slices
 * matched before. */
static double extend_run(double *run, uint64_t k, double fill)
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
        found += extend_run(run, k, fill[i]);
    return found;
}

/* The fill of slice i, youngest first, at the end of a generation. */
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

uint64_t apbf_max_slices(double error, uint64_t k, uint64_t limit)
{
    double run[WINDOW_SLICES + 1] = {1}, found = 0;
    double fill, full = fill_of((double)k, apbf_generation((double)k, k), k, k);

    for (uint64_t i = 0; i < k + limit; i++) {
        fill = i < k ? fill_of((double)k, apbf_generation((double)k, k), k, i) : full;
        found += extend_run(run, k, fill);
        if (i >= k && found > error)
            return i - k;
    }
    return limit;
}

uint64_t apbf_min_k(double error, uint64_t l, uint64_t limit)
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
        *l = apbf_max_slices(error, k, l_limit);
        if (*l && bits_per_key(k, *l) < fewest)
            fewest = bits_per_key(k, *l);
    }
    for (uint64_t k = 1; k <= k_limit; k++) {
        *l = apbf_max_slices(error, k, l_limit);
        if (*l && bits_per_key(k, *l) <= fewest * 1.05)
            return k;
    }
    return 0;
}
