/* import.c - Bloom and cuckoo filters in RedisBloom's layout: see chain.h.
 *
 * Bloom filter. A key is two hashes a and b (weir_key.lo, .hi). Bit i of k is
 * ((a + i * b) mod 2^64) mod places. New filters have half the error rate of the one before.
 *
 * Cuckoo filter. A key is one hash h (weir_key.lo). Its fingerprint is h mod 255 + 1, its buckets
 * are h and h XOR (fingerprint * 5bd1e995), modulo the number of buckets. A bucket has s bytes, one
 * fingerprint each, 0 if free. Numbers of buckets are powers of two. */
#include <math.h>
#include <string.h>

#include "chain/chain.h"
#include "server/server.h"

enum { NO_ROUND = 1, FORCE_64 = 4, NO_SCALING = 8, OPTIONS_MAX = 15 };

#define BITS_PER_HALVING 0.480453013918201 /* ln(2)^2 */
#define LN_2 0.693147180559945
#define HASHES_MAX 2048 /* an error rate of 5e-324 needs 1075 */
#define HEAD_BLOOM 32   /* what RedisBloom reports for a chain and for each filter */
#define HEAD_CUCKOO 40
#define LINK_BLOOM 64
#define LINK_CUCKOO 16

void import_begin(struct chain *c, bool cuckoo)
{
    c->cuckoo = cuckoo;
    c->imported = true;
    c->tightening = 0.5;
}

/* ---- sizes ---- */

bool import_check(const struct chain *c, const struct link *l)
{
    return c->options <= OPTIONS_MAX && l->error > 0 && l->error < 1 && l->exponent <= 63 &&
           l->bits_per_item > 0 && (double)l->hashes == ceil(LN_2 * l->bits_per_item) &&
           l->hashes >= 1 && l->hashes <= HASHES_MAX && l->size > 0 &&
           l->size < UINT64_C(1) << 56 && l->places > 0 && l->places <= 8 * l->size;
}

bool import_size(const struct chain *c, uint64_t j, struct link *l)
{
    uint64_t buckets = c->asked;

    for (; j > 0; j--)
        if (__builtin_mul_overflow(buckets, c->growth, &buckets) || buckets > UINT64_C(1) << 55)
            return false;
    l->places = buckets;
    l->capacity = l->size = buckets * c->bucket_size;
    return true;
}

static void fit_bloom(uint64_t options, struct link *l)
{
    double bits;

    l->bits_per_item = fabs(log(l->error)) / BITS_PER_HALVING;
    l->hashes = (uint64_t)ceil(LN_2 * l->bits_per_item);
    bits = (double)l->capacity * l->bits_per_item;
    if (bits > 0x1p55)
        return;
    if (options & NO_ROUND) {
        l->places = bits < 1 ? 1 : (uint64_t)bits;
    } else {
        l->exponent = bits < 1 ? 1 : (uint64_t)floor(log2(bits)) + 1;
        l->places = UINT64_C(1) << l->exponent;
        l->capacity += (uint64_t)(floor((double)l->places - bits) / l->bits_per_item);
    }
    l->size = 8 * ((l->places + 63) / 64);
    if (l->exponent == 0)
        l->places = 8 * l->size;
}

bool import_next(const struct chain *c, struct link *l)
{
    const struct link *last = &c->links[c->n - 1];

    *l = (struct link){0};
    if (c->cuckoo)
        return c->growth > 0 && import_size(c, c->n, l);
    l->error = last->error * 0.5;
    if (__builtin_mul_overflow(last->capacity, c->growth, &l->capacity) || l->error < 1e-300)
        return false;
    l->capacity += l->capacity == 0;
    fit_bloom(c->options, l);
    return import_check(c, l);
}

uint64_t import_bytes(const struct chain *c)
{
    uint64_t bytes = c->cuckoo ? HEAD_CUCKOO : HEAD_BLOOM;

    for (uint32_t i = 0; i < c->n; i++)
        bytes += c->links[i].size + (c->cuckoo ? LINK_CUCKOO : LINK_BLOOM);
    return bytes;
}

/* ---- Bloom filters ---- */

static bool has_bits(const struct link *l, struct weir_key key)
{
    for (uint64_t i = 0, x = key.lo; i < l->hashes; i++, x += key.hi) {
        uint64_t bit = l->exponent > 0 ? x & (l->places - 1) : x % l->places;

        if (!(l->cells[bit / 8] & 1 << bit % 8))
            return false;
    }
    return true;
}

void import_set(struct link *l, struct weir_key key)
{
    for (uint64_t i = 0, x = key.lo; i < l->hashes; i++, x += key.hi) {
        uint64_t bit = l->exponent > 0 ? x & (l->places - 1) : x % l->places;

        l->cells[bit / 8] |= (uint8_t)(1 << bit % 8);
    }
}

/* ---- cuckoo filters ---- */

static uint8_t print_of(struct weir_key key)
{
    return (uint8_t)(key.lo % 255 + 1);
}

