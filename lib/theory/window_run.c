/* theory/window_run.c - two-buffer and apbf on any stream.
 *
 * Both take distinct keys until a period is over, then drop the oldest. A period
 * lasts T arrivals, in which as many keys are taken as it has room for; all are
 * alike, but that the first find the filter empty. So both are looked at at some
 * moments of each period; of many periods only some are looked at. What is asked of
 * the stream is D and D' at whole periods before each moment: a table. */
#include <math.h>

#include "theory/window.h"

#define MOMENTS 8                 /* of a period */
#define PARTS 16                  /* of a moment, for gaps */
#define PERIODS_EACH 64           /* looked at one by one; after that, rows of them */
#define AGES (WINDOW_SLICES + 34) /* periods that matter */

/* What an arrival meets. */
struct window_meeting {
    double error;
    double missed; /* but for error; new ones count as missed */
    double fill;
};

struct periods {
    const struct stream_model *m;
    const void *filter;
    struct window_meeting (*meet)(const void *filter, const struct periods *p, uint32_t period,
                                  int i);
    /* The chance that a key is not there any more, shown before so many ends of periods. */
    double (*gone)(const void *filter, const struct periods *p, uint32_t period, int i,
                   double ends);
    double length;
    struct window_meeting settled[MOMENTS]; /* in all periods */
    uint32_t steady;                        /* from this period on */
    double whole[AGES];                     /* D of so many periods */
    double keys[AGES][MOMENTS];             /* D of so many periods and the part of this one */
    double longer[AGES][MOMENTS];           /* D' of the same */
};

struct sums {
    double all, news, false_seen, false_new;
};

/* Arrivals of a period before its i-th moment. */
static double moment(const struct periods *p, int i)
{
    return p->length * (i + 0.5) / MOMENTS;
}

static void lay_table(struct periods *p, double length, uint32_t ages)
{
    p->length = length;
    for (uint32_t age = 0; age < ages; age++) {
        p->whole[age] = model_distinct(p->m, age * length);
        for (int i = 0; i < MOMENTS; i++) {
            p->keys[age][i] = model_distinct(p->m, age * length + moment(p, i));
            p->longer[age][i] = model_new(p->m, age * length + moment(p, i));
        }
    }
}

/* ---- a run ---- */

/* The chance to be new at a moment. */
static double new_at(const struct periods *p, double period, int i)
{
    return isinf(p->m->n) ? p->m->fresh : model_new(p->m, period * p->length + moment(p, i));
}

static struct window_meeting meet(const struct periods *p, double period, int i)
{
    return period < p->steady ? p->meet(p->filter, p, (uint32_t)period, i) : p->settled[i];
}

/* So many periods as this one, up to a share of them. */
static void add_period(const struct periods *p, double period, double share, double times,
                       struct sums *s)
{
    for (int i = 0; i < MOMENTS; i++) {
        double weight = times * fmin(fmax(share * MOMENTS - i, 0), 1), fresh = new_at(p, period, i);
        struct window_meeting x = meet(p, period, i);

        s->all += weight;
        s->news += weight * fresh;
        s->false_seen += weight * fresh * x.error;
        s->false_new += weight * fmax(x.missed - fresh, 0) * (1 - x.error);
    }
}

static void add_periods(const struct periods *p, double whole, struct sums *s)
{
    for (double first = 0, row; first < whole; first += row) {
        row = first < PERIODS_EACH ? 1 : fmin(floor(first / PERIODS_EACH * 2), whole - first);
        add_period(p, first + floor(row / 2), 1, row, s);
    }
}

/* A repeat after a gap is missed, in this period; on average over when it comes. */
static double missed_after(const struct periods *p, double period, double gap)
{
    double sum = 0;
    uint32_t now = (uint32_t)fmin(period, p->steady);

    for (int part = 0; part < MOMENTS * PARTS; part++) {
        double at = p->length * (part + 0.5) / (MOMENTS * PARTS);
        double ends = gap > at ? ceil((gap - at) / p->length) : 0;
        int i = part / PARTS;

        if (ends <= period)
            sum += p->gone(p->filter, p, now, i, ends) * (1 - meet(p, period, i).error);
    }
    return sum / (MOMENTS * PARTS);
}

static void predict(struct periods *p, struct prediction *out)
{
    bool endless = isinf(p->m->n);
    double whole = endless ? p->steady : floor(p->m->n / p->length);
    double share = endless ? 1 : p->m->n / p->length - whole;
    struct sums s = {0};

    for (int i = 0; i < MOMENTS && whole >= p->steady; i++)
        p->settled[i] = p->meet(p->filter, p, p->steady, i);
    if (!endless)
        add_periods(p, whole, &s);
    add_period(p, whole, share, 1, &s);
    struct window_meeting last = meet(p, whole, (int)fmin(share * MOMENTS, MOMENTS - 1));
    out->fpr = s.false_seen / s.news;
    out->fnr = s.all - s.news > 1e-9 * s.all ? s.false_new / (s.all - s.news) : NAN;
    out->fill = last.fill;
    out->error = last.error;
    if (out->gap > 0)
        out->gap_missed = missed_after(p, endless ? INFINITY : whole, out->gap);
}

/* One that would not be over by the end is cut there. */
static double within(const struct stream_model *m, double length)
{
    return length < m->n ? length : m->n * (1 + 1e-9);
}

