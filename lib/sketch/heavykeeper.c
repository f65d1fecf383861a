/* heavykeeper.c - the most frequent keys (HeavyKeeper: Yang et al. 2019; Redis Top-K uses it).
 *
 * d rows of w buckets. A bucket contains the fingerprint of a key and a count. A key that finds
 * its own fingerprint in its bucket raises the count. A key that finds another fingerprint
 * decrements the count with probability decay^count, and takes over the bucket when the count
 * reaches zero. Rare keys therefore leave frequent ones almost unchanged, and a frequent key wins
 * its bucket sooner or later. The estimate is the maximum count under a key's fingerprint. The
 * keys with the highest estimates are stored.
 *
 * There are no guarantees. A count misses the occurrences before the key won a bucket, and those
 * that other keys decremented. It is nearly always too low, on skewed streams by little. Two keys
 * with one bucket and fingerprint (probability 2^-32) are counted as one, too high. `top` has
 * error bounds; heavykeeper stores more frequent keys in little memory, and forgets keys that stop
 * occurring.
 *
 * An amount is that many occurrences. The number of attempts until the next decrement is drawn at
 * once, by bisecting the powers of the probability that none happens. After 44 / (1 - decay)
 * attempts that probability is below 2^-64. For a decay of 1 no draw is needed. Probabilities are
 * 64-bit fractions; draws depend on the number of the arrival.
 *
 * Cost: d cache lines of buckets, and three for a key that is stored. */
#include <string.h>

#include "base/rng.h"
#include "sketch/summary.h"

#define AHEAD 16 /* keys; a power of two */
#define DEPTH_DEFAULT 2
#define DECAY_DEFAULT 900000000 /* billionths */
#define DECAY_ALWAYS 1000000000 /* every attempt decrements */
#define DECAY_MAX 999900000     /* maximum below that; see wear_down() */
#define ROWS_MAX 16
#define FINGERPRINT (ROWS_MAX + 1) /* the word of the hash that it is taken from */

struct bucket {
    uint32_t fingerprint, count;
};

/* The own state. */
struct keeper {
    struct summary summary; /* first */
    struct bucket *buckets;
    uint64_t width;    /* buckets per row */
    uint64_t decay;    /* as a fraction of 2^64 */
    uint64_t arrivals; /* random numbers depend on them */
};

static struct keeper *keeper_of(const weir_sketch *s)
{
    return sketch_own(s);
}

static struct bucket *bucket_of(const weir_sketch *s, struct hash128 h, uint32_t row)
{
    const struct keeper *k = keeper_of(s);

    return &k->buckets[row * k->width + bits_scale(hash_word(h.lo, h.hi, row), k->width)];
}

static uint32_t fingerprint_of(struct hash128 h)
{
    return (uint32_t)(hash_word(h.lo, h.hi, FINGERPRINT) >> 32);
}

/* ---- probabilities: fractions of 2^64 ---- */

static uint64_t power(uint64_t base, uint64_t n)
{
    uint64_t product = UINT64_MAX;

    for (; n > 0 && product > 0; n >>= 1) {
        if (n & 1)
            product = bits_scale(product, base);
        base = bits_scale(base, base);
    }
    return product;
}

