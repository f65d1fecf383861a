/* buckets.c - HeavyKeeper in RedisBloom's layout: see top_value.h.
 *
 * An item takes an empty bucket, adds to a bucket with its fingerprint, and decrements the count of
 * any other with probability decay^count per increment. At 0 it takes that bucket. The random
 * numbers are a sequence stored with the value, and powers are computed in integers, so that a
 * replica has the same bytes. */
#include "topk/top_value.h"
#include "value/redisbloom.h"

/* SplitMix64. */
static uint64_t next_random(struct top *t)
{
    uint64_t z = t->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 product;

    return (uint64_t)((product)a * b >> 64);
}

/* decay^count in units of 2^-64. */
static uint64_t power(double decay, uint32_t count)
{
    uint64_t base, result = UINT64_MAX;

    if (decay >= 1)
        return UINT64_MAX;
    for (base = (uint64_t)(decay * 0x1p64); count > 0 && result > 0; count >>= 1) {
        if (count & 1)
            result = multiply(result, base);
        base = multiply(base, base);
    }
    return result;
}

static uint8_t *bucket(const struct top *t, uint64_t row, struct weir_bytes item)
{
    uint64_t column = murmur32(item.data, item.size, (uint32_t)row) % t->width;

    return t->buckets + 8 * (row * t->width + column);
}

/* Decrement another item's bucket up to `amount` times; returns the increments left at 0. */
static uint64_t decay_bucket(struct top *t, uint8_t *at, uint64_t amount)
{
    uint32_t count = load32(at + 4);
    uint64_t chance = power(t->decay, count);

    for (; amount > 0 && count > 0; amount--) {
        if (chance < UINT64_MAX && next_random(t) >= chance)
            continue;
        if (--count == 0)
            break;
        chance = power(t->decay, count);
    }
    store32(at + 4, count);
    return count == 0 ? amount : 0;
}

uint32_t buckets_add(struct top *t, struct weir_bytes item, uint32_t print, uint64_t amount)
{
    uint32_t most = 0;

    for (uint64_t i = 0; i < t->depth; i++) {
        uint8_t *at = bucket(t, i, item);
        uint64_t left = amount, count = load32(at + 4);

        if (count > 0 && load32(at) != print) {
            left = decay_bucket(t, at, amount);
            count = 0;
        }
        if (left == 0)
            continue;
        count = count + left < UINT32_MAX ? count + left : UINT32_MAX;
        store32(at, print);
        store32(at + 4, (uint32_t)count);
        most = (uint32_t)count > most ? (uint32_t)count : most;
    }
    return most;
}

uint32_t buckets_count(const struct top *t, struct weir_bytes item, uint32_t least)
{
    uint32_t print = murmur32(item.data, item.size, 1919), most = 0;

    for (uint64_t i = 0; i < t->depth; i++) {
        const uint8_t *at = bucket(t, i, item);
        uint32_t count = load32(at + 4);

        if (load32(at) == print && count >= least && count > most)
            most = count;
    }
    return most;
}
