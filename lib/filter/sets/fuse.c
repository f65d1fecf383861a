/* fuse.c - the binary fuse filter (Graf and Lemire 2022): an immutable set, with nine bits per key
 * at a false-positive rate of 0.4 %.
 *
 * A key has a fingerprint and three positions, in three adjacent segments. For every key of the
 * set, the fingerprints at its three positions XOR to its own, as fuse_part.c has solved them. For
 * any other key this happens with probability 2^-bits. Because the segments of different keys
 * overlap, 1.125 positions per key suffice; with positions anywhere it would be 1.23.
 *
 * The set is divided by hash into parts of one to two million keys. Each is solved separately, so
 * that building needs little memory besides the keys. All parts have the same size: the mean plus
 * four standard deviations. Positions therefore follow from the hash, the configuration and the
 * attempt number by which the part was solved.
 *
 *   [prints of part 0][of part 1] ... [attempt of part 0][of part 1] ...
 *
 * Of a key 64 bits are used, its digest. Keys with equal digests are one key. Four positions would
 * need 8.6 bits per key; three need one cache line less per lookup and are faster to build.
 *
 * Cost: three cache lines per lookup; 1.125 * bits per key, from a million keys on. */
#include "filter/sets/fuse.h"

#include <string.h>

#include "theory/sets.h"

#define PART_MAX 2000000
#define SEGMENTS_LEAST 3

/* ---- planning ---- */

/* The paper's 2^floor(log(n) / log(3.33) + 2.25), as a table of the numbers of keys from which each
 * power is used. Integers, because the size of a file must not depend on a machine's logarithm. */
static uint64_t segment_length(uint64_t keys)
{
    static const uint32_t from[] = {0,    3,     9,     28,     92,     304,    1010,
                                    3362, 11194, 37276, 124128, 413343, 1376430};
    uint32_t i = sizeof from / sizeof *from - 1;

    while (keys < from[i])
        i--;
    return UINT64_C(4) << i;
}

/* log2 in 65536ths, linear between powers of two: at most 0.09 too low. */
static uint64_t log2_below(uint64_t n)
{
    uint32_t whole = 63 - (uint32_t)__builtin_clzll(n);

    return ((uint64_t)whole << 16) + (((n - (UINT64_C(1) << whole)) << 16) >> whole);
}

/* The paper's 0.875 + 0.25 log(10^6) / log(n) positions per key, at least 1.125, in 65536ths. */
static uint64_t places_per_key(uint64_t keys)
{
    uint64_t log_million = 1306238; /* of 10^6, in 65536ths */
    uint64_t factor = 57344 + log_million * 16384 / log2_below(keys);

    return factor < 73728 || keys >= 1000000 ? 73728 : factor;
}

static uint64_t root_of(uint64_t n)
{
    uint64_t root = 0;

    for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1)
        if ((root | bit) * (root | bit) <= n)
            root |= bit;
    return root;
}

struct fuse_grid fuse_grid_for(uint64_t capacity)
{
    struct fuse_grid g = {.parts = (capacity + PART_MAX - 1) / PART_MAX};
    uint64_t mean = (capacity + g.parts - 1) / g.parts;

    g.keys = g.parts > 1 ? mean + 4 * root_of(mean) : mean;
    uint64_t keys = g.keys < 4 ? 4 : g.keys;
    uint64_t places = (keys * places_per_key(keys) + 65535) >> 16;
    uint64_t segments = places / segment_length(keys);
    segments = segments < SEGMENTS_LEAST ? SEGMENTS_LEAST : segments;
    g.length = (places + segments - 1) / segments;
    g.starts = segments - 2;
    g.prints = (segments * g.length + 7) / 8 * 8;
    return g;
}

static uint64_t memory_of(uint64_t capacity, uint64_t bits)
{
    struct fuse_grid g = fuse_grid_for(capacity);
    uint64_t memory = 8 * (fuse_attempts_at(&g, (uint32_t)bits) + g.parts);

    return memory < MEMORY_MIN ? MEMORY_MIN : memory;
}

static bool plan(struct config *c, struct shape *s, struct weir_error *error)
{
    static const struct print_sizes sizes = {memory_of, fuse_error};

    if (!print_bits_plan(c, &sizes, error))
        return false;
    shape_planes(s, c, 1, 8);
    s->lines = 3;
    struct fuse_grid g = fuse_grid_for(c->capacity);
    uint64_t detail[SHAPE_DETAILS] = {g.parts, g.prints, g.keys, g.starts, g.length};
    for (int i = 0; i < SHAPE_DETAILS; i++)
        s->detail[i] = detail[i];
    return true;
}

/* ---- asking ---- */

static inline void prefetch(const weir_filter *w, struct arrival *a)
{
    const struct fuse_grid g = fuse_grid(w);
    uint32_t bits = (uint32_t)w->config.bits;
    uint64_t digest = a->key.lo, part = bits_scale(digest, g.parts);
    uint32_t attempt = w->cells[fuse_attempts_at(&g, bits) + part];
    struct fuse_places p = fuse_places(&g, digest, digest * g.parts, attempt);

    for (int i = 0; i < 3; i++)
        prints_touch(w->cells, bits, a->at[i] = part * g.prints + p.at[i]);
}

