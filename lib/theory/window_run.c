/* theory/window_run.c - two-buffer and apbf on any stream.
 *
 * Both take distinct keys until a period is over, then drop the oldest. A period
 * lasts T arrivals, with D(T) = the keys it takes; all are alike, but that the
 * first find the filter empty. So both are looked at at some moments of each
 * period, u arrivals after it began; of many periods only some are looked at. */
#include <math.h>

#include "bloom.h"
#include "window.h"

#define MOMENTS 16        /* of a period */
#define PERIODS_EACH 64   /* looked at one by one */
#define PERIODS_MOST 4096 /* and never more than that: later ones are as the last */

/* What an arrival meets. */
struct meeting {
    double error, missed, fill;
};

struct periods {
    const struct stream_model *m;
    double length; /* INFINITY: it never ends */
    struct meeting (*meet)(const void *filter, const struct periods *p, double period, double u);
    const void *filter;

    double steady; /* from this period on all meet the same, but for how many are new */
    bool kept;
    struct meeting met[MOMENTS];
};

struct sums {
    double news, repeats, false_seen, false_new;
};

/* What is met at the i-th moment of a whole period. New arrivals are not missed: of
 * later periods only their share is worked out. */
static struct meeting meet_whole(struct periods *p, double number, double u, int i)
{
    double t = number * p->length + u, first = p->steady * p->length + u;

    if (number < p->steady || isinf(p->m->n))
        return p->meet(p->filter, p, number, u);
    if (!p->kept)
        p->met[i] = p->meet(p->filter, p, p->steady, u);
    struct meeting x = p->met[i];
    x.missed += (model_new(p->m, first) - model_new(p->m, t)) * (1 - x.error);
    return x;
}

/* So many periods as the one that begins at `start`, up to its u = end. */
static void add_period(struct periods *p, double number, double end, double times, struct sums *s)
{
    double start = number > 0 ? number * p->length : 0;
    bool whole = end == p->length;

    for (int i = 0; i < MOMENTS; i++) {
        double a = start + end * i / MOMENTS, b = start + end * (i + 1) / MOMENTS;
        double u = (a + b) / 2 - start;
        struct meeting x = whole ? meet_whole(p, number, u, i) : p->meet(p->filter, p, number, u);
        double fresh = isinf(p->m->n) ? (b - a) * p->m->fresh
                                      : model_distinct(p->m, b) - model_distinct(p->m, a);

        s->news += times * fresh;
        s->repeats += times * (b - a - fresh);
        s->false_seen += times * fresh * x.error;
        s->false_new += times * (b - a) * x.missed;
    }
    p->kept |= whole && number >= p->steady;
}

/* All whole periods; of more than a few, ever longer rows by the one in their middle. */
static void add_periods(struct periods *p, double whole, struct sums *s)
{
    for (double first = 0, row; first < whole; first += row) {
        row = first < PERIODS_EACH ? 1 : fmin(floor(first / PERIODS_EACH * 2), whole - first);
        add_period(p, first + floor(row / 2), p->length, row, s);
    }
}

static void predict(struct periods *p, struct prediction *out)
{
    bool endless = isinf(p->m->n);
    double whole = endless ? PERIODS_MOST : floor(p->m->n / p->length);
    double rest = endless ? 0 : whole > 0 ? p->m->n - whole * p->length : p->m->n;
    struct sums s = {0};

    if (endless)
        add_period(p, whole, p->length, 1, &s);
    else
        add_periods(p, whole, &s);
    if (rest > 0)
        add_period(p, whole, rest, 1, &s);
    struct meeting last = p->meet(p->filter, p, whole, endless ? p->length / 2 : rest);
    out->fpr = s.false_seen / s.news;
    out->fnr = s.repeats > 1e-9 * (s.news + s.repeats) ? s.false_new / s.repeats : NAN;
    out->fill = last.fill;
    out->error = last.error;
}

/* Repeats whose gap is longer than this, at time t. */
static double longer(const struct stream_model *m, double gap, double t)
{
    return gap < t ? model_new(m, gap) - (isinf(m->n) ? m->fresh : model_new(m, t)) : 0;
}

static double time_of(const struct periods *p, double period, double u)
{
    return period > 0 ? period * p->length + u : u;
}

/* ---- two-buffer ---- */

/* Seen if it came in this period or the one before. */
static struct meeting meet_two(const void *filter, const struct periods *p, double period, double u)
{
    const struct two_buffer *f = filter;
    double k = (double)f->k, per_cell = k / f->cells;
    double fill[2] = {-expm1(-model_distinct(p->m, u) * per_cell),
                      period > 0 ? -expm1(-model_distinct(p->m, p->length) * per_cell) : 0};
    double error = two_buffer_error_at(fill, f->k);
    double both = period > 0 ? p->length + u : u; /* keys of both have the same places in both */
    double missed = period > 0 ? longer(p->m, both, time_of(p, period, u)) : 0;

