/* theory/limits.c - see limits.h. */
#include "theory/limits.h"

#include <math.h>

/* The divergence of the answers to members (seen with chance 1 - d) from those to
 * strangers (with chance e). */
static double bits_per_key(double e, double d)
{
    return (1 - d) * log2((1 - d) / e) + (d > 0 ? d * log2(d / (1 - e)) : 0);
}

/* It falls from log2(1/e) at d = 0 to nothing at d = 1 - e: by halves. */
double limit_fnr(double bits, double keys, double error)
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

double limit_lru(const struct stream_model *m, double keys)
{
    double age = model_age(m, keys);

    return model_missed(m, is_longer, &age);
}
