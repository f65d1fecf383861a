/* theory/sampled.c - see sampled.h. Times and gaps grow geometrically from step to step, because
 * the early changes are the fastest. */
#include "theory/sampled.h"

#include <math.h>

#define STEPS 1200  /* at most */
#define SETTLED 300 /* arrays of arrivals until a stable filter is at its limit */
#define FIRST 0.002 /* length of the first step, as a share of s: few bits are set before */

static bool is_reservoir(const struct sampled *f)
{
    return f->kind == SAMPLED_RSBF || f->kind == SAMPLED_RSBF_TABLES;
}

static bool is_late(const struct sampled *f, double t)
{
    return f->bits < f->p_star * t;
}

/* ---- fresh keys, and the recurrences of the paper ---- */

/* The x in 0..1 at which x^first + ... + x^(first+k-1) = 1. */
static double root(uint64_t first, uint64_t k)
{
    double lo = 0, hi = 1;

    for (int step = 0; step < 60; step++) {
        double x = (lo + hi) / 2, sum = 0;

        for (uint64_t i = 0; i < k; i++)
            sum += pow(x, (double)(first + i));
        if (sum < 1)
            lo = x;
        else
            hi = x;
    }
    return (lo + hi) / 2;
}

double sampled_error_bsbf(uint64_t k)
{
    return pow(root(1, k), (double)k);
}

double sampled_error_rlbsbf(uint64_t k)
{
    return pow(root(2, k), (double)k);
}

double sampled_error_rsbf(uint64_t k, double p_star)
{
    return k == 1 ? 1 - 1 / (exp(1) - log(p_star)) : pow(1 - exp(-1), (double)k);
}

double sampled_error_rsbf_tables(uint64_t k, double p_star)
{
    (void)p_star;
    return pow(0.5, (double)k);
}

/* With y = X^(1/k): y grows by (1-X)(1 - lost y) / s per arrival. For RSBF, from arrival s on, s is
 * replaced by the arrival number, until s divided by it falls below p*. */
static double paper_slope(const struct sampled *f, double t, double y)
{
    double lost = f->kind == SAMPLED_BSBFSD ? 1 / (double)f->k : f->kind == SAMPLED_RLBSBF ? y : 1;
    double slower = is_reservoir(f) && f->bits > f->p_star * t ? fmax(t, f->bits) : f->bits;

    return (1 - pow(y, (double)f->k)) * (1 - lost * y) / slower;
}

double sampled_paper(const struct sampled *f, double n)
{
    double t = 0, y = 0, end = fmin(n, 1e6 * f->bits);

    if (is_reservoir(f)) { /* the first s are inserted, and nothing is cleared */
        t = fmin(n, f->bits);
        y = -expm1(-t / f->bits);
    }
    while (t < end) {
        double h = fmin(end - t, fmax(t, f->bits) / 64);
        double half = y + h / 2 * paper_slope(f, t, y);

        y = fmin(y + h * paper_slope(f, t + h / 2, fmin(half, 1)), 1);
        t += h;
    }
    return pow(y, (double)f->k);
}

/* ---- any stream ---- */

/* Totals at the end of a step. */
struct moment {
    double inserted; /* sum of the insertion probabilities */
    double cleared;  /* sum of c(t) */
};

/* A gap between two arrivals of a key. */
struct gap {
    double age;
    double alone;  /* exp(-D/s): no other key of the bit arrived */
    double longer; /* D': share of arrivals with a longer gap */
};

struct sampled_run {
    const struct sampled *f;
    const struct stream_model *m;
    struct moment past[STEPS];
    uint32_t moments;
    struct gap gap[STEPS];
    uint32_t gaps;
};

/* The probabilities of an arrival at one moment. */
struct arrival_odds {
    double fresh;     /* the key is new */
    double empty;     /* a bit of a new key is zero */
    double error;     /* a new key is a false positive */
    double missed;    /* it is a repeat and missed */
    double own_empty; /* it is a repeat, times: one of its bits is zero */
};

