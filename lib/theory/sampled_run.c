/* theory/sampled_run.c - RSBF, BSBF, BSBFSD and RLBSBF on any stream; sampled.h
 * has the equations. Times and gaps grow by a factor from step to step, since what
 * happens early happens fast. */
#include <math.h>

#include "theory/sampled.h"

#define STEPS 1200
#define SETTLED 300 /* times s, by when those that settle have */
#define FIRST 0.002 /* of s: the first step, before which hardly a bit is set */

/* The past: at the end of each step how much has been cleared and inserted. */
struct moment {
    double inserted; /* sum of the chances to be inserted: the time that bits know */
    double cleared;  /* sum of c(t) */
};

struct gap {
    double age;
    double alone;  /* exp(-D/s) */
    double longer; /* D': arrivals with a longer one */
};

struct sampled_run {
    const struct sampled *f;
    const struct stream_model *m;
    struct moment past[STEPS];
    uint32_t moments;
    struct gap gap[STEPS];
    uint32_t gaps;
};

/* What an arrival meets at one moment. */
struct sampled_meeting {
    double fresh;     /* chance that it is new */
    double empty;     /* that a bit of a new one is zero */
    double error;     /* that it is taken for seen */
    double missed;    /* that it is a repeat and missed */
    double own_empty; /* that it is a repeat, times that one bit of it is zero */
};

static double cleared_at(const struct sampled_run *r, double inserted, uint32_t *at)
{
    while (*at > 0 && r->past[*at].inserted > inserted)
        --*at;
    const struct moment *a = &r->past[*at], *b = a + 1;
    double width = b->inserted - a->inserted;

    return a->cleared +
           (width > 0 ? (inserted - a->inserted) / width * (b->cleared - a->cleared) : 0);
}

/* 1 - (1 - empty)^k: what is asked for most often here. */
static double missed_with(double empty, uint64_t k)
{
    double kept = 1, power = 1 - empty;

    for (; k > 0; k >>= 1, power *= power)
        kept *= k & 1 ? power : 1;
    return 1 - kept;
}

/* The bits of an arrival at time t, the last of the moments. */
static struct sampled_meeting meet(const struct sampled_run *r, double t)
{
    uint32_t last = r->moments - 1, at = last - 1;
    const struct moment *now = &r->past[last];
    double empty = 0, kept = 1, alone = 1, longer = 1, end = now->inserted;
    struct sampled_meeting x = {.fresh = model_new(r->m, t)};

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
    x.missed += (longer - x.fresh) * (1 - x.error); /* shown before, but never inserted */
    x.own_empty += (longer - x.fresh) * x.empty;
    return x;
}

/* The chance that a key shown so many arrivals ago, and then set, is missed by now. */
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

static bool is_reservoir(const struct sampled *f)
{
    return f->kind == SAMPLED_RSBF || f->kind == SAMPLED_RSBF_TABLES;
}

static bool is_late(const struct sampled *f, double t)
{
    return f->bits < f->p_star * t;
}

/* The chance that an arrival that finds a zero bit is inserted. */
static double insertion(const struct sampled *f, double t)
{
    return is_reservoir(f) && !is_late(f, t) && t > f->bits ? f->bits / t : 1;
}

/* The chance that a bit is cleared by an arrival. */
static double clearing(const struct sampled *f, const struct sampled_meeting *x, double t)
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
        if (is_late(f, t)) /* one that is set, for each that was not */
            return (x->fresh * x->empty + x->own_empty) / (1 - x->empty) / f->bits;
        if (f->kind == SAMPLED_RSBF_TABLES)
            return insertion(f, t) / f->bits;
        return t > f->bits ? reported_new * insertion(f, t) / f->bits : 0;
    }
}

static double inserted_between(const struct sampled *f, double a, double b)
{
    double middle = (a + b) / 2;

    return (b - a) * insertion(f, middle);
}

/* From a to b, with what was met at a: once to see how it will be at b, and once
 * more with the mean of both. */
static struct sampled_meeting step(struct sampled_run *r, double a, double b,
                                   struct sampled_meeting x)
{
    const struct moment *before = &r->past[r->moments - 1];
    struct moment *now = &r->past[r->moments++];
    double begins = clearing(r->f, &x, a + (b - a) * 1e-6), rate = begins;

    now->inserted = before->inserted + inserted_between(r->f, a, b);
    for (int i = 0; i < 2; i++) {
        now->cleared = before->cleared + (b - a) * rate;
        x = meet(r, b);
        rate = (begins + clearing(r->f, &x, b)) / 2;
    }
    return x;
}

static void lay_gaps(struct sampled_run *r, double first, double end)
{
    r->gap[r->gaps++] = (struct gap){0, 1, 1};
    for (double age = first; r->gaps < STEPS; age *= MODEL_STEP) {
        r->gap[r->gaps++] =
            (struct gap){age, exp(-model_distinct(r->m, age) / r->f->bits), model_new(r->m, age)};
        if (age > end)
            break;
    }
}

static double settles_at(const struct sampled *f)
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

/* Some creep towards a fill of 1 with a distance that falls as 1/t. Steps must be
 * short against s to follow that, for as long as it matters. */
static bool creeps(const struct sampled *f)
{
    return f->kind == SAMPLED_BSBFSD || f->k == 1;
}

/* Times end at reservoir sampling's turns, where its rules change. */
static double next_time(const struct sampled *f, double t, double end)
{
    double next = t > 0 ? t * MODEL_STEP : FIRST * f->bits;
    double turns[] = {f->bits, f->bits / f->p_star}, longest = fmax(f->bits / 4, end / (STEPS / 2));

    if (creeps(f))
        next = fmin(next, t + longest);
    for (int i = 0; i < 2; i++)
        if (t < turns[i] && next > turns[i])
            next = turns[i];
    return fmin(next, end);
}

void sampled_predict(const struct sampled *f, const struct stream_model *m, struct prediction *p)
{
    struct sampled_run r = {.f = f, .m = m, .moments = 1};
    double end = isinf(m->n) ? SETTLED * f->bits : m->n, news = 0, repeats = 0, wrong[2] = {0, 0};
    struct sampled_meeting x = {.fresh = 1, .empty = 1};

    lay_gaps(&r, FIRST * f->bits, end);
    for (double t = 0, next; t < end && r.moments < STEPS; t = next) {
        struct sampled_meeting before = x;

        next = next_time(f, t, end);
        x = step(&r, t, next, before);
        double width = next - t, fresh = model_distinct(m, next) - model_distinct(m, t);
        news += fresh;
        repeats += width - fresh;
        wrong[0] += fresh * (before.error + x.error) / 2;
        wrong[1] += width * (before.missed + x.missed) / 2;
    }
    p->stable = settles_at(f);
    p->paper = sampled_paper(f, m->n);
    p->fill = 1 - x.empty;
    p->error = x.error;
    p->fpr = wrong[0] / news;
    p->fnr = repeats > 1e-9 * end ? wrong[1] / repeats : NAN;
    if (p->gap > 0 && !is_reservoir(f)) /* which does not set every key */
        p->gap_missed = missed_after(&r, p->gap);
    if (isinf(m->n)) { /* what has not come by then has been forgotten when it does */
        p->fpr = x.error;
        p->fnr = m->fresh == 1 ? NAN
                               : (x.missed + (x.fresh - m->fresh) * (1 - x.error)) / (1 - m->fresh);
    }
}
