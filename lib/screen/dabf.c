/* dabf.c - the dynamic appending Bloom filter (Busnel and Gillet 2019).
 *
 * Two Bloom filters that start empty: beta, of the keys that the store was asked for, and beta',
 * of those that are members. A key that is not in beta is looked up in the store, and added to
 * beta, and to beta' if it is a member. A key in beta is a member if it is in beta'. So every
 * distinct key is looked up once, except for false positives of beta, which are never looked up.
 * beta saturates; from then on members are missed.
 *
 * With window= there are two such pairs. Both are filled, and they are cleared in turn, one after
 * every `window` records. The older one answers. In the first window there is only the first. A
 * key is looked up if either pair lacks it, and the answer enters both, as the paper suggests.
 * Each filter has its own hash functions. With the same ones for both pairs the error at
 * window=1000 is a third of the members; with different ones a quarter; the paper reports a fifth.
 *
 * theta= is n/n'; k' = floor(n'/set ln 2) and k = floor(n/capacity ln 2), at least 1. The paper
 * uses a capacity of 1000 for any n (so k = 1 in all its experiments). From 8000 bits on the
 * default here is n/8.
 *
 * Cost: k + k' cache lines per key and pair. */
#include <string.h>

#include "screen/screen.h"
#include "theory/sets.h"

#define ASKED(pair) (2 * (uint32_t)(pair)) /* beta and beta' */
#define MEMBERS(pair) (2 * (uint32_t)(pair) + 1)

#define CAPACITY_LEAST 1000

static bool plan(struct screen_config *c, struct screen_shape *shape, struct weir_error *error)
{
    uint32_t pairs = c->window ? 2 : 1;

    if (!c->theta.below)
        c->theta = (struct ratio){1, 9};
    uint64_t pair = c->memory / pairs;
    uint64_t asked =
        (uint64_t)((bits_u128)pair * c->theta.above / (c->theta.above + c->theta.below));
    if (asked == 0 || asked == pair)
        return error_refuse(
            error, WEIR_ERROR_MEMORY_TOO_SMALL,
            "theta= leaves one of the two filters without a bit; use more memory or a ratio "
            "closer to 1",
            NULL);
    if (!c->capacity)
        c->capacity = screen_keys(asked) > CAPACITY_LEAST ? screen_keys(asked) : CAPACITY_LEAST;
    if (!c->set)
        c->set = screen_keys(pair - asked);
    if (!c->k)
        c->k = bloom_k_below(asked, c->capacity);
    if (!c->k_set)
        c->k_set = bloom_k_below(pair - asked, c->set);
    shape->areas = 2 * pairs;
    for (uint32_t i = 0; i < pairs; i++) {
        shape->area[ASKED(i)].cells = asked;
        shape->area[MEMBERS(i)].cells = pair - asked;
        shape->area[ASKED(i)].width = shape->area[MEMBERS(i)].width = 1;
    }
    return true;
}

/* The paper has no model for pairs that are cleared in turn. */
static bool predict(const struct screen_config *c, const struct stream_model *m, double members,
                    struct weir_screen_prediction *out)
{
    double cells[2] = {(double)c->shape.area[ASKED(0)].cells,
                       (double)c->shape.area[MEMBERS(0)].cells};
    uint64_t k[2] = {c->k, c->k_set};
    struct dabf_prediction p;

    if (c->window)
        return false;
    dabf_predict(cells, k, m, members, &p);
    out->calls = p.calls;
    out->calls_least = p.calls_least;
    out->precision = p.precision;
    out->recall = p.recall;
    out->fpr = p.fpr;
    out->fnr = p.fnr;
    out->first_missed = p.first_missed;
    out->first_false = p.first_false;
    out->again_false = p.again_false;
    out->again_false_most = p.again_false_most;
    out->known_least = p.known_least;
    return true;
}

/* ---- which pair ---- */

/* The pair that answers in the window of the next record. */
static uint32_t older(const weir_screen *s)
{
    uint64_t w = s->config.window ? screen_records(s) / s->config.window : 0;

    return w == 0 ? 0 : (uint32_t)((w - 1) % 2);
}

