/* importance.c - classes of importance, the running sample, and tables of classes.
 *
 * Each mode first computes a part of a whole: a rank in the sample, a logarithm, or a distance in
 * a range. Classes are equal shares of the whole. importance_class() computes the class of a
 * value. importance_steps() computes the minimum value of every class: class c begins where the
 * part reaches (c - 1) / top of the whole, rounded up. */
#include "spec/importance.h"

#include <string.h>

#include "base/rng.h"

static const char *const words[] = {
    [IMPORTANCE_NONE] = "none",
    [IMPORTANCE_LOG] = "log",
    [IMPORTANCE_PERCENTILE] = "percentile",
    [IMPORTANCE_CAPPED] = "capped",
};

static bool read_range(struct span a, struct importance *out)
{
    const char *dash = memchr(a.s, '-', a.n);
    uint64_t lo, hi;

    if (!dash)
        return false;
    size_t before = (size_t)(dash - a.s);
    if (!span_count((struct span){a.s, before}, &lo) ||
        !span_count((struct span){dash + 1, a.n - before - 1}, &hi) || lo >= hi || hi > UINT32_MAX)
        return false;
    *out = (struct importance){IMPORTANCE_RANGE, (uint32_t)lo, (uint32_t)hi};
    return true;
}

bool importance_read(struct span a, struct importance *out)
{
    for (int mode = IMPORTANCE_NONE; mode <= IMPORTANCE_CAPPED; mode++) {
        if (span_is(a, words[mode])) {
            *out = (struct importance){(enum importance_mode)mode, 0, 0};
            return true;
        }
    }
    return read_range(a, out);
}

void importance_write(struct text *t, const struct importance *imp)
{
    if (imp->mode != IMPORTANCE_RANGE) {
        text_add(t, words[imp->mode]);
        return;
    }
    text_add_u64(t, imp->lo);
    text_add(t, "-");
    text_add_u64(t, imp->hi);
}

/* One step of a binary search, without a branch: it would be mispredicted every other time. Skips
 * `half` values if the last of them is below value. */
static inline uint32_t step(const struct sample *s, uint32_t at, uint32_t half, uint64_t value)
{
    return at + (half & -(uint32_t)(s->value[at + half - 1] < value));
}

/* The number of sampled values below value. */
static uint32_t rank_of(const struct sample *s, uint32_t value)
{
    uint32_t rank = 0;

    for (uint32_t left = s->n, half; left > 0; left -= half) {
        half = (left + 1) / 2;
        rank = step(s, rank, half, value);
    }
    return rank;
}

/* The number of sampled values below value plus the number not above it: twice the mean rank. Both
 * searches run side by side. */
static uint64_t rank_twice(const struct sample *s, uint32_t value)
{
    uint32_t first = 0, last = 0;

    for (uint32_t left = s->n, half; left > 0; left -= half) {
        half = (left + 1) / 2;
        first = step(s, first, half, value);
        last = step(s, last, half, (uint64_t)value + 1);
    }
    return (uint64_t)first + last;
}

/* The class, 1..top, of a part of a whole; part < whole. */
static uint32_t share(uint64_t part, uint64_t whole, uint32_t top)
{
    return 1 + (uint32_t)(part * top / whole);
}

static uint32_t by_percentile(const struct sample *s, uint32_t value, uint32_t top)
{
    uint64_t twice = rank_twice(s, value);

    return s->n ? share(twice < 2 * s->n ? twice : 2 * s->n - 1, 2 * s->n, top) : (top + 1) / 2;
}

static uint32_t by_cap(const struct sample *s, uint32_t value, uint32_t top)
{
    uint32_t cap = sample_cap(s);

    return value < cap ? share(value, cap, top) : top;
}

static uint32_t by_range(const struct importance *imp, uint32_t value, uint32_t top)
{
    if (value <= imp->lo)
        return 1;
    if (value >= imp->hi)
        return top;
    return share(value - imp->lo, (uint64_t)imp->hi - imp->lo + 1, top);
}

/* The number of bits, 0 to 32, in 32nds: the five bits after the first are interpolated. */
static uint32_t by_log(uint32_t value, uint32_t top)
{
    uint32_t length = value ? 32 - (uint32_t)__builtin_clz(value) : 0;
    uint32_t next = value ? value << (32 - length) >> 26 & 31 : 0;

    return share(32 * length + next, 32 * 33, top);
}

uint32_t importance_class(const struct importance *imp, const struct sample *s, uint32_t value,
                          uint32_t top)
{
    switch (imp->mode) {
    case IMPORTANCE_PERCENTILE:
        return by_percentile(s, value, top);
    case IMPORTANCE_CAPPED:
        return by_cap(s, value, top);
    case IMPORTANCE_LOG:
        return by_log(value, top);
    case IMPORTANCE_RANGE:
        return by_range(imp, value, top);
    default:
        return top;
    }
}

/* Shift the values from `from` up to before `to` up by one place; or down, if `to` is before
 * `from`. */
