/* theory/recent.c - see recent.h. */
#include "theory/recent.h"

#include <math.h>

#define PUSHED_OUT 0.001 /* pushed out within their window */

double slots_error(uint32_t width, uint32_t n)
{
    return (double)n / ldexp(255, (int)width - 8);
}

uint32_t slots_most(double error, uint32_t width, uint32_t room)
{
    uint32_t n = room;

    while (n > 0 && slots_error(width, n) > error)
        n--;
    return n;
}

/* The chance that at least so many come, of a mean. */
static double at_least(uint32_t slots, double mean)
{
    double chance = exp(-mean), fewer = 0;

    for (uint32_t i = 0; i < slots; i++) {
        fewer += chance;
        chance *= mean / (i + 1);
    }
    return 1 - fewer;
}

double slots_lines(double keys, uint32_t slots)
{
    double lo = 0, hi = slots;

    for (int i = 0; i < 50; i++) {
        double mean = (lo + hi) / 2;

        if (at_least(slots, mean) < PUSHED_OUT)
            lo = mean;
        else
            hi = mean;
    }
    return ceil(keys / lo);
}
