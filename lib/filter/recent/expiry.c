/* expiry.c - lines whose slots expire: planning, time, and rare operations on lines. See expiry.h.
 */
#include "filter/recent/expiry.h"

#include <string.h>

#include "filter/recent/recent.h"

/* ---- planning ---- */

bool expiry_plan(struct config *c)
{
    struct ttl *t = &c->ttl;

    t->unit = t->min / 4;
    t->residues = c->expire ? 9 : 8;
    for (t->levels = 1; t->unit << (t->levels + 2) < t->max; t->levels++)
        if (t->levels == EXPIRY_LEVELS)
            return false;
    t->bits = 32 - (uint32_t)__builtin_clz(t->residues * t->levels);
    return true;
}

/* ---- time ---- */

static uint64_t end_of_life(const weir_filter *w, uint64_t now, uint64_t ttl)
{
    const struct ttl *t = &w->config.ttl;

    if (ttl == 0 || (ttl < t->min && !w->config.expire))
        return 0;
    ttl = ttl < t->min ? t->min : ttl > t->max ? t->max : ttl;
    return now + ttl;
}

uint64_t expiry_of_longest(const weir_filter *w)
{
    return end_of_life(w, w->reg[NOW], w->config.ttl.max);
}

static uint8_t *nth_line(const weir_filter *w, uint64_t i)
{
    return w->cells + i * LINE_BYTES;
}

/* Clean all lines, which were last observed before `then`. */
static void clean_all(weir_filter *w, uint64_t then, uint64_t now)
{
    const struct ttl *t = &w->config.ttl;
    struct expiry_clock c;

    if (w->observed == 0)
        return;
    if (now - then > (uint64_t)t->residues << (t->levels - 1)) {
        memset(w->cells, 0, w->shape.cells);
        return;
    }
    expiry_set_clock(&c, t, now);
    for (uint64_t i = 0; i < w->shape.cells / LINE_BYTES; i++)
        expiry_clean(w, nth_line(w, i), then, &c);
}

void expiry_advance(weir_filter *w, uint64_t now)
{
    const uint64_t then = w->reg[EPOCH];

    now = now < EXPIRY_TIME_MAX ? now : EXPIRY_TIME_MAX;
    if (now <= w->reg[NOW])
        return;
    const uint64_t units = now / w->config.ttl.unit;
    if (units / (CLOCK_WRAP / 2) != then / (CLOCK_WRAP / 2))
        clean_all(w, then, units);
    w->reg[NOW] = now;
    w->reg[EPOCH] = units;
}

/* The keys of one unit are observed together: their codes depend on their own milliseconds, but the
 * lines only on the unit. */
size_t expiry_stamp(weir_filter *w, const uint64_t *times, const uint64_t *ttls, size_t n,
                    uint64_t *expires)
{
    size_t i;

    if (times)
        expiry_advance(w, times[0]);
    const uint64_t unit = w->config.ttl.unit, end = (w->reg[EPOCH] + 1) * unit;
    for (i = 0; i < n; i++) {
        if (times && times[i] >= end)
            break;
        if (times && times[i] > w->reg[NOW])
            w->reg[NOW] = times[i];
        expires[i] = end_of_life(w, w->reg[NOW], ttls ? ttls[i] : UINT64_MAX);
    }
    return i;
}

/* ---- cleaning ---- */

void expiry_clean(const weir_filter *w, uint8_t *line, uint64_t then, const struct expiry_clock *c)
{
    const uint32_t bits = c->ttl->bits, width = line_width[line_index(line)];
    const uint32_t slots = slots_of(w, line);
    const uint8_t *level = expiry_levels_of(c->ttl);
    uint8_t below[16] = {0}; /* of each level: alive are fewer steps ahead than this */
    bool is_used = false;

    then = expiry_line_clock(line, then);
    for (uint32_t k = 0; k < c->ttl->levels; k++) {
        uint64_t passed = expiry_passed(then, c->now, k);

        below[k] = (uint8_t)(passed < c->ttl->residues ? c->ttl->residues - passed : 0);
    }
    for (uint32_t i = 0; i < slots; i++) {
        const uint32_t code = expiry_get(line, bits, i);

        if (c->ahead[code] >= below[level[code]])
            line_clear(line, width, i);
        else
            is_used |= line_get(line, width, i) != 0;
    }
    if (!is_used)
        memset(line, 0, LINE_BYTES); /* with the widest slots again */
    line_set_clock(line, c->now);
}