static void shift(struct sample *s, uint32_t from, uint32_t to)
{
    if (from < to)
        memmove(s->value + from + 1, s->value + from, (to - from) * sizeof *s->value);
    else
        memmove(s->value + to, s->value + to + 1, (from - to) * sizeof *s->value);
}

void sample_take(struct sample *s, uint32_t value, uint64_t arrival, uint64_t seed)
{
    uint32_t in, out = s->n;

    if (!sample_draws(s, arrival))
        return;
    if (s->n == SAMPLE_SIZE) {
        struct rng r = rng_at(~seed, arrival);
        out = (uint32_t)rng_below(&r, SAMPLE_SIZE);
    } else {
        s->n++;
        s->value[out] = UINT32_MAX;
    }
    in = rank_of(s, value);
    in -= in > out;
    shift(s, in, out);
    s->value[in] = value;
}

bool sample_valid(const struct sample *s)
{
    if (s->n > SAMPLE_SIZE)
        return false;
    for (uint32_t i = 1; i < s->n; i++)
        if (s->value[i - 1] > s->value[i])
            return false;
    return true;
}

/* ---- the least value of each class ---- */

/* parts[i] = i * whole / top, rounded up. */
static void cut(uint64_t whole, uint32_t top, uint64_t parts[CLASSES_MAX])
{
    uint64_t each = whole / top, part = 0;
    uint32_t rest = (uint32_t)(whole % top), over = 0;

    for (uint32_t i = 0; i < top; i++) {
        parts[i] = part + (over > 0);
        part += each;
        over += rest;
        part += over >= top;
        over -= top & -(uint32_t)(over >= top);
    }
}

/* The minimum value with this number of bits, in 32nds. */
static uint64_t least_by_log(uint64_t part)
{
    uint64_t length = part / 32, next = part % 32;

    return length ? (UINT64_C(1) << (length - 1)) + (((next << (length - 1)) + 31) >> 5) : part > 0;
}

/* The runs of equal values in a full sample. */
struct runs {
    uint8_t of[SAMPLE_SIZE];       /* the run of each position, from 0 on */
    uint16_t end[SAMPLE_SIZE + 1]; /* where run i - 1 ends, and i begins */
};

/* Without branches, because this runs at every draw. */
static void find_runs(const struct sample *s, struct runs *r)
{
    uint32_t run = 0;

    r->end[0] = 0;
    r->end[1] = 1;
    r->of[0] = 0;
    for (uint32_t i = 1; i < SAMPLE_SIZE; i++) {
        run += s->value[i] != s->value[i - 1];
        r->of[i] = (uint8_t)run;
        r->end[run + 1] = (uint16_t)(i + 1);
    }
}

/* The minimum value whose doubled mean rank is at least `twice`: a value of the sample or its
 * successor. */
static uint64_t least_by_rank(const struct sample *s, uint64_t twice, const struct runs *r)
{
    uint32_t at = (uint32_t)(twice + 1) / 2 - 1;

    if (twice == 0)
        return 0;
    uint32_t run = r->of[at];
    return (uint64_t)s->value[at] + ((uint64_t)r->end[run] + r->end[run + 1] < twice);
}

static uint64_t least(const struct importance *imp, const struct sample *s, uint64_t part,
                      const struct runs *r)
{
    switch (imp->mode) {
    case IMPORTANCE_PERCENTILE:
        return least_by_rank(s, part, r);
    case IMPORTANCE_LOG:
        return least_by_log(part);
    case IMPORTANCE_RANGE:
        return part == 0 ? 0 : imp->lo + part < imp->hi ? imp->lo + part : imp->hi;
    default:
        return part;
    }
}

static uint64_t whole(const struct importance *imp, const struct sample *s)
{
    switch (imp->mode) {
    case IMPORTANCE_PERCENTILE:
        return 2 * SAMPLE_SIZE;
    case IMPORTANCE_CAPPED:
        return sample_cap(s);
    case IMPORTANCE_LOG:
        return (32 * 33);
    default:
        return (uint64_t)imp->hi - imp->lo + 1;
    }
}

bool importance_steps(const struct importance *imp, const struct sample *s, uint32_t top,
                      struct steps *out)
{
    uint64_t parts[CLASSES_MAX];
    struct runs runs;

    if (imp->mode == IMPORTANCE_NONE || top > CLASSES_MAX ||
        (importance_samples(imp) && s->n < SAMPLE_SIZE))
        return false;
    if (imp->mode == IMPORTANCE_PERCENTILE)
        find_runs(s, &runs);
    cut(whole(imp, s), top, parts);
    for (out->top = 0; out->top < top; out->top++) {
        uint64_t from = least(imp, s, parts[out->top], &runs);

        if (from > UINT32_MAX)
            break; /* no value is that high */
        out->from[out->top] = (uint32_t)from;
    }
    for (uint32_t i = out->top; i < CLASSES_MAX; i++)
        out->from[i] = UINT32_MAX;
    for (uint32_t i = 0; i < CLASSES_MAX; i++)
        out->fourth[i / 32][i % 4][i % 32 / 4] = out->from[i];
    return true;
}