/* The total cleared when the total inserted was `inserted`. *at is a cursor that moves back. */
static double cleared_at(const struct sampled_run *r, double inserted, uint32_t *at)
{
    while (*at > 0 && r->past[*at].inserted > inserted)
        --*at;
    const struct moment *a = &r->past[*at], *b = a + 1;
    double width = b->inserted - a->inserted;

    return a->cleared +
           (width > 0 ? (inserted - a->inserted) / width * (b->cleared - a->cleared) : 0);
}

/* 1 - (1 - empty)^k. The hot path: by squaring, not pow(). */
static double missed_with(double empty, uint64_t k)
{
    double kept = 1, power = 1 - empty;

    for (; k > 0; k >>= 1, power *= power)
        kept *= k & 1 ? power : 1;
    return 1 - kept;
}

/* The odds of an arrival at time t, the last of the moments. */
static struct arrival_odds odds_at(const struct sampled_run *r, double t)
{
    uint32_t last = r->moments - 1, at = last - 1;
    const struct moment *now = &r->past[last];
    double empty = 0, kept = 1, alone = 1, longer = 1, end = now->inserted;
    struct arrival_odds x = {.fresh = model_new(r->m, t)};

    for (uint32_t i = 1; i < r->gaps && r->gap[i - 1].age < end; i++) {
        struct gap g = r->gap[i];

        if (g.age > end)
            g = (struct gap){end, exp(-model_distinct(r->m, end) / r->f->bits),
                             model_new(r->m, end)};
        double kept_on = exp(cleared_at(r, end - g.age, &at) - now->cleared);
        double more = (alone + g.alone) / 2 * (kept - kept_on), middle = empty + more / 2;

        x.missed += (longer - g.longer) * missed_with(middle, r->f->k);
        x.own_empty += (longer - g.longer) * middle;
        empty += more;
        kept = kept_on;
        alone = g.alone;
        longer = g.longer;
    }
    x.empty = empty + kept * alone;
    x.error = exp((double)r->f->k * log1p(-x.empty));
    x.missed += (longer - x.fresh) * (1 - x.error); /* arrived before, but was never inserted */
    x.own_empty += (longer - x.fresh) * x.empty;
    return x;
}

/* The probability that a key that was inserted a gap ago is missed now. */
static double missed_after(const struct sampled_run *r, double gap)
{
    uint32_t last = r->moments - 1, at = last - 1;
    double empty = 0, kept = 1, alone = 1, end = fmin(gap, r->past[last].inserted);

    for (uint32_t i = 1; i < r->gaps && r->gap[i - 1].age < end; i++) {
        double age = fmin(r->gap[i].age, end);
        double alone_on = exp(-model_distinct(r->m, age) / r->f->bits);
        double kept_on =
            exp(cleared_at(r, r->past[last].inserted - age, &at) - r->past[last].cleared);

        empty += (alone + alone_on) / 2 * (kept - kept_on);
        kept = kept_on;
        alone = alone_on;
    }
    return missed_with(empty, r->f->k);
}

/* The probability that an arrival with a zero bit is inserted. */
static double insertion(const struct sampled *f, double t)
{
    return is_reservoir(f) && !is_late(f, t) && t > f->bits ? f->bits / t : 1;
}

/* The probability that an arrival clears a given bit. */
static double clearing(const struct sampled *f, const struct arrival_odds *x, double t)
{
    double reported_new = x->fresh * (1 - x->error) + x->missed;

    switch (f->kind) {
    case SAMPLED_BSBF:
        return reported_new / f->bits;
    case SAMPLED_BSBFSD:
        return reported_new / (double)f->k / f->bits;
    case SAMPLED_RLBSBF:
        return reported_new * (1 - x->empty) / f->bits;
    default:
        if (is_late(f, t)) /* clears one set bit for each bit that it sets */
            return (x->fresh * x->empty + x->own_empty) / (1 - x->empty) / f->bits;
        if (f->kind == SAMPLED_RSBF_TABLES)
            return insertion(f, t) / f->bits;
        return t > f->bits ? reported_new * insertion(f, t) / f->bits : 0;
    }
}