static bool probe(const weir_filter *w, const struct arrival *a)
{
    uint32_t bits = (uint32_t)w->config.bits, sum = fuse_print(a->key.lo, bits);

    for (int i = 0; i < 3; i++)
        sum ^= prints_get(w->cells, bits, a->at[i]);
    return sum == 0 && w->observed != 0;
}

static double error_now(const weir_filter *w)
{
    return w->observed ? fuse_error(w->config.bits) : 0;
}

/* Each key has one position of its own. */
static double fill(const weir_filter *w)
{
    const struct fuse_grid g = fuse_grid(w);

    return (double)(w->observed - w->seen) / (double)(g.parts * g.prints);
}

static bool predict(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p)
{
    return fuse_predict(c->bits, (double)c->capacity, (double)(s->detail[0] * s->detail[1]), m, p);
}

/* ---- building and loading ---- */

static struct fixed_parts parts(const weir_filter *w)
{
    const struct fuse_grid g = fuse_grid(w);

    return (struct fixed_parts){g.parts, g.keys, fuse_scratch(&g)};
}

/* Is the number of keys possible? */
static bool check(const weir_filter *w)
{
    const struct fuse_grid g = fuse_grid(w);

    return w->observed - w->seen <= g.parts * g.keys && (w->observed == 0 || w->seen < w->observed);
}

static bool check_cells(const weir_filter *w)
{
    const struct fuse_grid g = fuse_grid(w);
    uint64_t used = fuse_attempts_at(&g, (uint32_t)w->config.bits) + g.parts;

    for (uint64_t i = used; i < w->shape.cells; i++)
        if (w->cells[i])
            return false;
    return true;
}

static const char *unmergeable(const struct config *c)
{
    (void)c;
    return "fuse filters cannot be merged: each is built for a fixed set of keys; build one from "
           "the keys of both";
}

#define QUERY_ONLY
#include "filter/loops.h"

/* ---- asking many ---- */

#define BLOCK 16 /* keys that are prefetched while the block before them is looked up */

struct asked {
    uint64_t at[BLOCK][3];
    uint32_t print[BLOCK];
};

/* Compute and prefetch the positions of a block of keys. `bits` is a compile-time constant. */
static inline void touch_block(const uint8_t *cells, const struct fuse_grid *g, uint32_t bits,
                               const struct weir_key *keys, size_t n, struct asked *a)
{
    const uint8_t *attempts = cells + fuse_attempts_at(g, bits);

    for (size_t i = 0; i < n; i++) {
        uint64_t digest = keys[i].lo, part = bits_scale(digest, g->parts);
        struct fuse_places p = fuse_places(g, digest, digest * g->parts, attempts[part]);

        a->print[i] = fuse_print(digest, bits);
        for (int j = 0; j < 3; j++)
            prints_touch(cells, bits, a->at[i][j] = part * g->prints + p.at[j]);
    }
}

static inline void probe_block(const uint8_t *cells, uint32_t bits, const struct asked *a, size_t n,
                               uint8_t *verdicts)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t sum = a->print[i];

        for (int j = 0; j < 3; j++)
            sum ^= bits == 8 ? cells[a->at[i][j]] : prints_get(cells, bits, a->at[i][j]);
        verdicts[i] = sum == 0;
    }
}

static inline void ask_blocks(const weir_filter *w, uint32_t bits, const struct weir_key *keys,
                              size_t n, uint8_t *verdicts)
{
    const struct fuse_grid g = fuse_grid(w);
    const uint8_t *cells = w->cells;
    struct asked a[2];
    size_t before = 0; /* keys in the previous block */

    for (size_t at = 0, turn = 0; at < n || before > 0; turn ^= 1) {
        size_t some = n - at < BLOCK ? n - at : BLOCK;

        touch_block(cells, &g, bits, keys + at, some, &a[turn]);
        probe_block(cells, bits, &a[turn ^ 1], before, verdicts + at - before);
        at += some;
        before = some;
    }
}

static void ask_set(const weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    if (w->observed == 0)
        memset(verdicts, WEIR_NEW, n);
    else if (w->config.bits == 8)
        ask_blocks(w, 8, keys, n, verdicts);
    else
        ask_blocks(w, (uint32_t)w->config.bits, keys, n, verdicts);
}

static const struct fixed_ops fixed = {parts, fuse_fill_part};

const struct filter_ops filter_fuse = {
    .is.about = {"fuse",
                 "binary fuse filter: an immutable set, the smallest and fastest to look up",
                 WEIR_CAN_KEEP_ALL},
    .is.parameters =
        HAS_ALWAYS | HAS(PARAMETER_CAPACITY) | HAS(PARAMETER_FPR) | HAS(PARAMETER_BITS),
    .plan = plan,
    .error = error_now,
    .fill = fill,
    .predict = predict,
    .unmergeable = unmergeable,
    .check = check,
    .check_cells = check_cells,
    .fixed = &fixed,
    .observe = observe,
    .observe_many = observe_many,
    .ask = ask,
    .ask_many = ask_set,
    .prefetch = prefetch_key,
};
