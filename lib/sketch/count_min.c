/* count_min.c - count-min: estimates the count of any key (Cormode and Muthukrishnan 2005).
 *
 * d rows of w counters. A key has one counter in each row, by independent hash functions. Adding
 * raises all d counters. The estimate is their minimum, since other keys can only raise them: it
 * is never too low, and too high by more than (e/w)N with a probability of at most e^-d.
 *
 *   update=conservative  raises only counters that are below the new estimate
 *                        (Estan and Varghese 2002). Less error, but nothing can be
 *                        subtracted, and merging keeps only the bound.
 *   layout=line          the d counters of a key lie in one cache line, each in its
 *                        own d-th of it: one cache miss instead of d. Keys that share
 *                        a line are more likely to share several counters;
 *                        docs/sketches.md quantifies the cost.
 *
 * Counters of 32 or 64 bits saturate. A saturated count means "this many or more", and subtracting
 * does not lower it.
 *
 * Cost: d cache lines per key (or one), two multiplications per row. */
#include <string.h>

#include "sketch/half_life.h"
#include "sketch/sketch.h"
#include "theory/sets.h"

#define LINES_AHEAD 64 /* cache lines being prefetched */
#define KEYS_AHEAD 32  /* a power of two */
#define DEPTH_DEFAULT 4

/* The counters of a key; with layout=line, its line and the bits that select counters in it. */
struct key_counters {
    uint64_t which;
    uint8_t *at[DEPTH_MAX];
};

/* What the loops are compiled for: constants, the depth only if it is the default. */
struct form {
    bool wide, line, conservative;
    uint32_t depth;
};

#define INLINE static inline __attribute__((always_inline))

/* The own state. */
struct counter_rows {
    uint64_t width; /* counters per row */
};

INLINE struct counter_rows *rows_of(const weir_sketch *s)
{
    return sketch_own(s);
}

static uint64_t bits_of(const struct sketch_config *c)
{
    return c->counter == COUNTER_64 ? 64 : 32;
}

/* ---- one counter ---- */

INLINE uint64_t get(const uint8_t *at, bool wide)
{
    return wide ? *(const uint64_t *)(const void *)at : *(const uint32_t *)(const void *)at;
}

INLINE void set(uint8_t *at, bool wide, uint64_t value)
{
    if (wide)
        *(uint64_t *)(void *)at = value;
    else
        *(uint32_t *)(void *)at = (uint32_t)value;
}

/* Add with saturation: a sum that wraps is less than the amount. */
INLINE uint64_t sum(uint64_t count, uint64_t amount, bool wide)
{
    uint32_t small = amount < UINT32_MAX ? (uint32_t)amount : UINT32_MAX;
    uint32_t both = (uint32_t)count + small;

    return wide ? sketch_sum(count, amount) : both | -(uint32_t)(both < small);
}

/* ---- a key ---- */

INLINE uint8_t *counter(const struct key_counters *counters, uint32_t i, struct form f)
{
    uint32_t size = f.wide ? 8 : 4,
             each = CACHE_LINE / size / f.depth; /* counters of a row in the line */

    if (!f.line)
        return counters->at[i];
    return counters->at[0] + (i * each + (counters->which >> 4 * i & (each - 1))) * size;
}

INLINE void find(const weir_sketch *s, struct hash128 h, struct form f,
                 struct key_counters *counters)
{
    uint32_t size = f.wide ? 8 : 4, depth = f.depth;

    if (f.line) {
        counters->at[0] =
            s->handle.data + bits_scale(h.lo, s->handle.size / CACHE_LINE) * CACHE_LINE;
        counters->which = h.hi;
        return;
    }
    uint64_t width = rows_of(s)->width;
    for (uint32_t i = 0; i < depth; i++)
        counters->at[i] =
            s->handle.data + (i * width + bits_scale(hash_word(h.lo, h.hi, i), width)) * size;
}

INLINE void fetch_to_raise(const struct key_counters *counters, struct form f)
{
    for (uint32_t i = 0; i < (f.line ? 1 : f.depth); i++)
        __builtin_prefetch(counters->at[i], 1);
}

INLINE void fetch_to_ask(const struct key_counters *counters, struct form f)
{
    for (uint32_t i = 0; i < (f.line ? 1 : f.depth); i++)
        __builtin_prefetch(counters->at[i], 0);
}

INLINE uint64_t least(const struct key_counters *counters, struct form f)
{
    uint64_t found = get(counter(counters, 0, f), f.wide);

    for (uint32_t i = 1; i < f.depth; i++) {
        uint64_t count = get(counter(counters, i, f), f.wide);

        found = count < found ? count : found;
    }
    return found;
}