static uint64_t other(uint64_t bucket, uint8_t print)
{
    return bucket ^ (uint64_t)print * 0x5bd1e995;
}

/* RedisBloom truncates the position to 32 bits. */
static uint8_t *bucket_at(const struct chain *c, const struct link *l, uint64_t hash)
{
    return l->cells + (uint32_t)((hash & (l->places - 1)) * c->bucket_size);
}

static uint8_t *find_in(const struct chain *c, const struct link *l, uint64_t hash, uint8_t value)
{
    return memchr(bucket_at(c, l, hash), value, c->bucket_size);
}

/* A byte with this value in the first bucket, or else in the second. */
static uint8_t *find(const struct chain *c, const struct link *l, uint64_t hash, uint8_t print,
                     uint8_t value)
{
    uint8_t *at = find_in(c, l, hash, value);

    return at ? at : find_in(c, l, other(hash, print), value);
}

bool import_has(const struct chain *c, const struct link *l, struct weir_key key)
{
    uint8_t print = print_of(key);

    return c->cuckoo ? find(c, l, key.lo, print, print) != NULL : has_bits(l, key);
}

uint64_t import_count(const struct chain *c, struct weir_key key)
{
    uint8_t print = print_of(key);
    uint64_t count = 0;

    for (uint32_t i = 0; i < c->n; i++) {
        const uint8_t *first = bucket_at(c, &c->links[i], key.lo);
        const uint8_t *second = bucket_at(c, &c->links[i], other(key.lo, print));

        for (uint64_t j = 0; j < c->bucket_size; j++)
            count += (uint64_t)(first[j] == print) + (uint64_t)(second[j] == print);
    }
    return count;
}

static uint8_t swap(uint8_t *slot, uint8_t print)
{
    uint8_t before = *slot;

    *slot = print;
    return before;
}

/* Move fingerprints to their other buckets until one finds a free slot. If none does after `moves`
 * steps, undo all of them. */
static bool evict(struct chain *c, struct link *l, uint64_t hash, uint8_t print)
{
    uint64_t bucket = hash & (l->places - 1), victim = 0, i;
    uint8_t *slot;

    for (i = 0; i < c->moves; i++) {
        print = swap(bucket_at(c, l, bucket) + victim, print);
        bucket = other(bucket, print) & (l->places - 1);
        if ((slot = find_in(c, l, bucket, 0))) {
            *slot = print;
            return true;
        }
        victim = (victim + 1) % c->bucket_size;
    }
    while (i-- > 0) {
        victim = (victim + c->bucket_size - 1) % c->bucket_size;
        bucket = other(bucket, print) & (l->places - 1);
        print = swap(bucket_at(c, l, bucket) + victim, print);
    }
    return false;
}

static bool insert(struct chain *c, uint64_t hash, uint8_t print)
{
    for (uint32_t i = c->n; i > 0; i--) {
        uint8_t *slot = find(c, &c->links[i - 1], hash, print, 0);

        if (slot) {
            *slot = print;
            return true;
        }
    }
    return evict(c, &c->links[c->n - 1], hash, print);
}

bool import_insert(struct chain *c, struct weir_key key)
{
    bool good = insert(c, key.lo, print_of(key));

    c->items += good;
    return good;
}

bool import_remove(struct chain *c, struct weir_key key)
{
    uint8_t print = print_of(key);

    for (uint32_t i = c->n; i > 0; i--) {
        uint8_t *slot = find(c, &c->links[i - 1], key.lo, print, print);

        if (!slot)
            continue;
        *slot = 0;
        c->items -= c->items > 0;
        c->deleted++;
        if (c->n > 1 && c->deleted > c->items / 10)
            import_compact(c, false);
        return true;
    }
    return false;
}

/* Move the fingerprints of a bucket to older filters, oldest first. False if one stays. */
static bool empty_bucket(struct chain *c, uint32_t from, uint64_t bucket)
{
    uint8_t *slots = bucket_at(c, &c->links[from], bucket);
    bool all = true;

    for (uint64_t i = 0; i < c->bucket_size; i++) {
        uint8_t *slot = NULL;

        for (uint32_t j = 0; slots[i] != 0 && j < from && !slot; j++)
            slot = find(c, &c->links[j], bucket, slots[i], 0);
        if (slot)
            *slot = swap(&slots[i], 0);
        all = all && slots[i] == 0;
    }
    return all;
}

bool import_compact(struct chain *c, bool all)
{
    bool changed = c->deleted > 0;

    for (uint32_t i = c->n; i > 1; i--) {
        bool empty = true;

        for (uint64_t bucket = 0; bucket < c->links[i - 1].places; bucket++)
            empty = empty_bucket(c, i - 1, bucket) && empty;
        if (empty && i == c->n) {
            struct link *last = &c->links[--c->n];

            c->is.bytes -= last->bytes;
            c->capacity -= last->capacity;
            server_give(last->cells);
            changed = true;
        }
        if (!empty && !all)
            break;
    }
    c->deleted = 0;
    return changed || all;
}
