/* replay.c - see replay.h. */
#include "eval/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/units.h"
#include "eval/synthetic.h"

#define KEYS_LEAST 4096 /* of a sample */
#define ROOM_LEAST ((uint64_t)1 << 16)
#define COUNTED 16384      /* keys at a time */
#define COUNTS 16          /* arrivals of a key in a third that are told apart */
#define VARIANTS_MOST 1000 /* what comes again more rarely is new */
#define FEW 0.01           /* share of new keys that is none to speak of */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

void replay_close(struct replay *k)
{
    free(k->key);
    free(k->variants);
}

uint64_t replay_bytes(const struct replay *k)
{
    return k->room * sizeof *k->key;
}

static bool make_room(struct replay *k, uint64_t count, const struct truth *truth,
                      char failure[512])
{
    uint64_t room = k->room ? k->room : k->most || !k->expected ? ROOM_LEAST : k->expected;
    struct weir_key *key;

    if (count <= k->room)
        return true;
    while (room < count)
        room += room / 2;
    key = room * sizeof *key <= truth->limit - truth->bytes ? realloc(k->key, room * sizeof *key)
                                                            : NULL;
    if (!key) {
        snprintf(failure, 512,
                 "%s keeps the stream in memory, %zu bytes per record: %s are more than "
                 "--baseline-memory or the system allows",
                 k->because, sizeof *key, show_bytes((double)(room * sizeof *key)).text);
        return false;
    }
    k->key = key;
    k->room = room;
    return true;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

/* Keys are chosen by bits that no filter places them by. */
static bool is_sampled(const struct replay *k, struct weir_key key)
{
    uint64_t h = (key.lo ^ (key.hi << 29 | key.hi >> 35)) * UINT64_C(0xd6e8feb86659fd93);

    return k->halvings == 0 || mix(h) >> (64 - k->halvings) == 0;
}

/* Of those kept, different keys; false if there is no memory to count them. */
static bool count_keys(const struct replay *k, struct truth *truth, char failure[512])
{
    static uint8_t seen[COUNTED];
    bool ok = true;

    truth_clear(truth);
    for (uint64_t i = 0; i < k->count && ok; i += COUNTED) {
        uint64_t left = k->count - i;

        ok = truth_observe_keys(truth, k->key + i, NULL, left < COUNTED ? (uint32_t)left : COUNTED,
                                seen, failure);
    }
    return ok;
}

static bool halve(struct replay *k, struct truth *truth, char failure[512])
{
    uint64_t left = 0;

    if (!count_keys(k, truth, failure))
        return false;
    k->cut = truth->used < 2 * KEYS_LEAST;
    k->halvings += !k->cut;
    for (uint64_t i = 0; i < k->count; i++)
        if (is_sampled(k, k->key[i]))
            k->key[left++] = k->key[i];
    k->count = left;
    return true;
}

static bool add_one(struct replay *k, struct weir_key key, struct truth *truth, char failure[512])
{
    while (k->count == k->most && is_sampled(k, key) && !k->cut)
        if (!halve(k, truth, failure))
            return false;
    if (k->cut || !is_sampled(k, key))
        return true;
    if (!make_room(k, k->count + 1, truth, failure))
        return false;
    k->key[k->count++] = key;
    return true;
}

bool replay_add(struct replay *k, const struct weir_key *key, uint32_t n, struct truth *truth,
                char failure[512])
{
    for (uint32_t i = 0; i < n && k->most; i++)
        if (!add_one(k, key[i], truth, failure))
            return false;
    if (k->most)
        return true;
    if (!make_room(k, k->count + n, truth, failure))
        return false;
    memcpy(k->key + k->count, key, n * sizeof *k->key);
    k->count += n;
    return true;
}

void replay_shuffle(struct replay *k)
{
    for (uint64_t i = k->count; i > 1; i--) {
        uint64_t j = draw_below(&k->rng, i);
        struct weir_key key = k->key[i - 1];

        k->key[i - 1] = k->key[j];
        k->key[j] = key;
    }
}

/* ---- a stream that goes on ---- */

static int by_key(const void *a, const void *b, void *keys)
{
    const struct weir_key *x = (const struct weir_key *)keys + *(const uint64_t *)a;
    const struct weir_key *y = (const struct weir_key *)keys + *(const uint64_t *)b;

    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    return x->hi < y->hi ? -1 : x->hi > y->hi;
}

/* The arrivals of one key: order[from .. to), and how many are in which third. */
struct group {
    uint64_t from, to, third[3];
};

static bool next_group(const struct replay *k, const uint64_t *order, struct group *g)
{
    *g = (struct group){.from = g->to, .to = g->to};
    while (g->to < k->count && by_key(order + g->from, order + g->to, k->key) == 0)
        g->third[order[g->to++] * 3 / k->count]++;
    return g->to > g->from;
}

/* Of the keys that came so often in the first third: those that came in the last again, and
 * in all three. */
struct return_counts {
    uint64_t keys, again, ever;
};

static uint32_t count_class(uint64_t count)
{
    return count < COUNTS ? (uint32_t)count : COUNTS;
}

static void count_returns(const struct replay *k, const uint64_t *order,
                          struct return_counts counts[COUNTS + 1])
{
    for (struct group g = {0}; next_group(k, order, &g);) {
        struct return_counts *c = &counts[count_class(g.third[0])];

        c->keys++;
        c->again += g.third[2] > 0;
        c->ever += g.third[1] > 0 && g.third[2] > 0;
    }
}

/* Of keys of a frequency a share stays, and comes in any third with the same chance; the
 * others do not come again. Were all of those that stay alike, the chance were that with which
 * those of the first third and the last came in the second too; were all keys alike, that with
 * which they came in the last again. It lies between: there are frequent and rare ones. */
struct staying {
    double share, chance;
};

static struct staying find_staying(const struct return_counts *c)
{
    double again = c->keys ? (double)c->again / (double)c->keys : 0;
    double ever = c->again ? fmax((double)c->ever / (double)c->again, again) : 0;
    double chance = sqrt(again * ever);

    return (struct staying){chance > 0 ? again / chance : 0, chance};
}

/* The chance that this key is one that stays, in view of the thirds in which it did not come. */
static double stays(const struct staying *s, const struct group *g)
{
    double share = s->share;

    if (g->third[0] > 0 && g->third[2] > 0)
        return 1;
    for (int i = 0; i < 3; i++)
        share *= g->third[i] ? 1 : 1 - s->chance;
    return share > 0 ? share / (share + 1 - s->share) : 0;
}

/* A number from 0 to 1, the same for the same key. */
static double drawn_for(struct weir_key key, uint64_t purpose)
{
    return (double)(mix(key.lo ^ purpose * GOLDEN) >> 11) * 0x1p-53;
}

/* One of so many keys comes with this chance: a whole number or the next, such that the
 * chance is met on average. */
static uint16_t variants_for(double chance, double drawn)
{
    double few = floor(1 / chance);

    if (chance * VARIANTS_MOST < 1)
        return 0;
    return (uint16_t)(drawn < few * ((few + 1) * chance - 1) ? few : few + 1);
}

static uint16_t variants_of(const struct return_counts *counts, const struct group *g,
                            struct weir_key key)
{
    uint64_t thirds = (g->third[0] > 0) + (g->third[1] > 0) + (g->third[2] > 0);
    struct staying s = find_staying(&counts[count_class((g->to - g->from) / thirds)]);
    double comes = 1 - pow(1 - s.chance, 3); /* in a showing, which is three thirds */

    return drawn_for(key, 1) < stays(&s, g) ? variants_for(comes, drawn_for(key, 2)) : 0;
}

static void set_variants(struct replay *k, const uint64_t *order)
{
    struct return_counts counts[COUNTS + 1] = {0};
    double keys = 0, renewed = 0;

    count_returns(k, order, counts);
    for (struct group g = {0}; next_group(k, order, &g);) {
        uint16_t variants = variants_of(counts, &g, k->key[order[g.from]]);

        for (uint64_t i = g.from; i < g.to; i++)
            k->variants[order[i]] = variants;
        keys++;
        renewed += variants ? 1 - 1.0 / variants : 1;
    }
    k->renewed = keys > 0 ? renewed / keys : 0;
}

bool replay_find_variants(struct replay *k)
{
    uint64_t *order = malloc((k->count + 1) * sizeof *order);
    uint16_t *variants = realloc(k->variants, (k->count + 1) * sizeof *variants);

    k->variants = variants ? variants : k->variants;
    if (order && variants) {
        for (uint64_t i = 0; i < k->count; i++)
            order[i] = i;
        qsort_r(order, k->count, sizeof *order, by_key, k->key);
        set_variants(k, order);
    }
    free(order);
    return order && variants;
}

struct weir_key replay_key(const struct replay *k, uint64_t i, uint32_t showing)
{
    struct weir_key key = k->key[i];
    uint64_t variants = showing ? k->variants[i] : 1;
    uint64_t variant = variants ? mix(key.hi + showing * GOLDEN) % variants : showing;

    if (variant > 0) {
        key.lo = mix(key.lo + variant * GOLDEN);
        key.hi = mix(key.hi - variant * GOLDEN);
    }
    return key;
}

bool replay_is_renewed(const struct replay *k)
{
    return k->renewed > FEW;
}

void replay_strangers(const struct replay *k, uint64_t from, struct weir_key *key, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        key[i] = (struct weir_key){.lo = mix(mix((from + i + 1) * GOLDEN)),
                                   .hi = mix(mix(~(from + i) * GOLDEN)),
                                   .importance = k->key[(from + i) % k->count].importance};
}

void replay_rewind(struct replay *k, uint32_t showing)
{
    k->next = 0;
    k->showing = showing;
}

uint32_t replay_next(struct replay *k, struct weir_key *key, uint32_t most)
{
    uint64_t left = k->count - k->next;
    uint32_t n = left < most ? (uint32_t)left : most;

    for (uint32_t i = 0; i < n; i++)
        key[i] = replay_key(k, k->next + i, k->showing);
    k->next += n;
    return n;
}
