/* bloom.c - peers that consist of Bloom filters; see peers.h. */
#include "peers/peers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

#define K_MAX 40

uint64_t peer_word(struct weir_key key, uint32_t i)
{
    uint64_t x = key.lo + (i + 1) * (key.hi | 1);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static size_t place(struct weir_key key, uint32_t i, size_t cells)
{
    return (size_t)bits_scale(peer_word(key, i), cells);
}

/* ---- epochs ---- */

struct epoch {
    size_t segments, cells; /* bits in each */
    uint32_t k;
    double per_epoch; /* keys */
    size_t current, taken;
    uint8_t *bits; /* segment after segment */
};

/* Capacity of a segment of this many bits at this error rate, with the best k. */
static double epoch_keys(double cells, double error, uint32_t *best_k)
{
    double max = 0;

    for (uint32_t k = 1; k < K_MAX; k++) {
        double keys = -cells / k * log1p(-pow(error, 1.0 / k));

        if (keys > max) {
            max = keys;
            *best_k = k;
        }
    }
    return max;
}

static struct epoch epoch_of(double bits, double error, size_t r)
{
    struct epoch e = {.segments = r + 1, .cells = (size_t)(bits / (double)(r + 1))};

    e.per_epoch =
        floor(epoch_keys((double)e.cells, -expm1(log1p(-error) / (double)e.segments), &e.k));
    return e;
}

static void *epoch_start(struct epoch e, char *settings, size_t size)
{
    struct epoch *self = malloc(sizeof *self);

    *self = e;
    self->bits = calloc(e.segments, e.cells);
    snprintf(settings, size, "r=%zu k=%u live=%.0f", e.segments - 1, e.k,
             e.per_epoch * (double)(e.segments - 1));
    return self;
}

static void *epoch_open(double bits, double error, char *settings, size_t size)
{
    return epoch_start(epoch_of(bits, error, 8), settings, size);
}

static void *epoch_open_best(double bits, double error, char *settings, size_t size)
{
    struct epoch best = epoch_of(bits, error, 1);

    for (size_t r = 2; r <= 64; r++) {
        struct epoch e = epoch_of(bits, error, r);

        if (e.per_epoch * ((double)r + 0.5) > best.per_epoch * ((double)best.segments - 0.5))
            best = e;
    }
    return epoch_start(best, settings, size);
}

static void *epoch_open_14(double bits, double error, char *settings, size_t size)
{
    struct epoch e = epoch_of(bits, error, 8);

    e.per_epoch = floor(bits / 14 / 8);
    e.k = (uint32_t)lround((double)e.cells / e.per_epoch * M_LN2);
    return epoch_start(e, settings, size);
}

static void epoch_observe(void *self, struct weir_key key)
{
    struct epoch *e = self;

    if (e->taken++ >= (size_t)e->per_epoch) {
        e->current = (e->current + 1) % e->segments;
        memset(e->bits + e->current * e->cells, 0, e->cells);
        e->taken = 1;
    }
    for (uint32_t i = 0; i < e->k; i++)
        e->bits[e->current * e->cells + place(key, i, e->cells)] = 1;
}

static bool epoch_ask(const void *self, struct weir_key key)
{
    const struct epoch *e = self;

    for (size_t s = 0; s < e->segments; s++) {
        uint32_t i = 0;

        while (i < e->k && e->bits[s * e->cells + place(key, i, e->cells)])
            i++;
        if (i == e->k)
            return true;
    }
    return false;
}

static void epoch_close(void *self)
{
    free(((struct epoch *)self)->bits);
    free(self);
}

const struct peer peer_epoch = {"epoch", epoch_open, epoch_observe, epoch_ask, epoch_close};
const struct peer peer_epoch_best = {"epoch, best r", epoch_open_best, epoch_observe, epoch_ask,
                                     epoch_close};
const struct peer peer_epoch_14 = {"epoch, 14 bits", epoch_open_14, epoch_observe, epoch_ask,
                                   epoch_close};

/* ---- time-limited ---- */

struct timed {
    uint32_t k, slices;
    size_t cells, per_generation, taken;
    uint32_t youngest; /* circular: youngest, youngest + 1, ... are older and older */
    uint8_t *bits;
};

/* The probability that k adjacent slices of k + l have the bits of a new key. A slice is half full
 * after k generations; younger slices have fewer bits. */
static double timed_error(uint32_t k, uint32_t slices)
{
    double run[K_MAX + 1] = {1}, found = 0; /* by the length of the run so far */

    for (uint32_t s = 0; s < slices; s++) {
        double fill = s < k ? 1 - exp2(-(double)(s + 1) / k) : 0.5, all = 0;

        for (uint32_t i = 0; i < k; i++)
            all += run[i];
        found += run[k - 1] * fill;
        for (uint32_t i = k - 1; i > 0; i--)
            run[i] = run[i - 1] * fill;
        run[0] = all * (1 - fill);
    }
    return found;
}

static void *timed_open(double bits, double error, char *settings, size_t size)
{
    struct timed *t = calloc(1, sizeof *t);
    double max = 0;

    for (uint32_t k = 2; k < K_MAX; k++)
        for (uint32_t l = 1; l < 200 && timed_error(k, k + l) <= error; l++) {
            double generation = bits / (k + l) * M_LN2 / k;

            if (generation * (l + 0.5) > max) {
                max = generation * (l + 0.5);
                t->k = k;
                t->slices = k + l;
            }
        }
    t->cells = (size_t)(bits / t->slices);
    t->per_generation = (size_t)((double)t->cells * M_LN2 / t->k);
    t->bits = calloc(t->slices, t->cells);
    snprintf(settings, size, "k=%u l=%u generation=%zu", t->k, t->slices - t->k, t->per_generation);
    return t;
}

static void timed_observe(void *self, struct weir_key key)
{
    struct timed *t = self;

    if (t->taken++ >= t->per_generation) {
        t->youngest = (t->youngest + t->slices - 1) % t->slices;
        memset(t->bits + t->youngest * t->cells, 0, t->cells);
        t->taken = 1;
    }
    for (uint32_t i = 0; i < t->k; i++) {
        uint32_t slice = (t->youngest + i) % t->slices;

        t->bits[slice * t->cells + place(key, slice, t->cells)] = 1;
    }
}

static bool timed_ask(const void *self, struct weir_key key)
{
    const struct timed *t = self;
    uint32_t run = 0;

    for (uint32_t i = 0; i < t->slices && run < t->k; i++) {
        uint32_t slice = (t->youngest + i) % t->slices;

        run = t->bits[slice * t->cells + place(key, slice, t->cells)] ? run + 1 : 0;
    }
    return run == t->k;
}

static void timed_close(void *self)
{
    free(((struct timed *)self)->bits);
    free(self);
}

const struct peer peer_timed = {"time-limited", timed_open, timed_observe, timed_ask, timed_close};
