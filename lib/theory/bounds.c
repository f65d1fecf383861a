/* theory/bounds.c - see bounds.h. */
#include "theory/bounds.h"

#include <math.h>

#define E 2.718281828459045

/* The Kullback-Leibler divergence between the answers for members (seen with probability 1 - d) and
 * those for non-members (seen with probability e). */
static double bits_per_key(double e, double d)
{
    return (1 - d) * log2((1 - d) / e) + (d > 0 ? d * log2(d / (1 - e)) : 0);
}

/* The bound falls from log2(1/e) at d = 0 to 0 at d = 1 - e: bisect. */
double bound_fnr(double bits, double keys, double error)
{
    double lo = 0, hi = 1 - error;

    if (!(error > 0) || error >= 1)
        return NAN;
    if (bits / keys >= bits_per_key(error, 0))
        return 0;
    for (int i = 0; i < 100; i++) {
        double d = (lo + hi) / 2;

        if (bits_per_key(error, d) > bits / keys)
            lo = d;
        else
            hi = d;
    }
    return hi;
}

static double is_longer(void *context, double gap)
{
    return gap > *(const double *)context;
}

double bound_lru_fnr(const struct stream_model *m, double keys)
{
    double age = model_age(m, keys);

    return model_missed(m, is_longer, &age);
}

double count_min_width(double error)
{
    return ceil(E / error);
}

double count_min_depth(double confidence)
{
    double depth = ceil(-log1p(-confidence) - 1e-9);

    return depth < 1 ? 1 : depth;
}

double count_min_error(uint64_t width, uint64_t total)
{
    return ceil(E / (double)width * (double)total);
}

double count_min_confidence(uint64_t independent_rows)
{
    return -expm1(-(double)independent_rows);
}
