/* enter.c - how far behind the front of its line a new key enters.
 *
 * A key that came once is worth less than one that came twice. If new keys enter at
 * slot d and a hit moves to the front, the first d slots are kept for keys that came
 * again: they live longer, new ones shorter by d slots. Whether that is a gain depends
 * on the stream, and enter=adapt finds out from where in their lines keys are found:
 *
 *   - Is there more to be had beyond the end of the line? Hits in the last eighth are
 *     compared with those in the third quarter. If they have become few, hardly a
 *     repeat is missed, and what shorter lives would lose is all there is. If they
 *     become fewer faster and faster, the repeats end soon.
 *   - Do keys that came twice come again? One line in 64 always lets new keys enter at
 *     an eighth. In its first eighth are only keys that came again: hits there must be
 *     a fifth denser than in the rest of the line. On streams where keys come exactly
 *     twice there are none.
 *   - Are there hits at all, beyond twice those that the error makes? On an endless
 *     stream of new keys there are not.
 *
 * Only if all say so the depth is more than nothing: up to a tenth, the more the flatter
 * the hits lie towards the end, and a sixteenth more at a time. It is chosen again
 * whenever so many arrivals came as a sixteenth of all slots; what was counted before
 * counts for 1/16 less each time. All is arithmetic on whole numbers, and the same on
 * every machine. docs/recent.md has the study, bench/enter.c made its figures. */
#include "filter/recent/recent.h"

#define SHARE 1000000000 /* that enter= is a part of */

/* The counts, of lines at the floor. */
enum count { HITS, MISSES, THIRD_QUARTER, SEVENTH_EIGHTH, LAST_EIGHTH, KEPT, PASSING };

#define CHOSEN_EVERY 16  /* part of the slots that arrivals have filled */
#define CHOSEN_LEAST 512 /* arrivals: to have counted something */
#define FADE 4           /* counts lose 1 / 2^FADE each time */
#define DEEPEST 10       /* part of the line */
#define HITS_LEAST 20

/* Percent of the third quarter's density, in the last eighth: below the first the depth
 * is nothing, up to the second it is one slot, from the third on the deepest. */
#define FLAT_LEAST 20
#define FLAT_MIDDLE 45
#define FLAT_MOST 80
#define AGAIN_LEAST 120 /* percent of the rest's density, in the slots kept */

static uint32_t eighth(const struct config *c)
{
    return (uint32_t)c->slots / 8;
}

uint32_t recent_depth(const weir_filter *w)
{
    const struct config *c = &w->config;

    return is_adaptive(c) ? (uint32_t)w->reg[DEPTH] : (uint32_t)(c->slots * c->enter / SHARE);
}

uint32_t recent_tried_depth(const struct config *c)
{
    return eighth(c);
}

static uint64_t lines(const weir_filter *w)
{
    return w->shape.cells / LINE_BYTES;
}

uint64_t recent_depth_every(const weir_filter *w)
{
    uint64_t every = lines(w) * w->config.slots / CHOSEN_EVERY;

    return every > CHOSEN_LEAST ? every : CHOSEN_LEAST;
}

/* ---- counting ---- */

void recent_count_hit(weir_filter *w, bool tried, uint32_t slot, uint64_t times)
{
    uint64_t *n = &w->reg[COUNTED];
    uint32_t s = (uint32_t)w->config.slots, q = s / 4, e = eighth(&w->config);

    if (slot == LINE_SLOTS_MOST) {
        n[MISSES] += times;
        return;
    }
    n[HITS] += times;
    if (slot >= s - e)
        n[LAST_EIGHTH] += times;
    else if (slot >= s - q)
        n[SEVENTH_EIGHTH] += times;
    else if (slot >= s / 2 && slot < s / 2 + q)
        n[THIRD_QUARTER] += times;
    if (tried)
        n[slot < e ? KEPT : PASSING] += times;
}

void recent_count_hits(weir_filter *w, uint32_t hits[2][LINE_SLOTS_MOST + 1])
{
    for (uint32_t slot = 0; slot <= LINE_SLOTS_MOST; slot++) {
        recent_count_hit(w, false, slot, hits[false][slot]);
        recent_count_hit(w, true, slot, hits[true][slot]);
    }
}

/* ---- choosing ---- */

