/* cuckoo.c - a cuckoo filter with time-to-live and LRU; see peers.h. */
#include "peers/peers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"

#define BUCKET 4
#define BESIDES 16   /* bits of a slot in addition to the fingerprint: age and counter */
#define PER_CLOCK 64 /* ticks in the time that fills every slot once: ages reach 4 times that */
#define OUTLIVED 192 /* ticks */

struct slot {
    uint32_t print; /* 0: empty */
    uint8_t renewed, count;
};

struct cuckoo {
    uint32_t print_bits;
    size_t buckets; /* any number: the two buckets of a key add up to a shift, modulo this */
    size_t arrivals;
    struct slot *slots;
};

static void *open_with(double bits, uint32_t print_bits, char *settings, size_t size)
{
    struct cuckoo *c = calloc(1, sizeof *c);

    c->print_bits = print_bits;
    c->buckets = (size_t)(bits / (BUCKET * (print_bits + BESIDES)));
    c->slots = calloc(c->buckets * BUCKET, sizeof *c->slots);
    snprintf(settings, size, "print=%u age=8 counter=8 bucket=%d", print_bits, BUCKET);
    return c;
}

static void *cuckoo_open(double bits, double error, char *settings, size_t size)
{
    return open_with(bits, (uint32_t)ceil(log2(2 * BUCKET / error + 1)), settings, size);
}

static void *cuckoo_open_16(double bits, double error, char *settings, size_t size)
{
    (void)error;
    return open_with(bits, 16, settings, size);
}

static uint32_t print_of(const struct cuckoo *c, struct weir_key key)
{
    uint32_t max = (uint32_t)((UINT64_C(1) << c->print_bits) - 1);

    return 1 + (uint32_t)(peer_word(key, 0) % max);
}

/* The first bucket comes from the key, the other from the first one and the fingerprint. */
static size_t bucket_of(const struct cuckoo *c, struct weir_key key, uint32_t print, int which)
{
    size_t first = (size_t)bits_scale(peer_word(key, 1), c->buckets);
    size_t shift = (size_t)(print * UINT64_C(0x9e3779b97f4a7c15) >> 20) % c->buckets;

    return which ? (c->buckets + shift - first) % c->buckets : first;
}

static struct slot *find(const struct cuckoo *c, struct weir_key key)
{
    uint32_t print = print_of(c, key);

    for (int which = 0; which < 2; which++) {
        struct slot *bucket = c->slots + BUCKET * bucket_of(c, key, print, which);

        for (int i = 0; i < BUCKET; i++)
            if (bucket[i].print == print)
                return &bucket[i];
    }
    return NULL;
}

static uint8_t now(const struct cuckoo *c)
{
    return (uint8_t)(c->arrivals * PER_CLOCK / (c->buckets * BUCKET));
}

static uint32_t age_of(const struct cuckoo *c, const struct slot *s)
{
    return s->print ? (uint8_t)(now(c) - s->renewed) : 256;
}

static void observe(void *self, struct weir_key key)
{
    struct cuckoo *c = self;
    struct slot *s = find(c, key);
    uint32_t print = print_of(c, key);

    c->arrivals++;
    if (s) {
        s->renewed = now(c);
        s->count += s->count < UINT8_MAX;
        return;
    }
    for (int which = 0; which < 2; which++) {
        struct slot *bucket = c->slots + BUCKET * bucket_of(c, key, print, which);

        for (int i = 0; i < BUCKET; i++)
            if (!s || age_of(c, &bucket[i]) > age_of(c, s))
                s = &bucket[i];
    }
    *s = (struct slot){print, now(c), 1};
}

static bool ask(const void *self, struct weir_key key)
{
    const struct slot *s = find(self, key);

    return s && age_of(self, s) <= OUTLIVED;
}

static void cuckoo_close(void *self)
{
    free(((struct cuckoo *)self)->slots);
    free(self);
}

const struct peer peer_cuckoo = {"cuckoo, ttl and lru", cuckoo_open, observe, ask, cuckoo_close};
const struct peer peer_cuckoo_16 = {"cuckoo, 16 bits", cuckoo_open_16, observe, ask, cuckoo_close};
