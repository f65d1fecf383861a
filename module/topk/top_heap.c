/* top_heap.c - counting an item, and the heap: see top_value.h. */
#include <string.h>

#include "server/server.h"
#include "topk/top_value.h"
#include "value/redisbloom.h"

/* ---- the index ---- */

static uint64_t hash_of(const struct top *t, struct weir_bytes item)
{
    return t->s ? weir_sketch_hash(t->s, item.data, item.size).lo
                : murmur32(item.data, item.size, 1919);
}

static uint64_t next_slot(const struct top *t, uint64_t slot)
{
    return slot + 1 < t->slots ? slot + 1 : 0;
}

static uint64_t home_slot(const struct top *t, uint64_t hash)
{
    return hash & (t->slots - 1);
}

static struct kept *find(const struct top *t, struct weir_bytes item, uint64_t hash)
{
    for (uint64_t i = home_slot(t, hash); t->index[i] > 0; i = next_slot(t, i)) {
        struct kept *e = &t->heap[t->index[i] - 1];

        if (e->hash == hash && e->size == item.size && memcmp(e->item, item.data, item.size) == 0)
            return e;
    }
    return NULL;
}

static void index_put(struct top *t, uint64_t place)
{
    uint64_t i = home_slot(t, t->heap[place].hash);

    while (t->index[i] > 0)
        i = next_slot(t, i);
    t->index[i] = (uint32_t)place + 1;
    t->heap[place].slot = (uint32_t)i;
}

/* Remove a slot: later ones move up, unless that is before their home slot. */
static void index_take(struct top *t, uint64_t place)
{
    uint64_t hole = t->heap[place].slot, mask = t->slots - 1;

    for (uint64_t i = next_slot(t, hole); t->index[i] > 0; i = next_slot(t, i)) {
        struct kept *e = &t->heap[t->index[i] - 1];

        if (((i - home_slot(t, e->hash)) & mask) < ((i - hole) & mask))
            continue;
        t->index[hole] = t->index[i];
        e->slot = (uint32_t)hole;
        hole = i;
    }
    t->index[hole] = 0;
}

void top_index(struct top *t)
{
    memset(t->index, 0, t->slots * sizeof *t->index);
    for (uint64_t i = 0; i < t->k; i++) {
        struct kept *e = &t->heap[i];

        if (!e->item)
            continue;
        if (t->s)
            e->hash = hash_of(t, (struct weir_bytes){e->item, e->size});
        index_put(t, i);
    }
}

/* ---- the heap ---- */

static void place(struct top *t, uint64_t at, struct kept e)
{
    t->heap[at] = e;
    if (e.item)
        t->index[e.slot] = (uint32_t)at + 1;
}

static void sift_down(struct top *t, uint64_t at)
{
    const struct kept *heap = t->heap;
    struct kept moving = heap[at];
    bool first = true;

    for (uint64_t child; (child = 2 * at + 1) < t->k; at = child, first = false) {
        if (child + 1 < t->k && heap[child].count > heap[child + 1].count)
            child++;
        if (first ? heap[child].count > moving.count : heap[child].count >= moving.count)
            break;
        place(t, at, heap[child]);
    }
    place(t, at, moving);
}

/* Without memory for a small item the server could not read a command either. Memory for a large
 * one is taken before it is counted, so that a command is not half done. */
#define LARGE 4096

static char *copy_of(struct weir_bytes item)
{
    char *copy = item.size < LARGE ? rm.Alloc(item.size ? item.size : 1) : rm.TryAlloc(item.size);

    if (copy)
        memcpy(copy, item.data, item.size);
    return copy;
}

uint64_t top_item_bytes(uint64_t size)
{
    uint64_t step = 16;

    while (size > 8 * step)
        step *= 2;
    return size <= step ? step : (size + step - 1) / step * step;
}

static void keep(struct top *t, struct weir_bytes item, char *copy, uint64_t hash, uint32_t count,
                 struct kept *expelled)
{
    *expelled = t->heap[0];
    if (expelled->item)
        index_take(t, 0);
    t->is.bytes +=
        top_item_bytes(item.size) - (expelled->item ? top_item_bytes(expelled->size) : 0);
    t->heap[0] = (struct kept){copy, hash, (uint32_t)item.size, count, 0};
    index_put(t, 0);
    sift_down(t, 0);
}

static uint64_t count_item(struct top *t, struct weir_bytes item, uint64_t hash, uint64_t amount)
{
    uint64_t count;

    if (!t->s)
        return buckets_add(t, item, (uint32_t)hash, amount);
    weir_sketch_add(t->s, item, amount);
    count = weir_sketch_ask(t->s, item).count;
    return count < UINT32_MAX ? count : UINT32_MAX;
}

bool top_add(struct top *t, struct weir_bytes item, uint64_t amount, struct kept *expelled)
{
    uint64_t hash = hash_of(t, item), count;
    char *copy = NULL;
    struct kept *e;

    *expelled = (struct kept){0};
    if (amount == 0)
        return true;
    if (item.size >= LARGE && !(copy = copy_of(item)))
        return false;
    count = count_item(t, item, hash, amount);
    e = count > 0 && count >= t->heap[0].count ? find(t, item, hash) : NULL;
    if (count == 0 || count < t->heap[0].count) {
        server_give(copy);
    } else if (e) {
        server_give(copy);
        e->count = (uint32_t)count;
        sift_down(t, (uint64_t)(e - t->heap));
    } else {
        keep(t, item, copy ? copy : copy_of(item), hash, (uint32_t)count, expelled);
    }
    return true;
}

/* ---- queries ---- */

bool top_has(const struct top *t, struct weir_bytes item)
{
    return find(t, item, hash_of(t, item));
}

uint64_t top_count(const struct top *t, struct weir_bytes item)
{
    if (t->s)
        return weir_sketch_ask(t->s, item).count;
    return buckets_count(t, item, top_has(t, item) ? t->heap[0].count : 0);
}

/* Merge sort, which is stable. */
static void sort(struct kept *list, struct kept *spare, size_t n)
{
    size_t half = n / 2, a = 0, b = half;

    if (n < 2)
        return;
    sort(list, spare, half);
    sort(list + half, spare, n - half);
    for (size_t i = 0; i < n; i++)
        spare[i] = b == n || (a < half && list[a].count >= list[b].count) ? list[a++] : list[b++];
    memcpy(list, spare, n * sizeof *list);
}

struct kept *top_sorted(const struct top *t, size_t *n)
{
    struct kept *list = server_take(2 * t->k * sizeof *list);

    *n = 0;
    for (uint64_t i = 0; list && i < t->k; i++)
        if (t->heap[i].item)
            list[(*n)++] = t->heap[i];
    if (list)
        sort(list, list + t->k, *n);
    return list;
}

/* ---- HeavyKeeper in RedisBloom's layout
 *
 * An item takes an empty bucket, adds to a bucket with its fingerprint, and decrements the count of
 * any other with probability decay^count per increment. At 0 it takes that bucket. The random
 * numbers are a sequence stored with the value, and powers are computed in integers, so that a
 * replica has the same bytes. ---- */

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
