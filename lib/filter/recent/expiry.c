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

static void set_line_clock(uint8_t *line, uint64_t now)
{
    uint64_t word = bits_load64(line + 56) & ~((CLOCK_WRAP - 1) << 40);

    bits_store64(line + 56, word | (now & (CLOCK_WRAP - 1)) << 40);
}

uint64_t expiry_clean(const weir_filter *w, uint8_t *line, uint64_t then,
                      const struct expiry_clock *c)
{
    const uint32_t bits = c->ttl->bits, slots = slots_of(w, line);
    const uint8_t *level = expiry_levels_of(c->ttl);
    uint64_t alive = 0;
    uint8_t below[EXPIRY_LEVELS + 2] = {
        0}; /* of each level: alive are fewer steps ahead than this */

    then = expiry_line_clock(line, then);
    for (uint32_t k = 0; k < c->ttl->levels; k++) {
        uint64_t passed = expiry_passed(then, c->now, k);

        below[k] = (uint8_t)(passed < c->ttl->residues ? c->ttl->residues - passed : 0);
    }
    for (uint32_t i = 0; i < slots; i++) {
        uint32_t code = expiry_get(line, bits, i);
        bool is_alive = c->ahead[code] < below[level[code]];

        if (code != 0 && !is_alive)
            expiry_put(line, bits, i, 0);
        alive |= (uint64_t)is_alive << i;
    }
    if (!alive)
        memset(line, 0, LINE_BYTES); /* with the widest slots again */
    set_line_clock(line, c->now);
    return alive;
}

/* ---- lines as lists ---- */

struct expiry_list {
    uint32_t n;
    uint32_t value[2 * LINE_SLOTS_MAX], code[2 * LINE_SLOTS_MAX];
};

/* Read the slots of a line that are alive at the time of the clock, truncated to `width`. */
static void read_list(struct expiry_list *list, const weir_filter *of, const uint8_t *line,
                      uint32_t width, const struct expiry_clock *c)
{
    const uint32_t own = line_width[line_index(line)], slots = slots_of(of, line);
    const uint64_t then = expiry_line_clock(line, of->reg[EPOCH]);

    list->n = 0;
    for (uint32_t i = 0; i < slots; i++) {
        uint32_t value = line_get(line, own, i);
        uint32_t code = expiry_get(line, of->config.ttl.bits, i);

        if (!expiry_is_alive(c, code, then))
            continue;
        list->value[list->n] = value >> (own - width);
        list->code[list->n++] = code;
    }
}

/* Drop low bits of all values. Of those that become equal the first stays, with the later expiry
 * time. */
static void shorten(struct expiry_list *list, uint32_t bits, const struct expiry_clock *c)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t value = list->value[i] >> bits, code = list->code[i], j = 0;

        while (j < kept && list->value[j] != value)
            j++;
        if (j == kept || expiry_left(c, code) > expiry_left(c, list->code[j]))
            list->code[j] = code;
        list->value[j] = value;
        kept += j == kept;
    }
    list->n = kept;
}

static void write_list(const struct expiry_list *list, uint8_t *line, uint32_t index,
                       const struct expiry_clock *c)
{
    memset(line, 0, LINE_BYTES);
    line[LINE_BYTES - 1] = (uint8_t)(list->n ? index : 0);
    set_line_clock(line, c->now);
    for (uint32_t i = 0; i < list->n; i++) {
        line_put(line, line_width[index], i, list->value[i]);
        expiry_put(line, c->ttl->bits, i, list->code[i]);
    }
}

void expiry_cut(const weir_filter *w, uint8_t *line, const struct expiry_clock *c)
{
    const uint32_t index = line_index(line) + 1;
    struct expiry_list list;

    read_list(&list, w, line, line_width[index - 1], c);
    shorten(&list, (uint32_t)line_width[index - 1] - line_width[index], c);
    write_list(&list, line, index, c);
}

/* ---- merging, measuring, checking ---- */

/* a0 b0 a1 b1 ... */
static void interleave(struct expiry_list *out, const struct expiry_list *a,
                       const struct expiry_list *b)
{
    out->n = 0;
    for (uint32_t i = 0; i < a->n || i < b->n; i++) {
        if (i < a->n) {
            out->value[out->n] = a->value[i];
            out->code[out->n++] = a->code[i];
        }
        if (i < b->n) {
            out->value[out->n] = b->value[i];
            out->code[out->n++] = b->code[i];
        }
    }
}

static void merge_line(const weir_filter *w, uint8_t *into, const weir_filter *from_filter,
                       const uint8_t *from, const struct expiry_clock *c)
{
    uint32_t ia = line_index(into), ib = line_index(from), index = ia > ib ? ia : ib;
    struct expiry_list a, b, both;

    read_list(&a, w, into, line_width[index], c);
    read_list(&b, from_filter, from, line_width[index], c);
    interleave(&both, &a, &b);
    shorten(&both, 0, c);
    for (; line_width[index] > w->config.width && both.n > slots_at(&w->config, index); index++)
        shorten(&both, (uint32_t)line_width[index] - line_width[index + 1], c);
    uint32_t most = slots_at(&w->config, index);
    both.n = both.n < most ? both.n : most;
    write_list(&both, into, index, c);
}

void expiry_merge(weir_filter *into, const weir_filter *from)
{
    const uint64_t now = into->reg[NOW] > from->reg[NOW] ? into->reg[NOW] : from->reg[NOW];
    struct expiry_clock c;

    expiry_set_clock(&c, &into->config.ttl, now / into->config.ttl.unit);
    for (uint64_t i = 0; i < into->shape.cells / LINE_BYTES; i++)
        merge_line(into, nth_line(into, i), from, nth_line(from, i), &c);
    into->reg[NOW] = now;
    into->reg[EPOCH] = c.now;
    into->reg[OVERFLOW] += from->reg[OVERFLOW];
}

uint32_t expiry_used(const weir_filter *w, const uint8_t *line)
{
    const uint64_t then = expiry_line_clock(line, w->reg[EPOCH]);
    const uint32_t slots = slots_of(w, line);
    struct expiry_clock c;
    uint32_t used = 0;

    expiry_set_clock(&c, &w->config.ttl, w->reg[EPOCH]);
    for (uint32_t i = 0; i < slots; i++)
        used += expiry_is_alive(&c, expiry_get(line, w->config.ttl.bits, i), then);
    return used;
}

/* Used slots have possible prints and codes, and there are zeros between prints and codes. */
bool expiry_check_line(const weir_filter *w, const uint8_t *line)
{
    const uint32_t width = line_width[line_index(line)], slots = slots_of(w, line),
                   bits = w->config.ttl.bits;

    for (uint32_t i = 0; i < slots; i++) {
        uint32_t value = line_get(line, width, i), code = expiry_get(line, bits, i);

        if (code &&
            (value >> (width - 8) == 0 || code > w->config.ttl.levels * w->config.ttl.residues))
            return false;
    }
    for (uint32_t bit = slots * width; bit < LINE_ROOM_TTL - slots * bits; bit++)
        if (line[bit / 8] >> bit % 8 & 1)
            return false;
    return true;
}
