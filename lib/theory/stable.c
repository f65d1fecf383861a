/* theory/stable.c - the steady state of SBF and the IBF filters, and the choice of K and P. See
 * stable.h. */
#include "theory/stable.h"

#include <math.h>

#define K_MAX 32

void stable_shares(const double *mix, uint32_t top, double k, double decay, double *shares)
{
    double r = decay / k, at_least = 0, above = 0;

    for (uint32_t i = top; i > 0; i--) {
        at_least += mix[i];
        double t = (at_least + r * above) / (at_least + r);
        shares[i] = t - above;
        above = t;
    }
    shares[0] = 1 - above;
}

/* The expected number of cells lowered, if each draw finds one with this probability: E min(B, P),
 * B binomial. */
static double lowered(double decay, double chance)
{
    double draws = STABLE_TRIES * decay, mean = draws * chance;

    if (mean > 200) { /* B is nearly normal */
        double sigma = sqrt(mean * (1 - chance)), z = (decay - mean) / sigma;

        return mean - sigma * (exp(-z * z / 2) / sqrt(2 * M_PI) - z * erfc(z / M_SQRT2) / 2);
    }
    double exactly = exp(draws * log1p(-chance)), missing = 0;
    for (double found = 0; found < decay && (found < mean || exactly > 1e-18); found++) {
        missing += (decay - found) * exactly;
        exactly *= (draws - found) / (found + 1) * chance / (1 - chance);
    }
    return decay - missing;
}

double stable_draws(double decay, double chance)
{
    return chance > 1e-9 ? lowered(decay, chance) / chance : STABLE_TRIES * decay;
}

/* For ibf-h the equations are implicit in H. For a guess of H, with x = r / H (less if the draws
 * run out), each level follows from those above: A_i (1 - T_(i+1) - V_i) = V_i x / i. Returns the
 * resulting H. */
static double sweep_h(const double *mix, uint32_t top, double x, double *shares)
{
    double at_least = 0, above = 0, harmonic = 0;

    for (uint32_t i = top; i > 0; i--) {
        at_least += mix[i];
        shares[i] = at_least > 0 ? at_least * (1 - above) / (at_least + x / i) : 0;
        above += shares[i];
        harmonic += shares[i] / i;
    }
    shares[0] = 1 - above;
    return harmonic;
}

void stable_shares_h(const double *mix, uint32_t top, double k, double decay, double *shares)
{
    double lo = 1e-12, hi = 1 - 1e-12;

    for (int i = 0; i < 100; i++) {
        double guess = (lo + hi) / 2;

        if (sweep_h(mix, top, stable_draws(decay, guess) / k, shares) > guess)
            lo = guess;
        else
            hi = guess;
    }
}

double stable_empty(uint32_t top, double k, double decay, double cells)
{
    return pow(1 + 1 / (decay * (1 / k - 1 / cells)), -(double)top);
}

double stable_error_at(double fill, uint64_t k)
{
    return pow(fill, (double)k);
}

double stable_error(uint32_t top, uint64_t k, double decay, double cells)
{
    return stable_error_at(1 - stable_empty(top, (double)k, decay, cells), k);
}

struct stable stable_worst(bool harmonic, uint32_t top, double cells)
{
    struct stable s = {harmonic, top, cells, {0}};

    s.mix[top] = 1;
    return s;
}

double stable_error_of(const struct stable *s, uint64_t k, double decay)
{
    double shares[STABLE_CLASSES + 1], visits = 1 / (1 / (double)k - 1 / s->cells);

    (s->harmonic ? stable_shares_h : stable_shares)(s->mix, s->top, visits, decay, shares);
    return stable_error_at(1 - shares[0], k);
}

uint64_t stable_min_decay(const struct stable *s, double error, uint64_t k, uint64_t limit)
{
    uint64_t lo = 0, hi = limit;

    while (hi - lo > 1) {
        uint64_t mid = (lo + hi) / 2;

        if (stable_error_of(s, k, (double)mid) <= error)
            hi = mid;
        else
            lo = mid;
    }
    return hi;
}

double stable_printed_2c(uint32_t top, uint64_t k, double decay)
{
    double r = decay / (double)k;

    return stable_error_at(1 - pow(r / (r + 0.5), top / 2.0), k);
}

uint64_t stable_decay(double error, uint32_t top, uint64_t k, double cells)
{
    double empty = 1 - pow(error, 1 / (double)k);
    double p = 1 / ((pow(empty, -1 / (double)top) - 1) * (1 / (double)k - 1 / cells));

    return p < 1 ? 1 : p > 1e9 ? 1000000000 : (uint64_t)ceil(p - 1e-9);
}

/* The lifetime of a key in lowerings per cell, if no other key raises its cells: the mean time
 * until the first of K cells was lowered M times. life[K] = integral of Q^K, Q(x) = e^-x (1 + x +
 * ... + x^(M-1)/(M-1)!). */
static void lifetimes(uint32_t top, double *life)
{
    double sigma = sqrt(top), step = sigma / 100;

    for (uint64_t k = 0; k <= K_MAX; k++)
        life[k] = 0;
    for (double x = step / 2; x < top + 8 * sigma + 10; x += step) {
        double term = exp(-x), q = 0, power = step;

        for (uint32_t i = 1; i <= top; term *= x / i++)
            q += term;
        for (uint64_t k = 0; k <= K_MAX; k++, power *= q)
            life[k] += power;
    }
}

uint64_t stable_best_k(double error, uint32_t top, double cells)
{
    double life[K_MAX + 1], longest = 0;
    uint64_t best = 1;

    lifetimes(top, life);
    for (uint64_t k = 1; k <= K_MAX && (double)k < cells; k++) {
        double lifetime = life[k] / (double)stable_decay(error, top, k, cells);

        if (lifetime < longest * 0.999)
            continue; /* on a tie prefer the larger K: other keys refresh more of its cells */
        longest = lifetime;
        best = k;
    }
    return best;
}
