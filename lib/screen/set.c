/* set.c - the whole set in one Bloom filter: `1bf` and `strict`.
 *
 * The set is added before the first check. A key that the filter does not contain is certainly not
 * a member. A key that it contains is reported as a member (1bf: never asks the store, but has
 * false positives), or is confirmed by the store (strict: no errors; lookups are the members and
 * the false positives).
 *
 * Members recur, and are confirmed each time. With verdicts= a part of strict's memory caches the
 * store's verdicts on these keys (verdict_lines.h), with fingerprints of 32 bits: each key is
 * confirmed once while it stays cached. In return, a few answers in a billion are wrong, and a key
 * that the store drops stays a member until its verdict is evicted: at most `window` records or
 * `span` of time later.
 *
 * A set can be attached as a fixed filter, which has fewer false positives. Keys that are added
 * besides go into the Bloom filter.
 *
 * Both screens use the set as it was when added. A member that the store gains later is missed.
 *
 * Cost: k cache lines per key; for n keys in m bits k = (m/n) ln 2. */
#include "screen/screen.h"
#include <string.h>

#include "screen/verdict_lines.h"
#include "theory/sets.h"

#define SET 0  /* areas: the set, */
#define KEPT 1 /* and the cached verdicts */
#define KEPT_WIDTH 32
#define AHEAD 16 /* keys of the set prefetched before they are added */

static bool plan(struct screen_config *c, struct screen_shape *shape, struct weir_error *error)
{
    uint64_t kept = 8 * lines_bytes(c->verdicts), bits = c->memory - kept;

    if (kept >= c->memory)
        return error_refuse(
            error, WEIR_ERROR_MEMORY_TOO_SMALL,
            "verdicts= leaves no memory for the set; use a value below memory=", NULL);
    if ((c->window || c->span) && !c->verdicts)
        return error_refuse(error, WEIR_ERROR_CONFLICTING_PARAMETERS,
                            c->span ? "span=" : "window=", " requires verdicts=", NULL);
    if (!c->set)
        c->set = screen_keys(bits);
    if (!c->k)
        c->k = bloom_k_below(bits, c->set);
    shape->areas = kept ? 2 : 1;
    shape->area[SET].cells = bits;
    shape->area[SET].width = 1;
    shape->area[KEPT].cells = kept / 8;
    shape->area[KEPT].width = 8;
    return true;
}

static bool is_in_set(const weir_screen *s, struct weir_key key)
{
    if (s->attached && weir_ask(s->attached, key) == WEIR_SEEN)
        return true;
    return s->count.learned > 0 && bloom_has(&s->area[SET], s->config.k, key);
}

static void learn(weir_screen *s, const struct weir_key *keys, size_t n)
{
    for (size_t i = 0; i < n + AHEAD; i++) {
        if (i >= AHEAD)
            bloom_add(&s->area[SET], s->config.k, keys[i - AHEAD]);
        if (i < n)
            bloom_touch(&s->area[SET], s->config.k, keys[i]);
    }
}

static void forget(weir_screen *s)
{
    memset(s->area[SET].bytes, 0, (size_t)cells_size(s->area[SET].n, s->area[SET].width));
}

static uint8_t decide_by_set(const weir_screen *s, struct weir_key key)
{
    return is_in_set(s, key) ? WEIR_MEMBER : WEIR_OTHER;
}

static struct verdict_lines kept(const weir_screen *s)
{
    return lines_in(s, KEPT, KEPT_WIDTH, lines_room(KEPT_WIDTH));
}

static uint8_t decide_others(const weir_screen *s, struct weir_key key)
{
    if (!is_in_set(s, key))
        return WEIR_OTHER;
    if (!s->config.verdicts)
        return WEIR_UNANSWERED;
    struct verdict_lines l = kept(s);
    return lines_find(&l, key);
}

static void settle(weir_screen *s, struct weir_key key, uint8_t answer, bool from_store)
{
    if (!s->config.verdicts)
        return;
    struct verdict_lines l = kept(s);
    if (from_store)
        lines_add(&l, key, answer == WEIR_MEMBER);
    else if (is_in_set(s, key))
        lines_use(&l, key);
    if (s->config.window)
        lines_sweep(&l, screen_records(s), s->config.window);
}

static void sweep(weir_screen *s, uint64_t step)
{
    struct verdict_lines l = kept(s);

    lines_sweep(&l, step, SPAN_STEPS);
}

static void prefetch(const weir_screen *s, struct weir_key key)
{
    if (s->attached)
        weir_prefetch(s->attached, key);
    if (s->count.learned > 0)
        bloom_touch(&s->area[SET], s->config.k < 2 ? s->config.k : 2,
                    key); /* most lookups end there */
}

static double fill(const weir_screen *s)
{
    return s->attached ? weir_stats_of(s->attached).fill : cells_fill(&s->area[SET]);
}

static double error_now(const weir_screen *s)
{
    double own = bloom_error_at(cells_fill(&s->area[SET]), s->config.k);

    return s->attached ? 1 - (1 - own) * (1 - weir_stats_of(s->attached).error) : own;
}

/* Only cached verdicts can be wrong. */
static double error_of_verdicts(const weir_screen *s)
{
    struct verdict_lines l = s->config.verdicts ? kept(s) : (struct verdict_lines){0};

    return s->config.verdicts ? lines_error(&l) : 0;
}

static bool check(const weir_screen *s)
{
    struct verdict_lines l = s->config.verdicts ? kept(s) : (struct verdict_lines){0};

    return lines_possible(&l);
}

static const char *unmergeable(const struct screen_config *c)
{
    return c->verdicts ? "screens with verdicts= cannot be merged: the order in which their "
                         "verdicts were used is unknown"
                       : NULL;
}

#define SET_PARAMETERS (SCREEN_ALWAYS | HAS(SCREEN_MEMORY) | HAS(SCREEN_SET) | HAS(SCREEN_K))

const struct screen_ops screen_1bf = {
    .is.about = {"1bf", "the set in one Bloom filter; never asks the store, never misses a member",
                 WEIR_CAN_MERGE | WEIR_CAN_HOLD_SET},
    .is.parameters = SET_PARAMETERS,
    .plan = plan,
    .decide = decide_by_set,
    .prefetch = prefetch,
    .learn = learn,
    .forget = forget,
    .fill = fill,
    .error = error_now,
};

const struct screen_ops screen_strict = {
    .is.about = {"strict",
                 "the set in one Bloom filter; the store confirms every positive: no errors",
                 WEIR_CAN_MERGE | WEIR_CAN_WINDOW | WEIR_CAN_TIME | WEIR_CAN_HOLD_SET |
                     WEIR_CAN_CONFIRM},
    .is.parameters = SET_PARAMETERS | HAS(SCREEN_VERDICTS) | HAS(SCREEN_WINDOW) | HAS(SCREEN_SPAN),
    .plan = plan,
    .decide = decide_others,
    .prefetch = prefetch,
    .learn = learn,
    .forget = forget,
    .settle = settle,
    .sweep = sweep,
    .fill = fill,
    .error = error_of_verdicts,
    .check = check,
    .unmergeable = unmergeable,
};
