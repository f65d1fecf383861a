/* cuckoo.c - the cuckoo filter (Fan, Andersen, Kaminsky, Mitzenmacher 2014): a set whose keys can
 * be removed, with 12.6 bits per key at a false-positive rate of 0.2 %.
 *
 * Buckets of four fingerprints. A key has two buckets: the first from its hash, the other from the
 * first and the fingerprint, and vice versa:
 *
 *     other = (h(fingerprint) - bucket) mod buckets
 *
 * This works for any number of buckets; the paper's XOR needs a power of two. A key is seen if one
 * of its buckets contains its fingerprint. If both are full, an entry there moves to its own other
 * bucket, and so on. After 500 moves, all entries move back and the filter is full. That does not
 * happen below 95 % of the slots, which is the capacity= of the filter.
 *
 * Every insertion is stored, so a key inserted twice must be removed twice, and removing only keys
 * that were inserted never removes another key. A key can be stored eight times (four times if
 * both its buckets are the same one, which happens for one key in as many as there are buckets).
 * Keys inserted more than twice leave fewer possible moves, so the filter can be full below its
 * capacity. Insertions that were not stored are counted. At most as many members are missed later:
 * a removal takes the key's fingerprint, or an equal one in the same buckets.
 *
 * Cost: two cache lines per lookup, a third if a bucket crosses a line boundary (one in eleven of
 * 12 bits does); bits / 0.95 per key. In batches it takes 2 to 3 times as long as memory needs for
 * two lines if a line takes 8 ns, and 4 to 4.6 times if it takes 4 ns (bench/speed --memory 64).
 * 0.7 of this time are computation. */
#include "filter/filter.h"
#include "filter/sets/prints.h"
#include "theory/sets.h"

#define SLOTS 4
#define MOVES 500
#define BUCKETS_LOOKED_AT 65536 /* sampled to measure the error */
#define STORED 0                /* registers: insertions that are stored, */
#define OVERFLOW 1              /* and that were not */

/* ---- planning ---- */

/* 95 % of the slots, and six more buckets, because small filters vary more. Measured over seeds: of
 * sets of 15 to 50 keys one in 50,000 was full; of smaller and larger sets none. */
static uint64_t buckets_for(uint64_t capacity)
{
    return (capacity * 5 + 18) / 19 + 6;
}

static uint64_t memory_of(uint64_t capacity, uint64_t bits)
{
    uint64_t memory = (buckets_for(capacity) * SLOTS * bits + 7) / 8 * 8;

    return memory < MEMORY_MIN ? MEMORY_MIN : memory;
}

static double error_when_full(uint64_t bits)
{
    return cuckoo_error(bits, 0.95);
}

static bool plan(struct config *c, struct shape *s, struct weir_error *error)
{
    static const struct print_sizes sizes = {memory_of, error_when_full};

    if (!print_bits_plan(c, &sizes, error))
        return false;
    shape_planes(s, c, 1, 8);
    s->registers = 2;
    s->lines = 2;
    s->detail[0] = c->memory / (SLOTS * c->bits); /* buckets */
    return true;
}

static uint64_t buckets(const weir_filter *w)
{
    return w->shape.detail[0];
}

static uint64_t slots(const weir_filter *w)
{
    return buckets(w) * SLOTS;
}

/* ---- buckets ---- */

static inline uint64_t other_bucket(const weir_filter *w, uint64_t bucket, uint32_t print)
{
    uint64_t n = buckets(w), h = bits_scale(hash_word(print, 0, 3), n);

    return h >= bucket ? h - bucket : h + n - bucket;
}

/* The slot of a bucket that contains this fingerprint; SLOTS if none does. 0 is an empty slot. */
static inline uint32_t find(const weir_filter *w, uint64_t bucket, uint32_t print)
{
    uint32_t bits = (uint32_t)w->config.bits, i = 0;

    while (i < SLOTS && prints_get(w->cells, bits, bucket * SLOTS + i) != print)
        i++;
    return i;
}

