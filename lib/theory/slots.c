/* theory/slots.c - see slots.h. */
#include "slots.h"

#include <math.h>

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