INLINE void raise(const struct key_counters *counters, uint64_t amount, struct form f)
{
    uint64_t to = f.conservative ? sum(least(counters, f), amount, f.wide) : 0;

    for (uint32_t i = 0; i < f.depth; i++) {
        uint8_t *at = counter(counters, i, f);
        uint64_t count = get(at, f.wide);

        if (!f.conservative)
            set(at, f.wide, sum(count, amount, f.wide));
        else if (count < to)
            set(at, f.wide, to);
    }
}

/* ---- batches: keys are prefetched before they are raised or looked up ---- */

/* Keys as bytes or as hashes. */
struct sketch_keys {
    const struct weir_bytes *bytes;
    const struct weir_key *hashed;
    const uint64_t *amounts; /* amounts to add; NULL: 1 each */
    size_t n;
};

INLINE size_t keys_ahead(struct form f)
{
    size_t ahead = LINES_AHEAD / (f.line ? 1 : f.depth);

    return ahead > KEYS_AHEAD ? KEYS_AHEAD : ahead;
}

INLINE struct hash128 hash_of(const weir_sketch *s, const struct sketch_keys *b, size_t i)
{
    return b->hashed ? (struct hash128){b->hashed[i].lo, b->hashed[i].hi}
                     : sketch_hash(s, b->bytes[i]);
}

INLINE void loop(weir_sketch *s, const struct sketch_keys *b, struct form f)
{
    struct key_counters ring[KEYS_AHEAD];
    size_t ahead = keys_ahead(f);

    for (size_t i = 0; i < b->n + ahead; i++) {
        if (i >= ahead)
            raise(&ring[(i - ahead) % KEYS_AHEAD], sketch_amount(s, b->amounts, i - ahead), f);
        if (i < b->n) {
            find(s, hash_of(s, b, i), f, &ring[i % KEYS_AHEAD]);
            fetch_to_raise(&ring[i % KEYS_AHEAD], f);
        }
    }
}

static uint64_t total_of(const weir_sketch *s, const struct sketch_keys *b)
{
    uint64_t n = b->n, total = b->amounts ? 0 : sketch_amount(s, &n, 0);

    for (size_t i = 0; b->amounts && i < b->n; i++)
        total = sketch_sum(total, sketch_amount(s, b->amounts, i));
    return total;
}

INLINE void loop_of_depth(weir_sketch *s, const struct sketch_keys *b, bool wide, bool line,
                          bool conservative)
{
    uint32_t depth = (uint32_t)s->config.depth;

    if (depth == DEPTH_DEFAULT)
        loop(s, b, (struct form){wide, line, conservative, DEPTH_DEFAULT});
    else
        loop(s, b, (struct form){wide, line, conservative, depth});
}

static void add_batch(weir_sketch *s, const struct sketch_keys *b)
{
    const struct sketch_config *c = &s->config;

    s->total = sketch_sum(s->total, total_of(s, b));
    switch (4 * c->counter + 2 * c->layout + c->update) {
#define CASE(n)                                                                                    \
    case n:                                                                                        \
        loop_of_depth(s, b, (n)&4, (n)&2, (n)&1);                                                  \
        break;
        CASE(0)
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
        CASE(7)
#undef CASE
    }
}

static struct form form_of(const weir_sketch *s)
{
    const struct sketch_config *c = &s->config;

    return (struct form){c->counter == COUNTER_64, c->layout == LAYOUT_LINE,
                         c->update == UPDATE_CONSERVATIVE, (uint32_t)c->depth};
}

static void add(weir_sketch *s, struct weir_bytes key, uint64_t amount)
{
    struct key_counters counters = {0};

    find(s, sketch_hash(s, key), form_of(s), &counters);
    raise(&counters, amount, form_of(s));
    s->total = sketch_sum(s->total, amount);
}

static void add_many(weir_sketch *s, const struct weir_bytes *keys, const uint64_t *amounts,
                     size_t n)
{
    add_batch(s, &(struct sketch_keys){.bytes = keys, .amounts = amounts, .n = n});
}

static void add_hashed(weir_sketch *s, const struct weir_key *keys, const uint64_t *amounts,
                       size_t n)
{
    add_batch(s, &(struct sketch_keys){.hashed = keys, .amounts = amounts, .n = n});
}

static bool can_take(const struct sketch_config *c)
{
    return c->update == UPDATE_PLAIN;
}

static void take(weir_sketch *s, struct weir_bytes key, uint64_t amount)
{
    struct form f = form_of(s);
    uint64_t most = f.wide ? UINT64_MAX : UINT32_MAX;
    struct key_counters counters = {0};

    find(s, sketch_hash(s, key), f, &counters);
    for (uint32_t i = 0; i < s->config.depth; i++) {
        uint8_t *at = counter(&counters, i, f);
        uint64_t count = get(at, f.wide);

        if (count < most)
            set(at, f.wide, count > amount ? count - amount : 0);
    }
    s->total -= amount < s->total ? amount : s->total;
}