    return (struct meeting){error, missed * (1 - error),
                            -expm1(-model_distinct(p->m, both) * per_cell)};
}

void two_buffer_predict(const struct two_buffer *f, const struct stream_model *m,
                        struct prediction *p)
{
    double shown = two_buffer_shown(f->cells, f->window, f->k);
    struct periods periods = {m, model_age(m, shown), meet_two, f, .steady = 2}, fresh = periods;
    struct stream_model endless;

    predict(&periods, p);
    model_endless(&endless, INFINITY);
    fresh.m = &endless;
    fresh.length = shown;
    struct prediction settled;
    predict(&fresh, &settled);
    p->stable = settled.fpr;
}

/* ---- apbf ---- */

/* The arrivals of which a slice of this age has the keys. It took keys while its age
 * was below k. */
static double stretch_of_slice(const struct periods *p, uint64_t k, double age, double period,
                               double u)
{
    double first = fmax(0, period - age), last = period - age + (double)k - 1;

    if (last < 0)
        return 0;
    return last >= period ? time_of(p, period - first, u) : (last - first + 1) * p->length;
}

static double fill_slices(const struct apbf *f, const struct periods *p, double period, double u,
                          double *fill)
{
    double sum = 0;

    for (uint64_t i = 0; i < f->k + f->slices; i++) {
        double arrivals = stretch_of_slice(p, f->k, (double)i, period, u);

        fill[i] = -expm1(-model_distinct(p->m, arrivals) / f->bits);
        sum += fill[i];
    }
    return sum / (double)(f->k + f->slices);
}

/* Certain for l generations; after that its lost bits must be there by chance. */
static struct meeting meet_apbf(const void *filter, const struct periods *p, double period,
                                double u)
{
    const struct apbf *f = filter;
    double fill[WINDOW_SLICES], all = fill_slices(f, p, period, u, fill);
    double error = apbf_error_at(fill, f->k, f->slices), t = time_of(p, period, u);
    double chance = 1, missed = 0;

    for (uint64_t age = f->slices + 1; age <= f->slices + f->k && (double)age <= period; age++) {
        double begins = u + (double)(age - 1) * p->length, ends = begins + p->length;

        chance *= fill[age - 1];
        missed += (longer(p->m, begins, t) - longer(p->m, ends, t)) * (1 - chance);
    }
    if ((double)(f->slices + f->k) < period)
        missed += longer(p->m, u + (double)(f->slices + f->k) * p->length, t);
    return (struct meeting){error, missed * (1 - error), all};
}

/* The chance that an arrival is taken, u after a period began, in the long run. It is
 * not, if the k youngest slices have it: it came in this period, or earlier, and the
 * bits it has not set in the slices since are there by chance. */
static double taken_at(const struct apbf *f, const struct periods *p, double u)
{
    double there = 1, taken = 0, shorter = model_new(p->m, u);

    for (uint64_t age = 1; age <= f->k; age++) {
        double rest = model_new(p->m, u + (double)age * p->length);
        double keys = model_distinct(p->m, u + (double)(age - 1) * p->length);

        there *= -expm1(-keys / f->bits);
        taken += (shorter - rest) * (1 - there);
        shorter = rest;
    }
    return taken + shorter * (1 - there);
}

static double taken_in(const struct apbf *f, const struct periods *p)
{
    double taken = 0;

    for (int i = 0; i < MOMENTS; i++)
        taken += taken_at(f, p, p->length * (i + 0.5) / MOMENTS) * p->length / MOMENTS;
    return taken;
}

/* The period in which a generation is taken: longer than until as many distinct keys
 * have come. */
static double period_of(const struct apbf *f, const struct stream_model *m)
{
    struct periods p = {.m = m, .length = model_age(m, f->generation)};

    for (int i = 0; i < 8 && p.length < m->n; i++)
        p.length *= f->generation / taken_in(f, &p);
    return p.length;
}

void apbf_predict(const struct apbf *f, const struct stream_model *m, struct prediction *p)
{
    double slices = (double)(f->k + f->slices);
    struct periods periods = {m, period_of(f, m), meet_apbf, f, .steady = slices + 1};
    struct periods fresh = periods;
    struct stream_model endless;
    struct prediction settled;

    predict(&periods, p);
    model_endless(&endless, INFINITY);
    fresh.m = &endless;
    fresh.length = f->generation;
    predict(&fresh, &settled);
    p->stable = settled.fpr;
}