/* Hits per slot, times 1024, without those that are errors: a new key hits a slot by
 * chance once in so many times as there are fingerprints. */
static uint64_t density(const weir_filter *w, uint64_t hits, uint64_t misses, uint64_t slots)
{
    uint64_t errors = misses * slots / (UINT64_C(255) << (w->config.width - 8));

    return hits > errors ? (hits - errors) * 1024 / slots : 0;
}

/* Does density fall faster and faster towards the end? From the middle of the third
 * quarter (a) to that of the seventh eighth (c) are three steps, from there to that of
 * the last eighth (b) two. If each lost the same part, c^5 would be a^2 b^3. Tells
 * how many times c^5 is that: 0, 1, or 2 and more. */
static int ends_soon(uint64_t a, uint64_t c, uint64_t b)
{
    while ((a | b | c) >> 24) {
        a >>= 1;
        b >>= 1;
        c >>= 1;
    }
    bits_u128 is = (bits_u128)c * c * c * c * c, even = (bits_u128)a * a * b * b * b;

    return (is > even) + (is / 2 > even);
}

static bool come_again(const weir_filter *w)
{
    const uint64_t *n = &w->reg[COUNTED];
    uint64_t all = lines(w), tried = (all + TRIED_LINES - 1) / TRIED_LINES;
    uint64_t misses = (uint64_t)((bits_u128)n[MISSES] * tried / all), e = eighth(&w->config);
    uint64_t kept = density(w, n[KEPT], misses, e);

    return 100 * kept >= AGAIN_LEAST * density(w, n[PASSING], misses, w->config.slots - e);
}

/* Few hits are not to be relied on: they count for less. */
static uint64_t relied_on(uint64_t density, uint64_t hits)
{
    return (uint64_t)((bits_u128)density * hits / (hits + 8));
}

/* The depth for densities a, c and b, of which b is of so many hits. */
static uint64_t depth_for(const struct config *c, uint64_t a, uint64_t b, uint64_t hits)
{
    uint64_t least = a * FLAT_MIDDLE / 100, most = a * FLAT_MOST / 100;
    uint64_t deepest = c->slots / DEEPEST, sure = relied_on(b, hits);

    if (sure <= least || deepest <= 1)
        return 1;
    return sure >= most ? deepest : 1 + (sure - least) * (deepest - 1) / (most - least);
}

static uint64_t wanted(const weir_filter *w)
{
    const uint64_t *n = &w->reg[COUNTED], s = w->config.slots;
    uint64_t q = s / 4, e = eighth(&w->config);

    if (e == 0 || density(w, n[HITS], 2 * n[MISSES], s) == 0 || n[HITS] < HITS_LEAST)
        return 0;
    uint64_t a = density(w, n[THIRD_QUARTER], n[MISSES], q);
    uint64_t c = density(w, n[SEVENTH_EIGHTH], n[MISSES], q - e);
    uint64_t b = density(w, n[LAST_EIGHTH], n[MISSES], e);
    int soon = ends_soon(a, c, b);
    if (a == 0 || b == 0 || c == 0 || 100 * b < FLAT_LEAST * a || soon > 1 || !come_again(w))
        return 0;
    return soon ? 1 : depth_for(&w->config, a, b, n[LAST_EIGHTH]);
}

void recent_choose_depth(weir_filter *w)
{
    uint64_t step = w->config.slots / 16, depth = wanted(w), now = w->reg[DEPTH];

    w->reg[DEPTH] = depth < now + step ? depth : now + step;
    for (uint32_t i = 0; i < COUNTS; i++)
        w->reg[COUNTED + i] -= w->reg[COUNTED + i] >> FADE;
}

/* ---- merging and checking ---- */

void recent_merge_depths(weir_filter *into, const weir_filter *from)
{
    if (from->reg[DEPTH] < into->reg[DEPTH])
        into->reg[DEPTH] = from->reg[DEPTH];
    for (uint32_t i = 0; i < COUNTS; i++)
        into->reg[COUNTED + i] += from->reg[COUNTED + i];
}

bool recent_check_depth(const weir_filter *w)
{
    for (uint32_t i = 0; i < COUNTS; i++)
        if (w->reg[COUNTED + i] > w->observed)
            return false;
    return w->reg[DEPTH] <= w->config.slots / DEEPEST;
}