static bool has_younger(const weir_screen *s)
{
    return s->config.window && screen_records(s) >= s->config.window;
}

/* The key with the hash functions of one filter. With the same words of the hash, a key would have
 * the same relative positions in beta and in beta', and two pairs would err on the same keys. */
static struct weir_key own_key(struct weir_key key, uint32_t filter)
{
    uint32_t i = 2 * (K_MAX + filter); /* words that no filter uses */

    return (struct weir_key){hash_word(key.lo, key.hi, i), hash_word(key.lo, key.hi, i + 1), 1, 0};
}

static uint64_t k_of(const weir_screen *s, uint32_t filter)
{
    return filter % 2 ? s->config.k_set : s->config.k;
}

static bool has(const weir_screen *s, uint32_t filter, struct weir_key key)
{
    return bloom_has(&s->area[filter], k_of(s, filter), own_key(key, filter));
}

static void add(weir_screen *s, uint32_t filter, struct weir_key key)
{
    bloom_add(&s->area[filter], k_of(s, filter), own_key(key, filter));
}

static void flush(weir_screen *s, uint32_t filter)
{
    memset(s->area[filter].bytes, 0, (size_t)cells_size(s->area[filter].n, 1));
}

/* ---- keys ---- */

static uint8_t decide(const weir_screen *s, struct weir_key key)
{
    uint32_t pair = older(s);

    if (!has(s, ASKED(pair), key) || (has_younger(s) && !has(s, ASKED(!pair), key)))
        return WEIR_UNANSWERED;
    return has(s, MEMBERS(pair), key) ? WEIR_MEMBER : WEIR_OTHER;
}

static void learn(weir_screen *s, uint32_t pair, struct weir_key key, uint8_t answer)
{
    if (has(s, ASKED(pair), key))
        return;
    add(s, ASKED(pair), key);
    if (answer == WEIR_MEMBER)
        add(s, MEMBERS(pair), key);
}

static void settle(weir_screen *s, struct weir_key key, uint8_t answer, bool from_store)
{
    uint32_t pair = older(s);

    if (from_store) {
        learn(s, pair, key, answer);
        if (has_younger(s))
            learn(s, !pair, key, answer);
    }
    if (has_younger(s) && (screen_records(s) + 1) % s->config.window == 0) {
        flush(s, ASKED(pair));
        flush(s, MEMBERS(pair));
    }
}

/* ---- measuring ---- */

static double fill(const weir_screen *s)
{
    return cells_fill(&s->area[ASKED(older(s))]);
}

static double error_of(const weir_screen *s, uint32_t pair)
{
    return bloom_error_at(cells_fill(&s->area[ASKED(pair)]), s->config.k);
}

/* A key is answered from memory if both pairs contain it. */
static double error_now(const weir_screen *s)
{
    uint32_t pair = older(s);
    double error = error_of(s, pair);

    return has_younger(s) ? error * error_of(s, !pair) : error;
}

static const char *unmergeable(const struct screen_config *c)
{
    return c->window
               ? "screens with window= cannot be merged: their windows end at different records"
               : NULL;
}

const struct screen_ops screen_dabf = {
    .is.about = {"dabf", "two Bloom filters, of keys asked and of members (Busnel and Gillet 2019)",
                 WEIR_CAN_MERGE | WEIR_CAN_WINDOW | WEIR_CAN_CONFIRM},
    .is.parameters = SCREEN_ALWAYS | HAS(SCREEN_MEMORY) | HAS(SCREEN_SET) | HAS(SCREEN_CAPACITY) |
                     HAS(SCREEN_THETA) | HAS(SCREEN_K) | HAS(SCREEN_K_SET) | HAS(SCREEN_WINDOW),
    .plan = plan,
    .decide = decide,
    .settle = settle,
    .fill = fill,
    .error = error_now,
    .predict = predict,
    .unmergeable = unmergeable,
};