/* ---- two-buffer ---- */

/* Seen if it came in this period or the one before. */
static struct window_meeting meet_two(const void *filter, const struct periods *p, uint32_t period,
                                      int i)
{
    const struct two_buffer *f = filter;
    double per_cell = (double)f->k / f->cells;
    double fill[2] = {-expm1(-p->keys[0][i] * per_cell),
                      period > 0 ? -expm1(-p->whole[1] * per_cell) : 0};

    /* keys of both buffers have the same places in both */
    return (struct window_meeting){two_buffer_error_at(fill, f->k),
                                   period > 0 ? p->longer[1][i] : 0,
                                   -expm1(-p->keys[period > 0][i] * per_cell)};
}

static double gone_two(const void *filter, const struct periods *p, uint32_t period, int i,
                       double ends)
{
    (void)filter;
    (void)p;
    (void)period;
    (void)i;
    return ends > 1;
}

static void predict_two(const struct two_buffer *f, const struct stream_model *m,
                        struct prediction *p)
{
    struct periods periods = {.m = m, .filter = f, .meet = meet_two, .gone = gone_two, .steady = 2};

    lay_table(&periods, within(m, model_age(m, two_buffer_shown(f->cells, f->window, f->k))), 3);
    predict(&periods, p);
}

void two_buffer_predict(const struct two_buffer *f, const struct stream_model *m,
                        struct prediction *p)
{
    struct stream_model endless;
    struct prediction settled = {.gap = 0};

    model_endless(&endless, INFINITY);
    predict_two(f, &endless, &settled);
    predict_two(f, m, p);
    p->stable = settled.fpr;
}

/* ---- apbf ---- */

/* The keys in a slice of this age. It took keys while its age was below k. */
static double keys_of_slice(const struct periods *p, uint32_t k, uint32_t age, uint32_t period,
                            int i)
{
    uint32_t first = period > age ? period - age : 0;

    if (period + k <= age)
        return 0;
    uint32_t last = period + k - 1 - age;
    return last >= period ? p->keys[period - first][i] : p->whole[last - first + 1];
}

/* Certain for l generations; after that its lost bits must be there by chance. */
static struct window_meeting meet_apbf(const void *filter, const struct periods *p, uint32_t period,
                                       int i)
{
    const struct apbf *f = filter;
    uint32_t k = (uint32_t)f->k, l = (uint32_t)f->slices;
    double fill[WINDOW_SLICES], all = 0, chance = 1, missed = 0;

    for (uint32_t age = 0; age < k + l; age++) {
        fill[age] = -expm1(-keys_of_slice(p, k, age, period, i) / f->bits);
        all += fill[age] / (k + l);
    }
    uint32_t oldest = period < l + k ? period : l + k;
    for (uint32_t age = l + 1; age <= oldest; age++) {
        chance *= fill[age - 1];
        missed += (p->longer[age - 1][i] - p->longer[age][i]) * (1 - chance);
    }
    missed += p->longer[oldest][i];
    return (struct window_meeting){apbf_error_at(fill, f->k, f->slices), missed, all};
}

static double gone_apbf(const void *filter, const struct periods *p, uint32_t period, int i,
                        double ends)
{
    const struct apbf *f = filter;
    uint32_t k = (uint32_t)f->k, l = (uint32_t)f->slices;
    double there = 1;

    if (ends > k + l)
        return 1;
    for (uint32_t age = l + 1; age <= (uint32_t)ends; age++)
        there *= -expm1(-keys_of_slice(p, k, age - 1, period, i) / f->bits);
    return 1 - there;
}

/* The keys that are taken in a period, in the long run. One that comes is not, if
 * the k youngest slices have it: it came in this period, or earlier, and the bits it
 * has not set in the slices since are there by chance. */
static double taken_in(const struct apbf *f, const struct periods *p)
{
    double taken = 0;

    for (int i = 0; i < MOMENTS; i++) {
        double there = 1, at = 0;

        for (uint32_t age = 0; age < f->k; age++) {
            there *= -expm1(-p->keys[age][i] / f->bits);
            at += (p->longer[age][i] - (age + 1 < f->k ? p->longer[age + 1][i] : 0)) * (1 - there);
        }
        taken += at * p->length / MOMENTS;
    }
    return taken;
}

static void predict_apbf(const struct apbf *f, const struct stream_model *m, struct prediction *p)
{
    uint32_t ages = (uint32_t)(f->k + f->slices);
    struct periods periods = {
        .m = m, .filter = f, .meet = meet_apbf, .gone = gone_apbf, .steady = ages + 1};
    double length = model_age(m, f->generation), longer = length;

    for (int i = 0; i < 8 && longer < m->n && !(m->bins == 0 && i > 0); i++) {
        lay_table(&periods, longer, (uint32_t)f->k);
        length = longer;
        longer *= f->generation / taken_in(f, &periods);
        if (fabs(longer / length - 1) < 1e-3)
            break;
    }
    lay_table(&periods, within(m, longer), ages + 2);
    predict(&periods, p);
}

void apbf_predict(const struct apbf *f, const struct stream_model *m, struct prediction *p)
{
    struct stream_model endless;
    struct prediction settled = {.gap = 0};

    model_endless(&endless, INFINITY);
    predict_apbf(f, &endless, &settled);
    predict_apbf(f, m, p);
    p->stable = settled.fpr;
}
