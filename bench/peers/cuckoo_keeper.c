/* cuckoo_keeper.c - Cuckoo Heavy Keeper; see cuckoo_keeper.h. */
#include "peers/cuckoo_keeper.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"

#define HEAVY 3
#define ENTRY_BYTES 6 /* fingerprint and count, packed */
#define KEY_BYTES 88  /* as a key of "heavykeeper" */
#define PROMOTED 16
#define BASE 1.08
#define KICKS 8

struct entry {
    uint16_t print;
    uint32_t count; /* 0: empty */
};

struct bucket {
    struct entry lobby, heavy[HEAVY];
};

struct cuckoo_keeper {
    size_t buckets, keys;
    uint64_t arrivals;
    struct bucket *bucket;
    struct stored_key *stored;
};

struct cuckoo_keeper *keeper_open(size_t memory, size_t keys)
{
    struct cuckoo_keeper *k = calloc(1, sizeof *k);

    k->keys = keys;
    k->buckets = (memory - keys * KEY_BYTES) / ((HEAVY + 1) * ENTRY_BYTES);
    k->bucket = calloc(k->buckets, sizeof *k->bucket);
    k->stored = calloc(keys, sizeof *k->stored);
    return k;
}

void keeper_close(struct cuckoo_keeper *k)
{
    free(k->bucket);
    free(k->stored);
    free(k);
}

/* The other of a key's two buckets, from one of them and the fingerprint. */
static size_t other_bucket(const struct cuckoo_keeper *k, size_t bucket, uint16_t print)
{
    size_t shift = bits_fold(print + 1u, RNG_STEP) % k->buckets;

    return (k->buckets + shift - bucket) % k->buckets;
}

static struct entry *find_heavy(struct bucket *b, uint16_t print)
{
    for (int i = 0; i < HEAVY; i++)
        if (b->heavy[i].count && b->heavy[i].print == print)
            return &b->heavy[i];
    return NULL;
}

static struct entry *smallest_heavy(struct bucket *b)
{
    struct entry *min = &b->heavy[0];

    for (int i = 1; i < HEAVY; i++)
        if (b->heavy[i].count < min->count)
            min = &b->heavy[i];
    return min;
}

/* Insert an entry and move others; the last one evicted is dropped. */
static void place_heavy(struct cuckoo_keeper *k, size_t at, struct entry e)
{
    for (int kick = 0; kick < KICKS; kick++) {
        struct entry *place = smallest_heavy(&k->bucket[at]), out = *place;

        if (out.count >= e.count)
            return;
        *place = e;
        if (!out.count)
            return;
        e = out;
        at = other_bucket(k, at, e.print);
    }
}

static void promote(struct cuckoo_keeper *k, size_t first, size_t second)
{
    struct bucket *b = &k->bucket[first];
    struct entry *own = smallest_heavy(b), *other = smallest_heavy(&k->bucket[second]);

    if (own->count && !other->count)
        *other = b->lobby;
    else if (own->count < b->lobby.count)
        place_heavy(k, first, b->lobby);
    else
        return;
    b->lobby = (struct entry){0};
}

static uint32_t wait_in_lobby(struct cuckoo_keeper *k, size_t first, size_t second, uint16_t print)
{
    struct entry *lobby = &k->bucket[first].lobby;
    struct rng r = rng_at(1, k->arrivals);

    if (lobby->count && lobby->print != print) {
        double draw = (double)(rng_next(&r) >> 11) * 0x1p-53;

        lobby->count -= draw < pow(BASE, -(double)lobby->count);
        if (lobby->count)
            return 0;
    }
    *lobby = (struct entry){print, lobby->count + 1};
    uint32_t count = lobby->count;
    if (count >= PROMOTED)
        promote(k, first, second);
    return count;
}

static void store_key(struct cuckoo_keeper *k, uint64_t id, uint32_t count)
{
    struct stored_key *min = k->stored;

    for (size_t i = 0; i < k->keys; i++) {
        if (k->stored[i].id == id && k->stored[i].count) {
            k->stored[i].count = count;
            return;
        }
        if (k->stored[i].count < min->count)
            min = &k->stored[i];
    }
    if (count > min->count)
        *min = (struct stored_key){id, count};
}

void keeper_add(struct cuckoo_keeper *k, uint64_t id)
{
    uint64_t hash = bits_fold(id + 1, RNG_STEP), more = bits_fold(hash, id | 1);
    uint16_t print = (uint16_t)more;
    size_t first = (size_t)bits_scale(hash, k->buckets), second = other_bucket(k, first, print);
    struct entry *heavy = find_heavy(&k->bucket[first], print);

    k->arrivals++;
    heavy = heavy ? heavy : find_heavy(&k->bucket[second], print);
    uint32_t count = heavy ? ++heavy->count : wait_in_lobby(k, first, second, print);
    if (count)
        store_key(k, id, count);
}

const struct stored_key *keeper_list(const struct cuckoo_keeper *k, size_t *n)
{
    *n = k->keys;
    return k->stored;
}
