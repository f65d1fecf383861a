/* set.c - the whole set in one Bloom filter: `1bf` and `strict`.
 *
 * The set is told before the first check. What the filter does not have is no
 * member, for certain. What it has is one (1bf: others are let through at the
 * filter's error, the store is never asked), or is confirmed by the store
 * (strict: no error at all; calls are the members and the filter's error of the
 * others).
 *
 * Members come again and again, and are confirmed each time. With verdicts= some
 * of strict's memory keeps the store's verdicts on what the filter let through
 * (verdict_lines.h), in fingerprints of 32 bits: each is confirmed once as long as it is
 * in use. The price is an error of some billionths, and that a key which the
 * store drops is a member here until its verdict is forgotten; with window= that
 * is so many records, with span= so long a time.
 *
 * A set that is known whole can be lent as a fixed filter, which errs less; what is told
 * beside it goes into the Bloom filter.
 *
 * Both go by the set as it was when told: a member that the store gets later is
 * missed.
 * Price: k lines per key; a set of n keys in m bits with k = (m/n) ln 2. */
#include "screen/bloom_bits.h"
#include <string.h>

#include "screen/verdict_lines.h"
#include "theory/bloom.h"

#define SET 0  /* areas: the set, */
#define KEPT 1 /* and verdicts */
#define KEPT_WIDTH 32
#define AHEAD 16 /* keys of the set touched before they are added */

static bool plan(struct screen_config *c, struct screen_shape *shape, struct weir_error *error)
{
    uint64_t kept = 8 * lines_bytes(c->verdicts), bits = c->memory - kept;

    if (kept >= c->memory)
        return error_refuse(error, WEIR_ERROR_MEMORY_TOO_SMALL,
                            "verdicts= leaves nothing of memory= for the set; it is a part of it",
                            NULL);
    if ((c->window || c->span) && !c->verdicts)
        return error_refuse(error, WEIR_ERROR_CONFLICTING_PARAMETERS,
                            c->span ? "span=" : "window=", " is for verdicts: give verdicts= too",
                            NULL);
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
    if (s->lent && weir_ask(s->lent, key) == WEIR_SEEN)
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

static void touch(const weir_screen *s, struct weir_key key)
{
    if (s->lent)
        weir_prefetch(s->lent, key);
    if (s->count.learned > 0)
        bloom_touch(&s->area[SET], s->config.k < 2 ? s->config.k : 2, key); /* most end there */
}

static double fill(const weir_screen *s)
{
    return s->lent ? weir_stats_of(s->lent).fill : cells_fill(&s->area[SET]);
}

static double error_now(const weir_screen *s)
{
    double told = bloom_error_at(cells_fill(&s->area[SET]), s->config.k);

    return s->lent ? 1 - (1 - told) * (1 - weir_stats_of(s->lent).error) : told;
}

/* Only verdicts can be mistaken for those of another. */
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
    return c->verdicts ? "screens with verdicts= cannot be merged: which of two verdicts was used "
                         "last is not known"
                       : NULL;
}

#define SET_PARAMETERS (SCREEN_ALWAYS | HAS(SCREEN_MEMORY) | HAS(SCREEN_SET) | HAS(SCREEN_K))

const struct screen_ops screen_1bf = {
    .is.about = {"1bf", "the set in one Bloom filter; never asks the store, never misses a member",
                 WEIR_CAN_MERGE | WEIR_CAN_HOLD_SET},
    .is.parameters = SET_PARAMETERS,
    .plan = plan,
    .decide = decide_by_set,
    .touch = touch,
    .learn = learn,
    .forget = forget,
    .fill = fill,
    .error = error_now,
};

const struct screen_ops screen_strict = {
    .is.about = {"strict", "the set in one Bloom filter, every positive confirmed: no error",
                 WEIR_CAN_MERGE | WEIR_CAN_WINDOW | WEIR_CAN_TIME | WEIR_CAN_HOLD_SET |
                     WEIR_CAN_CONFIRM},
    .is.parameters = SET_PARAMETERS | HAS(SCREEN_VERDICTS) | HAS(SCREEN_WINDOW) | HAS(SCREEN_SPAN),
    .plan = plan,
    .decide = decide_others,
    .touch = touch,
    .learn = learn,
    .forget = forget,
    .settle = settle,
    .sweep = sweep,
    .fill = fill,
    .error = error_of_verdicts,
    .check = check,
    .unmergeable = unmergeable,
};
