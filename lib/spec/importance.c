/* importance.c - classes of importance, and the running sample behind two of
 * the ways to get them. */
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

/* One step of a binary search: past `half` more values if the last of them is
 * below. By arithmetic: a branch would be guessed wrong every other time. */
static inline uint32_t step(const struct sample *s, uint32_t at, uint32_t half, uint64_t value)
{
    return at + (half & -(uint32_t)(s->value[at + half - 1] < value));
}

/* How many of the sample are below value. */
static uint32_t rank_of(const struct sample *s, uint32_t value)
{
    uint32_t rank = 0;

    for (uint32_t left = s->n, half; left > 0; left -= half) {
        half = (left + 1) / 2;
        rank = step(s, rank, half, value);
    }
    return rank;
}

/* The same and how many are not above value, together: half-way between the
 * ranks of the first and the last equal one, twice. Both searches run side by
 * side. */
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

/* Class 1..top of part out of whole, part < whole. */
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

/* The number of bits, 0 to 32, in steps of a 32nd by the five bits that follow
 * the first. */
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

/* The values from `from` on, up to before `to`, one place up; or down, if `to` is before. */
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
