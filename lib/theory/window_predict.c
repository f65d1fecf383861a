/* theory/window_predict.c - two-buffer and apbf on any stream.
 *
 * Both insert distinct keys until a period is over, then drop the oldest ones. A period is the
 * number of arrivals T in which it fills. All periods are alike, except the first ones, which start
 * with an empty filter. The model evaluates a few moments of each period, and of many periods only
 * some. D and D' at whole periods before each moment are tabulated. */
#include <math.h>

#include "theory/window.h"

#define MOMENTS 8                 /* evaluated per period */
#define PARTS 16                  /* of a moment, for gaps */
#define PERIODS_EACH 64           /* periods evaluated one by one; later ones in groups */
#define AGES (WINDOW_SLICES + 34) /* periods in the tables */

/* The probabilities of an arrival at one moment. */
struct window_odds {
    double error;
    double evicted; /* the key is not in the filter, ignoring false positives; includes new keys */
    double fill;
};

struct periods {
    const struct stream_model *m;
    const void *filter;
    struct window_odds (*odds)(const void *filter, const struct periods *p, uint32_t period, int i);
    /* The probability that a key is evicted when `ends` periods ended since it arrived. */
    double (*gone)(const void *filter, const struct periods *p, uint32_t period, int i,
                   double ends);
    double length;
    struct window_odds settled[MOMENTS]; /* of every period from `steady` on */
    uint32_t steady;
    double whole[AGES];           /* D of a number of periods */
    double keys[AGES][MOMENTS];   /* D of a number of periods and the part of this one */
    double longer[AGES][MOMENTS]; /* D' of the same */
};

struct sums {
    double all, new_keys, false_seen, false_new;
};

/* Arrivals of a period before its i-th moment. */
static double moment(const struct periods *p, int i)
{
    return p->length * (i + 0.5) / MOMENTS;
}

static void fill_tables(struct periods *p, double length, uint32_t ages)
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

/* The probability that an arrival is new. */
static double new_at(const struct periods *p, double period, int i)
{
    return isinf(p->m->n) ? p->m->fresh : model_new(p->m, period * p->length + moment(p, i));
}

static struct window_odds odds_at(const struct periods *p, double period, int i)
{
    return period < p->steady ? p->odds(p->filter, p, (uint32_t)period, i) : p->settled[i];
}

/* Add the first `share` of a period, `times` over. */
static void add_period(const struct periods *p, double period, double share, double times,
                       struct sums *s)
{
    for (int i = 0; i < MOMENTS; i++) {
        double weight = times * fmin(fmax(share * MOMENTS - i, 0), 1), fresh = new_at(p, period, i);
        struct window_odds x = odds_at(p, period, i);

        s->all += weight;
        s->new_keys += weight * fresh;
        s->false_seen += weight * fresh * x.error;
        s->false_new += weight * fmax(x.evicted - fresh, 0) * (1 - x.error);
    }
}

static void add_periods(const struct periods *p, double whole, struct sums *s)
{
    for (double first = 0, group; first < whole; first += group) {
        group = first < PERIODS_EACH ? 1 : fmin(floor(first / PERIODS_EACH * 2), whole - first);
        add_period(p, first + floor(group / 2), 1, group, s);
    }
}