/* ---- asking ---- */

static void stats(const weir_sketch *s, struct weir_sketch_stats *out)
{
    double error = count_min_error(rows_of(s)->width, s->total);

    out->error = error < 1.8e19 ? (uint64_t)error : UINT64_MAX;
    out->confidence = count_min_confidence(s->config.layout == LAYOUT_LINE ? 1 : s->config.depth);
}

static struct weir_estimate estimate(const struct key_counters *counters, struct form f,
                                     uint64_t error)
{
    uint64_t count = least(counters, f);

    return (struct weir_estimate){count, error < count ? error : count};
}

static struct weir_estimate ask(const weir_sketch *s, struct weir_bytes key)
{
    struct form f = form_of(s);
    struct weir_sketch_stats now;
    struct key_counters counters = {0};

    find(s, sketch_hash(s, key), f, &counters);
    stats(s, &now);
    return estimate(&counters, f, now.error);
}

static void ask_batch(const weir_sketch *s, const struct sketch_keys *b, struct weir_estimate *out)
{
    struct key_counters ring[KEYS_AHEAD];
    struct form f = form_of(s);
    struct weir_sketch_stats now;
    size_t ahead = keys_ahead(f);

    stats(s, &now);
    for (size_t i = 0; i < b->n + ahead; i++) {
        if (i >= ahead)
            out[i - ahead] = estimate(&ring[(i - ahead) % KEYS_AHEAD], f, now.error);
        if (i < b->n) {
            find(s, hash_of(s, b, i), f, &ring[i % KEYS_AHEAD]);
            fetch_to_ask(&ring[i % KEYS_AHEAD], f);
        }
    }
}

static void ask_many(const weir_sketch *s, const struct weir_bytes *keys, size_t n,
                     struct weir_estimate *out)
{
    ask_batch(s, &(struct sketch_keys){.bytes = keys, .n = n}, out);
}

static void ask_hashed(const weir_sketch *s, const struct weir_key *keys, size_t n,
                       struct weir_estimate *out)
{
    ask_batch(s, &(struct sketch_keys){.hashed = keys, .n = n}, out);
}

/* ---- planning ---- */

/* Convert error= and confidence= to memory and depth. */
static bool size_by_error(struct sketch_config *c, struct weir_error *error)
{
    if (spec_has(&c->is, SKETCH_CONFIDENCE)) {
        double depth = count_min_depth(c->confidence);

        if (spec_has(&c->is, SKETCH_DEPTH))
            return error_refuse(error, WEIR_ERROR_CONFLICTING_PARAMETERS,
                                "count-min takes depth= or confidence=, not both", NULL);
        if (depth > DEPTH_MAX)
            return error_refuse(error, WEIR_ERROR_LIMIT_UNREACHABLE,
                                "confidence= needs more than 32 rows; use a lower confidence",
                                NULL);
        c->depth = (uint64_t)depth;
    }
    if (spec_has(&c->is, SKETCH_ERROR)) {
        double bits = count_min_width(c->error) * (double)(c->depth * bits_of(c));

        if (spec_has(&c->is, SKETCH_MEMORY))
            return error_refuse(error, WEIR_ERROR_CONFLICTING_PARAMETERS,
                                "count-min takes memory= or error=, not both", NULL);
        if (bits > 0x1p46)
            return error_refuse(error, WEIR_ERROR_LIMIT_UNREACHABLE,
                                "error= needs more than 16T of memory; use a larger error", NULL);
        c->memory = ((uint64_t)bits + 511) / 512 * 512;
    }
    return true;
}

static uint64_t width_of(const struct sketch_config *c)
{
    uint64_t counters =
        c->layout == LAYOUT_LINE ? c->memory / 512 * (512 / bits_of(c)) : c->memory / bits_of(c);

    return counters / c->depth;
}

static bool plan(struct sketch_config *c, uint64_t *bytes, struct weir_error *error)
{
    if (c->half_life.length && spec_has(&c->is, SKETCH_COUNTER) && c->counter == COUNTER_32)
        return error_refuse(error, WEIR_ERROR_CONFLICTING_PARAMETERS,
                            "half-life= requires counter=64, because fading counts are fractions",
                            NULL);
    if (c->half_life.length)
        c->counter = COUNTER_64;
    if (!spec_has(&c->is, SKETCH_DEPTH))
        c->depth = DEPTH_DEFAULT;
    if (!size_by_error(c, error))
        return false;
    if (c->layout == LAYOUT_LINE && (c->depth & (c->depth - 1) || c->depth > 8))
        return error_refuse(
            error, WEIR_ERROR_CONFLICTING_PARAMETERS,
            "layout=line requires depth=1, 2, 4 or 8, because a line is divided evenly", NULL);
    if (width_of(c) == 0)
        return error_refuse(error, WEIR_ERROR_MEMORY_TOO_SMALL,
                            "memory= is less than one counter per row; use more memory", NULL);
    *bytes = width_of(c) * c->depth * (bits_of(c) / 8);
    return true;
}

