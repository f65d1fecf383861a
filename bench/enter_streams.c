/* enter_streams.c - twelve kinds of streams with random parameters, for bench/enter. */
#include "enter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support/zipf.h"

/* ---- random numbers ---- */

static double even(struct rng *r)
{
    return (double)(rng_next(r) >> 11) / 9007199254740992.0;
}

static double between(struct rng *r, double lo, double hi)
{
    return lo + even(r) * (hi - lo);
}

/* Log-uniform. */
static double spread(struct rng *r, double lo, double hi)
{
    return lo * pow(hi / lo, even(r));
}

static double normal(struct rng *r)
{
    return sqrt(-2 * log(1 - even(r))) * cos(6.283185307179586 * even(r));
}

struct zipf {
    double *sums;
    size_t n;
};

static struct zipf zipf_open(double alpha, double n)
{
    struct zipf z = {zipf_sums((size_t)n, alpha), (size_t)n};

    if (!z.sums)
        die("no memory");
    return z;
}

static size_t draw_rank(const struct zipf *z, struct rng *r)
{
    return zipf_draw(z->sums, z->n, even(r));
}

/* ---- kinds ---- */

/* Zipf keys. Either constant, or replaced gradually, or all replaced from time to time. */
static void popular(struct keys *k, struct rng *r, double replaced_per_key, double all_after)
{
    struct zipf z = zipf_open(between(r, 0.4, 1.3), spread(r, 3000, 300000));

    for (size_t i = 0; i < k->n; i++) {
        uint64_t rank = draw_rank(&z, r), age = (uint64_t)((double)i * replaced_per_key);

        age = (age + rank * RNG_STEP % z.n) / z.n + (uint64_t)((double)i / all_after);
        k->key[i] = age << 32 | rank;
    }
    free(z.sums);
}

static void zipf_keys(struct keys *k, struct rng *r)
{
    popular(k, r, 0, INFINITY);
}

static void drift(struct keys *k, struct rng *r)
{
    popular(k, r, spread(r, 0.02, 2), INFINITY);
}

static void replaced(struct keys *k, struct rng *r)
{
    popular(k, r, 0, spread(r, 5000, 200000));
}

/* Popular keys mixed with keys that occur once, singly or in scans. */
static void among_new(struct keys *k, struct rng *r, double run)
{
    struct zipf z = zipf_open(between(r, 0.6, 1.2), spread(r, 3000, 200000));
    double share = between(r, 0.1, 0.9), begin = share / run / (1 - share);
    double left = 0;

    for (size_t i = 0; i < k->n; i++) {
        if (left < 1 && even(r) < begin)
            left += run;
        k->key[i] = left >= 1 ? UINT64_C(1) << 40 | i : draw_rank(&z, r);
        left -= left >= 1;
    }
    free(z.sums);
}

static void fresh(struct keys *k, struct rng *r)
{
    among_new(k, r, 1);
}

static void scans(struct keys *k, struct rng *r)
{
    among_new(k, r, spread(r, 500, 30000));
}

/* Popular keys mixed with a list that is repeated. */
static void loops(struct keys *k, struct rng *r)
{
    struct zipf z = zipf_open(between(r, 0.6, 1.2), spread(r, 5000, 100000));
    double share = between(r, 0.1, 0.9);
    uint64_t length = (uint64_t)spread(r, 2000, 100000), at = 0;

    for (size_t i = 0; i < k->n; i++)
        k->key[i] = even(r) < share ? UINT64_C(1) << 40 | at++ % length : draw_rank(&z, r);
    free(z.sums);
}

/* A new key, or the key of an earlier record at a random distance. */
static void repeated(struct keys *k, struct rng *r, int kind)
{
    double share = between(r, 0.1, 0.9), reach = spread(r, 500, kind == 2 ? 20000 : 120000);

    for (size_t i = 0; i < k->n; i++) {
        double ago = kind == 0   ? -log(1 - even(r)) * reach
                     : kind == 1 ? even(r) * reach
                                 : reach * exp(1.5 * normal(r));

        k->key[i] = even(r) < share || ago >= (double)i ? i : k->key[i - 1 - (size_t)ago];
    }
}

static void fading(struct keys *k, struct rng *r)
{
    repeated(k, r, 0);
}

static void window(struct keys *k, struct rng *r)
{
    repeated(k, r, 1);
}

static void long_tail(struct keys *k, struct rng *r)
{
    repeated(k, r, 2);
}

/* Keys that occur a fixed number of times with random gaps around one length. An occurrence moves
 * to the next free position. */
static void several_times(struct keys *k, struct rng *r)
{
    double share = spread(r, 0.05, 1), gap = spread(r, 1000, 60000), sigma = between(r, 0.3, 1.8);
    uint64_t times = 2 + (uint64_t)(even(r) * even(r) * 12);

    memset(k->key, 0xff, k->n * sizeof *k->key);
    for (size_t i = 0; i < k->n; i++) {
        if (k->key[i] != UINT64_MAX)
            continue;
        k->key[i] = i;
        if (even(r) >= share)
            continue;
        double at = (double)i;
        for (uint64_t j = 1; j < times; j++) {
            at += 1 + gap * exp(sigma * normal(r));
            size_t free_one = at < (double)k->n ? (size_t)at : k->n;
            while (free_one < k->n && k->key[free_one] != UINT64_MAX)
                free_one++;
            if (free_one < k->n)
                k->key[free_one] = i;
        }
    }
}

static void bursts(struct keys *k, struct rng *r)
{
    struct zipf z = zipf_open(between(r, 0.4, 1.2), spread(r, 5000, 200000));
    uint64_t active[16], length = 2 + (uint64_t)(even(r) * 20);

    for (size_t i = 0; i < 16; i++)
        active[i] = draw_rank(&z, r);
    for (size_t i = 0; i < k->n; i++) {
        uint64_t which = rng_below(r, 16);

        k->key[i] = active[which];
        if (rng_below(r, length) == 0)
            active[which] = draw_rank(&z, r);
    }
    free(z.sums);
}

static void working_sets(struct keys *k, struct rng *r)
{
    uint64_t size = (uint64_t)spread(r, 500, 50000), lasts = (uint64_t)spread(r, 5000, 200000);

    for (size_t i = 0; i < k->n; i++)
        k->key[i] = even(r) < 0.3 ? UINT64_C(1) << 40 | i : i / lasts * size + rng_below(r, size);
}

static const struct {
    const char *name;
    void (*make)(struct keys *k, struct rng *r);
} kinds[] = {
    {"zipf", zipf_keys},      {"drift", drift},   {"replaced", replaced},
    {"fresh", fresh},         {"scans", scans},   {"loops", loops},
    {"fading", fading},       {"window", window}, {"long-tail", long_tail},
    {"times", several_times}, {"bursts", bursts}, {"working-sets", working_sets},
};

#define KINDS (sizeof kinds / sizeof *kinds)

struct keys keys_made(uint64_t seed, uint64_t number)
{
    struct rng r = rng_at(seed, number);
    struct keys k = {.n = (size_t)spread(&r, 40000, 600000)};

    snprintf(k.name, sizeof k.name, "%s-%d", kinds[number % KINDS].name, (int)(number / KINDS));
    k.key = must_allocate(k.n * sizeof *k.key);
    kinds[number % KINDS].make(&k, &r);
    return k;
}
