/* set.c - the whole set in one Bloom filter: `1bf` and `strict`.
 *
 * The set is told before the first check. What the filter does not have is no
 * member, for certain. What it has is one (1bf: others are let through at the
 * filter's error, the store is never asked), or is confirmed by the store
 * (strict: no error at all; calls are the members and the filter's error of the
 * others).
 *
 * Both go by the set as it was when told: a member added to the store later is
 * missed.
 * Price: k lines per key; a set of n keys in m bits with k = (m/n) ln 2. */
#include "screen.h"
#include "theory/dabf.h"

static bool plan(struct screen_config *c, struct screen_shape *shape, struct weir_error *error)
{
    (void)error;
    if (!c->set)
        c->set = screen_keys(c->memory);
    if (!c->k)
        c->k = dabf_k(c->memory, c->set);
    shape->filters = 1;
    shape->filter[0].cells = c->memory;
    shape->filter[0].k = c->k;
    return true;
}

static bool is_in_set(const weir_screen *s, struct weir_key key)
{
    return weir_ask(s->filter[0], key) == WEIR_SEEN;
}

static uint8_t decide_by_set(const weir_screen *s, struct weir_key key)
{
    return is_in_set(s, key) ? WEIR_MEMBER : WEIR_OTHER;
}

static uint8_t decide_others(const weir_screen *s, struct weir_key key)
{
    return is_in_set(s, key) ? WEIR_UNANSWERED : WEIR_OTHER;
}

static void touch(const weir_screen *s, struct weir_key key)
{
    struct cells bits = plane(s->filter[0], 0);

    for (uint32_t i = 0; i < 2 && i < s->config.k; i++) /* most others end at the second */
        bit_touch(&bits, place(key, i, bits.n));
}

static double fill(const weir_screen *s)
{
    return weir_stats(s->filter[0]).fill;
}

static double error_now(const weir_screen *s)
{
    return weir_stats(s->filter[0]).error;
}

#define SET_KNOBS                                                                                  \
    (SCREEN_ALWAYS | SCREEN_HAS(SCREEN_MEMORY) | SCREEN_HAS(SCREEN_SET) | SCREEN_HAS(SCREEN_K))

const struct screen_ops screen_1bf = {
    .about = {"1bf", "the set in one Bloom filter; never asks the store, never misses a member"},
    .knobs = SET_KNOBS,
    .holds_set = true,
    .plan = plan,
    .decide = decide_by_set,
    .touch = touch,
    .fill = fill,
    .error = error_now,
};

const struct screen_ops screen_strict = {
    .about = {"strict", "the set in one Bloom filter, every positive confirmed: no error"},
    .knobs = SET_KNOBS,
    .holds_set = true,
    .plan = plan,
    .decide = decide_others,
    .touch = touch,
    .fill = fill,
};