static void lay(weir_sketch *s)
{
    rows_of(s)->width = width_of(&s->config);
}

/* ---- merging, saving ---- */

/* Valid for conservative counters too: the sum is at least the sum of the true counts. */
static enum weir_status merge(weir_sketch *into, const weir_sketch *from)
{
    bool wide = form_of(into).wide;

    for (uint64_t at = 0; at < into->handle.size; at += wide ? 8 : 4)
        set(into->handle.data + at, wide,
            sum(get(into->handle.data + at, wide), get(from->handle.data + at, wide), wide));
    into->total = sketch_sum(into->total, from->total);
    return WEIR_OK;
}

__extension__ typedef __int128 signed_sum; /* of 2^64 counts, each times at most 2^63 */

/* The weighted sum of one counter. Returns false if it overflows. */
INLINE bool weigh_counter(const weir_sketch *const *from, const int64_t *weights, size_t n,
                          uint64_t at, bool wide, uint64_t *out)
{
    signed_sum counted = 0;

    for (size_t i = 0; i < n; i++) {
        signed_sum part = (signed_sum)get(from[i]->handle.data + at, wide) * weights[i];

        if (__builtin_add_overflow(counted, part, &counted))
            return false;
    }
    *out = (uint64_t)counted;
    return counted >= 0 && counted <= (wide ? UINT64_MAX : UINT32_MAX);
}

/* Two passes over all counters, so that nothing changes unless every sum fits. */
static bool weigh(weir_sketch *into, const weir_sketch *const *from, const int64_t *weights,
                  size_t n)
{
    bool wide = form_of(into).wide;
    signed_sum total = 0;
    uint64_t sum_of_one;

    for (uint64_t at = 0; at < into->handle.size; at += wide ? 8 : 4)
        if (!weigh_counter(from, weights, n, at, wide, &sum_of_one))
            return false;
    for (size_t i = 0; i < n; i++)
        if (__builtin_add_overflow(total, (signed_sum)from[i]->total * weights[i], &total))
            return false;
    if (total < 0 || total > UINT64_MAX)
        return false;
    for (uint64_t at = 0; at < into->handle.size; at += wide ? 8 : 4) {
        weigh_counter(from, weights, n, at, wide, &sum_of_one);
        set(into->handle.data + at, wide, sum_of_one);
    }
    into->total = (uint64_t)total;
    return true;
}

static void scale(weir_sketch *s, int64_t steps)
{
    for (uint64_t at = 0; at < s->handle.size; at += 8)
        set(s->handle.data + at, true, fade_scale(get(s->handle.data + at, true), steps, false));
}

static uint64_t state_size(const weir_sketch *s)
{
    return s->handle.size;
}

static void put(const weir_sketch *s, struct part_writer *out)
{
    part_put_numbers(out, s->handle.data, s->handle.size, form_of(s).wide ? 8 : 4);
}

/* Any counters are possible. */
static bool take_in(weir_sketch *s, struct part_reader *in)
{
    bool wide = form_of(s).wide;
    const uint8_t *from = part_get(in, s->handle.size);

    if (!from)
        return false;
    for (uint64_t at = 0; at < s->handle.size; at += wide ? 8 : 4)
        set(s->handle.data + at, wide, wide ? bits_load64(from + at) : bits_load32(from + at));
    return true;
}

const struct sketch_ops sketch_count_min = {
    .is.about = {"count-min", "estimates the count of any key, never too low; stores no keys",
                 WEIR_CAN_FORGET | WEIR_CAN_MERGE | WEIR_CAN_WINDOW | WEIR_CAN_TIME |
                     WEIR_CAN_COUNT_ANY},
    .is.parameters = HAS_COMMON | HAS(SKETCH_DEPTH) | HAS(SKETCH_COUNTER) | HAS(SKETCH_UPDATE) |
                     HAS(SKETCH_LAYOUT) | HAS(SKETCH_ERROR) | HAS(SKETCH_CONFIDENCE) |
                     HAS(SKETCH_HALF_LIFE),
    .part = WEIR_PART_COUNTS,
    .memory = UINT64_C(64) << 23,
    .own = sizeof(struct counter_rows),
    .plan = plan,
    .lay = lay,
    .add = add,
    .add_many = add_many,
    .add_hashed = add_hashed,
    .take = take,
    .can_take = can_take,
    .ask = ask,
    .ask_many = ask_many,
    .ask_hashed = ask_hashed,
    .stats = stats,
    .merge = merge,
    .weigh = weigh,
    .scale = scale,
    .fixed = true,
    .state_size = state_size,
    .put = put,
    .get = take_in,
};
