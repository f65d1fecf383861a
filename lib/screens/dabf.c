/* dabf.c - the dynamic appending Bloom filter (Busnel and Gillet 2019).
 *
 * Two Bloom filters that start empty: beta, of the keys that the store was asked
 * for, and beta', of those that are members. A key that is not in beta is asked
 * for, and enters beta, and beta' if it is a member. One that is in beta is a
 * member if it is in beta'. So every different key is asked for once, but what
 * beta takes for known by mistake is never asked for, and beta fills up: from
 * then on members are missed.
 *
 * With window= there are two such pairs, filled together and flushed in turn,
 * one after every so many records; the older one answers. In the first window
 * there is only the first. The store's answer serves both pairs, as the paper
 * suggests.
 *
 * theta= is n/n'; k = floor(n/capacity ln 2), where the paper has a capacity of
 * 1000 whatever n (k = 1 for all it tries), and k' = floor(n'/set ln 2).
 * Price: k + k' lines per key and pair. */
#include <string.h>

#include "screen.h"
#include "theory/bloom.h"
#include "theory/dabf.h"

#define ASKED 0 /* beta of a pair */
#define MEMBERS 1

#define CAPACITY_LEAST 1000
#define BITS_PER_KEY 8 /* where it is not told how many come */

static uint64_t at_least(uint64_t least, uint64_t n)
{
    return n > least ? n : least;
}

static bool plan(struct screen_config *c, struct screen_shape *shape, struct weir_error *error)
{
    uint32_t pairs = c->window ? 2 : 1;

    if (!c->theta.below)
        c->theta = (struct ratio){1, 9};
    uint64_t pair = c->memory / pairs;
    uint64_t asked =
        (uint64_t)((bits_u128)pair * c->theta.above / (c->theta.above + c->theta.below));
    if (asked == 0 || asked == pair) {
        error_say(error, WEIR_BAD_CONFIG,
                  "theta= leaves one of the two filters without a bit; ask for more memory, or a "
                  "ratio nearer to 1",
                  NULL);
        return false;
    }
    if (!c->capacity)
        c->capacity = at_least(CAPACITY_LEAST, asked / BITS_PER_KEY);
    if (!c->set)
        c->set = at_least(1, (pair - asked) / BITS_PER_KEY);
    if (!c->k)
        c->k = dabf_k(asked, c->capacity);
    if (!c->k_set)
        c->k_set = dabf_k(pair - asked, c->set);
    shape->filters = 2 * pairs;
    for (uint32_t i = 0; i < pairs; i++) {
        shape->filter[2 * i + ASKED].cells = asked;
        shape->filter[2 * i + ASKED].k = c->k;
        shape->filter[2 * i + MEMBERS].cells = pair - asked;
        shape->filter[2 * i + MEMBERS].k = c->k_set;
    }
    return true;
}

/* ---- which pair ---- */

/* Of the window that the next record belongs to: which pair answers. */
static uint32_t older(const weir_screen *s)
{
    uint64_t w = s->config.window ? screen_records(s) / s->config.window : 0;

    return w == 0 ? 0 : (uint32_t)((w - 1) % 2);
}

static bool has_younger(const weir_screen *s)
{
    return s->config.window && screen_records(s) >= s->config.window;
}

/* Functions of its own for beta': with the same words of the hash a key would
 * have its places at the same share of both. */
static struct weir_key for_members(struct weir_key key)
{
    return (struct weir_key){hash_word(key.lo, key.hi, 2 * K_MAX),
                             hash_word(key.lo, key.hi, 2 * K_MAX + 1), 1};
}

static weir *filter_of(const weir_screen *s, uint32_t pair, uint32_t which)
{
    return s->filter[2 * pair + which];
}

static bool was_asked(const weir_screen *s, uint32_t pair, struct weir_key key)
{
    return weir_ask(filter_of(s, pair, ASKED), key) == WEIR_SEEN;
}

/* ---- keys ---- */

static uint8_t decide(const weir_screen *s, struct weir_key key)
{
    uint32_t pair = older(s);

    if (!was_asked(s, pair, key) || (has_younger(s) && !was_asked(s, !pair, key)))
        return WEIR_UNANSWERED;
    return weir_ask(filter_of(s, pair, MEMBERS), for_members(key)) == WEIR_SEEN ? WEIR_MEMBER
                                                                                : WEIR_OTHER;
}

static void learn(weir_screen *s, uint32_t pair, struct weir_key key, uint8_t answer)
{
    if (weir_observe(filter_of(s, pair, ASKED), key) == WEIR_NEW && answer == WEIR_MEMBER)
        weir_observe(filter_of(s, pair, MEMBERS), for_members(key));
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
        weir_clear(filter_of(s, pair, ASKED));
        weir_clear(filter_of(s, pair, MEMBERS));
    }
}

static double fill(const weir_screen *s)
{
    return weir_stats(filter_of(s, older(s), ASKED)).fill;
}

/* A key is answered from memory if both pairs know it, and the younger one knows
 * nothing that the older one does not. */
static double error_now(const weir_screen *s)
{
    uint32_t pair = older(s);

    return weir_stats(filter_of(s, has_younger(s) ? !pair : pair, ASKED)).error;
}

const struct screen_ops screen_dabf = {
    .about = {"dabf", "two Bloom filters, of keys asked and of members (Busnel and Gillet 2019)"},
    .knobs = SCREEN_ALWAYS | SCREEN_HAS(SCREEN_MEMORY) | SCREEN_HAS(SCREEN_SET) |
             SCREEN_HAS(SCREEN_CAPACITY) | SCREEN_HAS(SCREEN_THETA) | SCREEN_HAS(SCREEN_K) |
             SCREEN_HAS(SCREEN_K_SET) | SCREEN_HAS(SCREEN_WINDOW),
    .plan = plan,
    .decide = decide,
    .settle = settle,
    .fill = fill,
    .error = error_now,
};
