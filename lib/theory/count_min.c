/* count_min.c - see count_min.h. */
#include "theory/count_min.h"

#include <math.h>

#define E 2.718281828459045

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