/* Advance from a to b, given the odds at a: predict the odds at b with the rate at a, then correct
 * with the mean of both rates. */
static struct arrival_odds step(struct sampled_run *r, double a, double b, struct arrival_odds x)
{
    const struct moment *before = &r->past[r->moments - 1];
    struct moment *now = &r->past[r->moments++];
    double start_rate = clearing(r->f, &x, a + (b - a) * 1e-6), rate = start_rate;

    now->inserted = before->inserted + (b - a) * insertion(r->f, (a + b) / 2);
    for (int i = 0; i < 2; i++) {
        now->cleared = before->cleared + (b - a) * rate;
        x = odds_at(r, b);
        rate = (start_rate + clearing(r->f, &x, b)) / 2;
    }
    return x;
}

static void fill_gaps(struct sampled_run *r, double first, double end)
{
    r->gap[r->gaps++] = (struct gap){0, 1, 1};
    for (double age = first; r->gaps < STEPS; age *= MODEL_STEP) {
        r->gap[r->gaps++] =
            (struct gap){age, exp(-model_distinct(r->m, age) / r->f->bits), model_new(r->m, age)};
        if (age > end)
            break;
    }
}

static double stable_error(const struct sampled *f)
{
    switch (f->kind) {
    case SAMPLED_BSBF:
        return sampled_error_bsbf(f->k);
    case SAMPLED_RLBSBF:
        return sampled_error_rlbsbf(f->k);
    default:
        return NAN;
    }
}

/* The fill approaches 1 with a distance that falls as 1/t. To follow that, steps must be short
 * compared with s. */
static bool approaches_one(const struct sampled *f)
{
    return f->kind == SAMPLED_BSBFSD || f->k == 1;
}

/* Steps end at the two points at which reservoir sampling changes its rules. */
static double next_time(const struct sampled *f, double t, double end)
{
    double next = t > 0 ? t * MODEL_STEP : FIRST * f->bits;
    double changes[] = {f->bits, f->bits / f->p_star},
           longest = fmax(f->bits / 4, end / (STEPS / 2));

    if (approaches_one(f))
        next = fmin(next, t + longest);
    for (int i = 0; i < 2; i++)
        if (t < changes[i] && next > changes[i])
            next = changes[i];
    return fmin(next, end);
}

void sampled_predict(const struct sampled *f, const struct stream_model *m, struct prediction *p)
{
    struct sampled_run r = {.f = f, .m = m, .moments = 1};
    double end = isinf(m->n) ? SETTLED * f->bits : m->n;
    double new_keys = 0, repeats = 0, false_positives = 0, misses = 0;
    struct arrival_odds x = {.fresh = 1, .empty = 1};

    fill_gaps(&r, FIRST * f->bits, end);
    for (double t = 0, next; t < end && r.moments < STEPS; t = next) {
        struct arrival_odds before = x;

        next = next_time(f, t, end);
        x = step(&r, t, next, before);
        double width = next - t, fresh = model_distinct(m, next) - model_distinct(m, t);
        new_keys += fresh;
        repeats += width - fresh;
        false_positives += fresh * (before.error + x.error) / 2;
        misses += width * (before.missed + x.missed) / 2;
    }
    p->stable = stable_error(f);
    p->paper = sampled_paper(f, m->n);
    p->fill = 1 - x.empty;
    p->error = x.error;
    p->fpr = false_positives / new_keys;
    p->fnr = repeats > 1e-9 * end ? misses / repeats : NAN;
    if (p->gap > 0 && !is_reservoir(f)) /* a reservoir does not insert every key */
        p->gap_missed = missed_after(&r, p->gap);
    if (isinf(m->n)) { /* a key that has not arrived by then is evicted when it arrives */
        p->fpr = x.error;
        p->fnr = m->fresh == 1 ? NAN
                               : (x.missed + (x.fresh - m->fresh) * (1 - x.error)) / (1 - m->fresh);
    }
}