/* Does one of the four slots contain this fingerprint? Up to 16 bits, the slots are in one word and
 * compared at once: a lane is zero if equal. */
static inline bool has(const weir_filter *w, uint64_t bucket, uint32_t print)
{
    uint32_t bits = (uint32_t)w->config.bits;

    if (bits > 16)
        return find(w, bucket, print) < SLOTS;
    uint64_t bit = bucket * SLOTS * bits;
    uint64_t ones = 1 | UINT64_C(1) << bits | UINT64_C(1) << 2 * bits | UINT64_C(1) << 3 * bits;
    uint64_t lanes = ones * prints_mask(bits);
    uint64_t differ = (bits_load64(w->cells + (bit >> 3)) >> (bit & 7) & lanes) ^ ones * print;

    return (differ - ones) & ~differ & ones << (bits - 1);
}

static inline bool put(weir_filter *w, uint64_t bucket, uint32_t print)
{
    uint32_t i = find(w, bucket, 0);

    if (i == SLOTS)
        return false;
    prints_set(w->cells, (uint32_t)w->config.bits, bucket * SLOTS + i, print);
    return true;
}

/* Replace the fingerprint in a slot. Returns the old one. */
static uint32_t swap(weir_filter *w, uint64_t slot, uint32_t print)
{
    uint32_t bits = (uint32_t)w->config.bits, old = prints_get(w->cells, bits, slot);

    prints_set(w->cells, bits, slot, print);
    return old;
}

/* Above 63 of 64 slots nearly every search for a free slot fails. */
static bool is_full(const weir_filter *w)
{
    return w->reg[STORED] >= slots(w) - slots(w) / 64;
}

/* Free a slot by moving other entries. If that fails, leave all as it was. */
static bool move_others(weir_filter *w, uint64_t bucket, uint32_t print, struct rng r)
{
    uint64_t path[MOVES];

    for (uint32_t i = 0; i < MOVES; i++) {
        path[i] = bucket * SLOTS + rng_below(&r, SLOTS);
        print = swap(w, path[i], print);
        bucket = other_bucket(w, bucket, print);
        if (put(w, bucket, print))
            return true;
    }
    for (uint32_t i = MOVES; i-- > 0;)
        print = swap(w, path[i], print);
    return false;
}

/* ---- a key ---- */

/* The fingerprint, from 1 on. Uses the upper bits of hi, because the lower ones select a shard. */
static inline uint32_t print_of(const weir_filter *w, struct weir_key key)
{
    return 1 + (uint32_t)bits_scale(key.hi, prints_mask((uint32_t)w->config.bits));
}

static inline void touch_bucket(const weir_filter *w, uint64_t bucket)
{
    uint64_t bits = SLOTS * w->config.bits, bit = bucket * bits;

    cells_fetch(w->cells + (bit >> 3));
    cells_fetch(w->cells + ((bit + bits - 1) >> 3));
}

static inline void prefetch(const weir_filter *w, struct arrival *a)
{
    uint32_t print = print_of(w, a->key);

    a->at[0] = bits_scale(a->key.lo, buckets(w));
    a->at[1] = other_bucket(w, a->at[0], print);
    a->at[2] = print;
    touch_bucket(w, a->at[0]);
    touch_bucket(w, a->at[1]);
}

static bool probe(const weir_filter *w, const struct arrival *a)
{
    uint32_t print = (uint32_t)a->at[2];

    return (int)has(w, a->at[0], print) | (int)has(w, a->at[1], print);
}

static inline void insert(weir_filter *w, const struct arrival *a, bool seen)
{
    uint32_t print = (uint32_t)a->at[2];
    struct rng r = arrival_rng(w, a);

    (void)seen; /* every insertion is stored */
    bool stored = put(w, a->at[0], print) || put(w, a->at[1], print) ||
                  (!is_full(w) && move_others(w, a->at[rng_below(&r, 2)], print, r));
    w->reg[stored ? STORED : OVERFLOW]++;
}