/* The probability that a repeat after a gap is missed, averaged over the arrivals of a period. */
static double missed_after(const struct periods *p, double period, double gap)
{
    double sum = 0;
    uint32_t now = (uint32_t)fmin(period, p->steady);

    for (int part = 0; part < MOMENTS * PARTS; part++) {
        double at = p->length * (part + 0.5) / (MOMENTS * PARTS);
        double ends = gap > at ? ceil((gap - at) / p->length) : 0;
        int i = part / PARTS;

        if (ends <= period)
            sum += p->gone(p->filter, p, now, i, ends) * (1 - odds_at(p, period, i).error);
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
        p->settled[i] = p->odds(p->filter, p, p->steady, i);
    if (!endless)
        add_periods(p, whole, &s);
    add_period(p, whole, share, 1, &s);
    struct window_odds last = odds_at(p, whole, (int)fmin(share * MOMENTS, MOMENTS - 1));
    double repeats = s.all - s.new_keys;
    out->fpr = s.false_seen / s.new_keys;
    out->fnr = repeats > 1e-9 * s.all ? s.false_new / repeats : NAN;
    out->fill = last.fill;
    out->error = last.error;
    if (out->gap > 0)
        out->gap_missed = missed_after(p, endless ? INFINITY : whole, out->gap);
}

/* A period that is longer than the stream ends with it. */
static double limit_length(const struct stream_model *m, double length)
{
    return length < m->n ? length : m->n * (1 + 1e-9);
}

/* ---- two-buffer ---- */

/* A key is in the filter if it arrived in this period or the one before. */
static struct window_odds odds_two(const void *filter, const struct periods *p, uint32_t period,
                                   int i)
{
    const struct two_buffer *f = filter;
    double per_cell = (double)f->k / f->cells;
    double fill[2] = {-expm1(-p->keys[0][i] * per_cell),
                      period > 0 ? -expm1(-p->whole[1] * per_cell) : 0};

    /* a key has the same positions in both buffers */
    return (struct window_odds){two_buffer_error_at(fill, f->k), period > 0 ? p->longer[1][i] : 0,
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
    struct periods periods = {.m = m, .filter = f, .odds = odds_two, .gone = gone_two, .steady = 2};
    double length = model_age(m, two_buffer_period(f->cells, f->window, f->k));

    fill_tables(&periods, limit_length(m, length), 3);
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

/* The keys in a slice of this age. Keys are inserted while its age is below k. */
static double keys_of_slice(const struct periods *p, uint32_t k, uint32_t age, uint32_t period,
                            int i)
{
    uint32_t first = period > age ? period - age : 0;

    if (period + k <= age)
        return 0;
    uint32_t last = period + k - 1 - age;
    return last >= period ? p->keys[period - first][i] : p->whole[last - first + 1];
}

/* A key is found for l generations. After that the bits of its dropped slices must be set by other
 * keys. */
static struct window_odds odds_apbf(const void *filter, const struct periods *p, uint32_t period,
                                    int i)
{
    const struct apbf *f = filter;
    uint32_t k = (uint32_t)f->k, l = (uint32_t)f->slices;
    double fill[WINDOW_SLICES], all = 0, chance = 1, evicted = 0;

    for (uint32_t age = 0; age < k + l; age++) {
        fill[age] = -expm1(-keys_of_slice(p, k, age, period, i) / f->bits);
        all += fill[age] / (k + l);
    }
    uint32_t oldest = period < l + k ? period : l + k;
    for (uint32_t age = l + 1; age <= oldest; age++) {
        chance *= fill[age - 1];
        evicted += (p->longer[age - 1][i] - p->longer[age][i]) * (1 - chance);
    }
    evicted += p->longer[oldest][i];
    return (struct window_odds){apbf_error_at(fill, f->k, f->slices), evicted, all};
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

/* Keys inserted per period in the long run. A key is not inserted if the k youngest slices contain
 * it: it arrived in this period, or earlier and other keys set its bits in the younger slices. */
static double inserted_per_period(const struct apbf *f, const struct periods *p)
{
    double inserted = 0;

    for (int i = 0; i < MOMENTS; i++) {
        double there = 1, at = 0;

        for (uint32_t age = 0; age < f->k; age++) {
            there *= -expm1(-p->keys[age][i] / f->bits);
            at += (p->longer[age][i] - (age + 1 < f->k ? p->longer[age + 1][i] : 0)) * (1 - there);
        }
        inserted += at * p->length / MOMENTS;
    }
    return inserted;
}

static void predict_apbf(const struct apbf *f, const struct stream_model *m, struct prediction *p)
{
    uint32_t ages = (uint32_t)(f->k + f->slices);
    struct periods periods = {
        .m = m, .filter = f, .odds = odds_apbf, .gone = gone_apbf, .steady = ages + 1};
    double length = model_age(m, f->generation), longer = length;

    for (int i = 0; i < 8 && longer < m->n && !(m->bins == 0 && i > 0); i++) {
        fill_tables(&periods, longer, (uint32_t)f->k);
        length = longer;
        longer *= f->generation / inserted_per_period(f, &periods);
        if (fabs(longer / length - 1) < 1e-3)
            break;
    }
    fill_tables(&periods, limit_length(m, longer), ages + 2);
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