/* The number of attempts up to the first decrement, at most `tries`; 0 if none decrements. */
static uint64_t first_success(uint64_t none, uint64_t tries, uint64_t draw)
{
    uint64_t low = 0, high = tries;

    if (draw < (tries == 1 ? none : power(none, tries)))
        return 0;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (draw < power(none, middle))
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* ---- counting ---- */

/* A key occurs `amount` times in a bucket that belongs to another. */
static void wear_down(const weir_sketch *s, struct bucket *b, uint32_t fingerprint, uint64_t amount,
                      struct rng *r)
{
    if (s->config.decay == DECAY_ALWAYS && b->count > 0) {
        if (amount < b->count) {
            b->count -= (uint32_t)amount;
            return;
        }
        amount -= b->count - 1; /* the occurrence that took over is counted */
        b->count = 0;
    }
    while (b->count > 0) {
        uint64_t none = UINT64_MAX - power(keeper_of(s)->decay, b->count);
        uint64_t tries = first_success(none, amount, rng_next(r));

        if (tries == 0)
            return;
        amount -= tries;
        if (--b->count > 0 && amount == 0)
            return;
        amount += b->count == 0; /* the occurrence that took over is counted */
    }
    *b = (struct bucket){fingerprint, amount < UINT32_MAX ? (uint32_t)amount : UINT32_MAX};
}

/* Add a key to its buckets. Returns the new estimate. */
static uint32_t raise(weir_sketch *s, struct hash128 h, uint64_t amount)
{
    struct rng r = rng_at(s->config.seed, keeper_of(s)->arrivals++);
    uint32_t fingerprint = fingerprint_of(h), most = 0;

    for (uint32_t row = 0; row < s->config.depth; row++) {
        struct bucket *b = bucket_of(s, h, row);

        if (b->count > 0 && b->fingerprint == fingerprint)
            b->count = amount < UINT32_MAX - b->count ? b->count + (uint32_t)amount : UINT32_MAX;
        else
            wear_down(s, b, fingerprint, amount, &r);
        if (b->fingerprint == fingerprint && b->count > most)
            most = b->count;
    }
    return most;
}

static void count(weir_sketch *s, struct weir_bytes key, struct hash128 h, uint64_t amount)
{
    struct summary *m = summary_of(s);

    s->total = sketch_sum(s->total, amount);
    if (amount == 0)
        return;
    uint32_t estimate = raise(s, h, amount);
    struct entry *e = summary_find(m, key, h.lo);
    if (e) {
        e->count = estimate > e->count ? estimate : e->count;
        return;
    }
    if (!arena_takes(m, key.size)) {
        m->too_long = sketch_sum(m->too_long, amount);
        return;
    }
    if (estimate == 0 || (!summary_fits(m, key.size) && estimate <= summary_least(m)))
        return;
    summary_make_room(m, key.size);
    summary_insert(m, key, h.lo, estimate, 0);
}

static void add(weir_sketch *s, struct weir_bytes key, uint64_t amount)
{
    count(s, key, sketch_hash(s, key), amount);
}

static void add_many(weir_sketch *s, const struct weir_bytes *keys, const uint64_t *amounts,
                     size_t n)
{
    const struct summary *m = summary_of(s);
    struct hash128 ring[AHEAD];

    for (size_t i = 0; i < n + AHEAD; i++) {
        if (i >= AHEAD)
            count(s, keys[i - AHEAD], ring[i % AHEAD], sketch_amount(s, amounts, i - AHEAD));
        if (i >= n)
            continue;
        ring[i % AHEAD] = sketch_hash(s, keys[i]);
        __builtin_prefetch(&m->lines[home_of(m, tag_of(ring[i % AHEAD].lo))]);
        for (uint32_t row = 0; row < s->config.depth; row++)
            __builtin_prefetch(bucket_of(s, ring[i % AHEAD], row), 1);
    }
}

/* ---- asking ---- */

static struct weir_estimate ask(const weir_sketch *s, struct weir_bytes key)
{
    struct hash128 h = sketch_hash(s, key);
    const struct entry *e = summary_find(summary_of(s), key, h.lo);
    uint64_t most = e ? e->count : 0;

    for (uint32_t row = 0; row < s->config.depth; row++) {
        const struct bucket *b = bucket_of(s, h, row);

        if (b->fingerprint == fingerprint_of(h) && b->count > most)
            most = b->count;
    }
    return (struct weir_estimate){most, WEIR_NO_BOUND};
}

static size_t top(const weir_sketch *s, struct weir_heavy *out, size_t n)
{
    n = summary_top(s, out, n);
    for (size_t i = 0; i < n; i++)
        out[i].error = WEIR_NO_BOUND;
    return n;
}

static void stats(const weir_sketch *s, struct weir_sketch_stats *out)
{
    out->keys = summary_of(s)->n;
    out->error = WEIR_NO_BOUND;
    out->too_long = summary_of(s)->too_long;
}

/* ---- planning: an eighth of the memory for keys, the rest for buckets ---- */

#define KEYS_SHARE 8

static uint64_t bytes_of_keys(uint64_t keys)
{
    return memory_lines(SUMMARY_BESIDE + keys * (SUMMARY_EACH + ARENA_EACH));
}

static uint64_t row_bytes(const struct sketch_config *c)
{
    return c->depth * sizeof(struct bucket);
}

static void complete(struct sketch_config *c)
{
    bool memory = spec_has(&c->is, SKETCH_MEMORY), keys = spec_has(&c->is, SKETCH_KEYS);

    if (!spec_has(&c->is, SKETCH_DEPTH))
        c->depth = DEPTH_DEFAULT;
    if (!spec_has(&c->is, SKETCH_DECAY))
        c->decay = DECAY_DEFAULT;
    if (!keys)
        c->keys = c->memory / 8 / KEYS_SHARE / (SUMMARY_EACH + ARENA_EACH);
    if (spec_has(&c->is, SKETCH_WIDTH))
        c->memory = 8 * (bytes_of_keys(c->keys) + c->width * row_bytes(c));
    else if (keys && !memory)
        c->memory = 8 * KEYS_SHARE * bytes_of_keys(c->keys);
}

static bool plan(struct sketch_config *c, uint64_t *bytes, struct weir_error *error)
{
    enum weir_error_code code = WEIR_ERROR_INVALID_VALUE;
    const char *why = NULL;

    complete(c);
    uint64_t keys = bytes_of_keys(c->keys), width = 0;
    if (c->memory / 8 > keys)
        width = (c->memory / 8 - keys) / row_bytes(c);
    if (spec_has(&c->is, SKETCH_WIDTH) && spec_has(&c->is, SKETCH_MEMORY)) {
        code = WEIR_ERROR_CONFLICTING_PARAMETERS;
        why = "heavykeeper takes memory= or width=, not both";
    } else if (c->depth > ROWS_MAX) {
        why = "heavykeeper takes a depth from 1 to 16";
    } else if (c->decay > DECAY_MAX && c->decay < DECAY_ALWAYS) {
        why = "heavykeeper takes a decay up to 0.9999, or 1";
    } else if (c->keys == 0 || width == 0) {
        code = WEIR_ERROR_MEMORY_TOO_SMALL;
        why = "heavykeeper needs a memory of 192 bytes, 88 for each of its keys= and 8 for each "
              "bucket of its rows";
    } else if (keys > SUMMARY_MAX || c->memory > UINT64_C(1) << 47) {
        why = "heavykeeper needs more than 16T of memory; use fewer keys or a smaller width";
    }
    if (why)
        return error_refuse(error, code, why, NULL);
    *bytes = keys + width * row_bytes(c);
    return true;
}

static void lay(weir_sketch *s)
{
    struct keeper *k = keeper_of(s);
    uint64_t keys = bytes_of_keys(s->config.keys);

    summary_lay(&k->summary, s->handle.data, keys, s->config.keys, 0);
    k->buckets = (struct bucket *)(void *)(s->handle.data + keys);
    k->width = (s->handle.size - keys) / row_bytes(&s->config);
    k->decay =
        (uint64_t)(((bits_u128)s->config.decay << 64) / DECAY_ALWAYS); /* unused for a decay of 1 */
}

/* ---- saving: arrivals, keys, buckets ---- */

static uint64_t buckets(const weir_sketch *s)
{
    return keeper_of(s)->width * s->config.depth;
}

static uint64_t state_size(const weir_sketch *s)
{
    return 8 + summary_size(s) + buckets(s) * sizeof(struct bucket);
}

static void put(const weir_sketch *s, struct part_writer *out)
{
    const struct keeper *k = keeper_of(s);

    part_put64(out, k->arrivals);
    summary_put(s, out);
    part_put_numbers(out, k->buckets, buckets(s) * sizeof(struct bucket), sizeof(uint32_t));
}

static bool get(weir_sketch *s, struct part_reader *in)
{
    struct keeper *k = keeper_of(s);
    const uint8_t *p = part_get(in, 8);

    if (!p)
        return false;
    k->arrivals = bits_load64(p);
    if (!summary_get(s, in) || !(p = part_get(in, buckets(s) * sizeof(struct bucket))))
        return false;
    for (uint64_t i = 0; i < buckets(s); i++, p += sizeof(struct bucket))
        k->buckets[i] = (struct bucket){bits_load32(p), bits_load32(p + 4)};
    return true;
}

const struct sketch_ops sketch_heavykeeper = {
    .is.about = {"heavykeeper",
                 "the most frequent keys (as Redis Top-K); counts without error bounds",
                 WEIR_CAN_LIST},
    .is.parameters =
        HAS_COMMON | HAS(SKETCH_KEYS) | HAS(SKETCH_DEPTH) | HAS(SKETCH_WIDTH) | HAS(SKETCH_DECAY),
    .part = WEIR_PART_TOP,
    .memory = UINT64_C(1) << 23,
    .own = sizeof(struct keeper),
    .plan = plan,
    .lay = lay,
    .add = add,
    .add_many = add_many,
    .top = top,
    .ask = ask,
    .stats = stats,
    .unmergeable = " cannot be merged: a bucket contains only one of the keys that it was used "
                   "for",
    .state_size = state_size,
    .put = put,
    .get = get,
};