static bool forget(weir_filter *w, struct weir_key key)
{
    uint32_t print = print_of(w, key);
    uint64_t bucket = bits_scale(key.lo, buckets(w));

    for (int i = 0; i < 2; i++, bucket = other_bucket(w, bucket, print)) {
        uint32_t slot = find(w, bucket, print);

        if (slot == SLOTS)
            continue;
        swap(w, bucket * SLOTS + slot, 0);
        w->reg[STORED]--;
        return true;
    }
    return false;
}

static uint32_t count_in(const weir_filter *w, uint64_t bucket, uint32_t print)
{
    uint32_t bits = (uint32_t)w->config.bits, n = 0;

    for (uint32_t i = 0; i < SLOTS; i++)
        n += prints_get(w->cells, bits, bucket * SLOTS + i) == print;
    return n;
}

static uint32_t count(const weir_filter *w, struct weir_key key)
{
    uint32_t print = print_of(w, key);
    uint64_t bucket = bits_scale(key.lo, buckets(w)), other = other_bucket(w, bucket, print);

    return count_in(w, bucket, print) + (other != bucket ? count_in(w, other, print) : 0);
}

/* ---- statistics ---- */

static double fill(const weir_filter *w)
{
    return (double)w->reg[STORED] / (double)slots(w);
}

static uint32_t different_in(const weir_filter *w, uint64_t bucket)
{
    uint32_t bits = (uint32_t)w->config.bits, n = 0;

    for (uint32_t i = 0; i < SLOTS; i++) {
        uint32_t print = prints_get(w->cells, bits, bucket * SLOTS + i);

        n += print != 0 && find(w, bucket, print) == i;
    }
    return n;
}

/* A key that was inserted twice can cause only one false positive, so distinct fingerprints per
 * bucket are counted. */
static double error_now(const weir_filter *w)
{
    uint64_t all = buckets(w), n = all < BUCKETS_LOOKED_AT ? all : BUCKETS_LOOKED_AT, sum = 0;

    for (uint64_t i = 0; i < n; i++)
        sum += different_in(w, n == all ? i : bits_scale(i * (UINT64_MAX / n), all));
    return cuckoo_error(w->config.bits, (double)sum / (double)(n * SLOTS));
}

static uint64_t overflow(const weir_filter *w)
{
    return w->reg[OVERFLOW];
}

static const char *unmergeable(const struct config *c)
{
    (void)c;
    return "cuckoo filters cannot be merged: one cannot store the keys of two; add the keys of one "
           "to the other";
}

static bool check(const weir_filter *w)
{
    return w->reg[STORED] <= slots(w) && w->reg[STORED] <= w->observed;
}

/* Is the count of stored entries right, and is everything after the last slot zero? */
static bool check_cells(const weir_filter *w)
{
    uint32_t bits = (uint32_t)w->config.bits;
    uint64_t stored = 0, end = slots(w) * bits;

    for (uint64_t i = 0; i < slots(w); i++)
        stored += prints_get(w->cells, bits, i) != 0;
    for (uint64_t bit = end; bit < 8 * w->shape.cells; bit++)
        if (w->cells[bit >> 3] >> (bit & 7) & 1)
            return false;
    return stored == w->reg[STORED];
}

static bool predict(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p)
{
    return cuckoo_predict(c->bits, (double)c->capacity, (double)(s->detail[0] * SLOTS), m, p);
}

#define NO_VICTIMS /* the targets of moves are not known in advance */
#include "filter/loops.h"

const struct filter_ops filter_cuckoo = {
    .is.about = {"cuckoo", "cuckoo filter: fingerprints in buckets; keys can be removed",
                 WEIR_CAN_OBSERVE | WEIR_CAN_FORGET | WEIR_CAN_KEEP_ALL},
    .is.parameters =
        HAS_ALWAYS | HAS(PARAMETER_CAPACITY) | HAS(PARAMETER_FPR) | HAS(PARAMETER_BITS),
    .fill = fill,
    .overflow = overflow,
    .count = count,
    .forget = forget,
    .unmergeable = unmergeable,
    .check = check,
    .check_cells = check_cells,
    FILTER_FUNCTIONS,
};
