/* theory/recent.c - see recent.h. Misses are tabulated by the number of keys per line, because the
 * stream model asks for them thousands of times. */
#include "theory/recent.h"

#include <math.h>

#define PARTS 16         /* of a window */
#define EVICTED 0.001    /* maximum share of keys evicted within their window; chosen */
#define KEYS_MAX 256     /* keys until a line is full */
#define LOADS 2560       /* points of the table of misses, */
#define LOADS_PER_KEY 16 /* for each key per line */

double slots_error(uint32_t width, uint32_t n)
{
    return (double)n / ldexp(255, (int)width - 8);
}

uint32_t slots_max(double error, uint32_t width, uint32_t room)
{
    uint32_t n = room;

    while (n > 0 && slots_error(width, n) > error)
        n--;
    return n;
}

/* P(X >= slots), X Poisson. */
static double at_least(uint32_t slots, double mean)
{
    double chance = exp(-mean), fewer = 0;

    for (uint32_t i = 0; i < slots; i++) {
        fewer += chance;
        chance *= mean / (i + 1);
    }
    return 1 - fewer;
}

double slots_load(uint32_t slots)
{
    double lo = 0, hi = slots;

    for (int i = 0; i < 50; i++) {
        double mean = (lo + hi) / 2;

        if (at_least(slots, mean) < EVICTED)
            lo = mean;
        else
            hi = mean;
    }
    return lo;
}

double slots_lines(double keys, uint32_t slots)
{
    return ceil(keys / slots_load(slots));
}

/* One line: tables of its error, fill and misses. */
struct line {
    const struct slots *f;
    const struct stream_model *m;
    uint32_t full;            /* keys until the line is full */
    double error[KEYS_MAX];   /* by number of keys, up to full */
    double used[KEYS_MAX];    /* share of the slots, likewise */
    double missed[LOADS + 1]; /* miss probability by keys per line since, in 1/16 */
    double worst;             /* miss probability beyond the table */
    double gone;              /* miss probability of a key outside the window */
};

static double values_of(uint32_t width)
{
    return ldexp(255, (int)width - 8);
}

/* Expected distinct fingerprints. */
static double distinct_prints(double keys, uint32_t width)
{
    double values = values_of(width);

    return -values * expm1(keys * log1p(-1 / values));
}

/* ---- fill ---- */

/* Tabulate error and fill by the number of keys in a line. */
static void tabulate_fill(struct line *l)
{
    const struct slots *f = l->f;
    uint32_t last = f->widths - 1, i = 0;
    double max = f->room[last];

    for (uint32_t keys = 0; keys < KEYS_MAX; keys++) {
        while (i < last && distinct_prints(keys, f->width[i]) > f->room[i])
            i++;
        double prints = fmin(distinct_prints(keys, f->width[i]), f->room[i]);

        l->full = keys;
        l->error[keys] = prints / values_of(f->width[i]);
        l->used[keys] = fmin(prints / max, 1);
        if (i == last && prints >= max)
            break;
    }
}

/* The mean of a tabulated value over lines with Poisson(keys) keys. */
static double mean_over_lines(const struct line *l, const double *value, double keys)
{
    double chance = exp(-keys), rest = 1, mean = 0;

    if (chance == 0)
        return value[l->full];
    for (uint32_t i = 0; i < l->full; i++) {
        mean += chance * value[i];
        rest -= chance;
        chance *= keys / (i + 1);
    }
    return mean + fmax(rest, 0) * value[l->full];
}

/* ---- retention ---- */

/* The probability that other keys took fewer than all slots. */
static double survives(const struct slots *f, double keys)
{
    double values = values_of(f->width[f->widths - 1]), slots = f->room[f->widths - 1];
    double there = -expm1(-keys / values), chance = exp(-keys * (values - 1) / values), sum = 0;

    for (double i = 0; i < slots; i++) {
        sum += chance;
        chance *= (values - 1 - i) / (i + 1) * there / (1 - there);
    }
    return fmin(sum, 1);
}

static void tabulate_misses(struct line *l)
{
    double values = values_of(l->f->width[l->f->widths - 1]), step = 1.0 / LOADS_PER_KEY;
    double by_another = 0; /* P(another key with the same fingerprint was inserted since) */
    double before = 1;     /* derivative of by_another at the previous point */

    for (int i = 0; i <= LOADS; i++) {
        double keys = i * step, now = exp(-keys / values) * survives(l->f, keys);

        by_another += i > 0 ? step / values * (before + now) / 2 : 0;
        l->missed[i] = 1 - (now + by_another);
        before = now;
    }
    l->worst = 1 - by_another;
}

static double missed_after(void *context, double gap)
{
    const struct line *l = context;
    double at = model_distinct(l->m, gap) / l->f->lines * LOADS_PER_KEY;
    double missed = l->worst;

    if (at < LOADS) {
        int i = (int)at;

        missed = l->missed[i] + (at - i) * (l->missed[i + 1] - l->missed[i]);
    }
    if (gap > l->f->window) { /* a key stays up to a part of a window longer */
        double live = fmax(0, 1 - (gap / l->f->window - 1) * PARTS);

        missed = live * missed + (1 - live) * l->gone;
    }
    return missed;
}

/* ---- over a stream ---- */

/* The latest arrivals whose keys a line holds at time t. */
static double held_arrivals(const struct line *l, double t)
{
    return fmin(t, l->f->window * (1 + 0.5 / PARTS));
}

/* Widths never grow again. After many windows a line has the width of its highest load so far,
 * which occurs at the end of a part of a window, but holds the mean number of keys. */
static double error_after_windows(const struct line *l, double keys, double windows)
{
    const struct slots *f = l->f;
    double slots = f->room[f->widths - 1], used = slots * mean_over_lines(l, l->used, keys);
    double peak = model_distinct(l->m, f->window * (1 + 1.0 / PARTS)) / f->lines, before = 0,
           error = 0;

    for (uint32_t i = 0; i < f->widths; i++) {
        double fits = 0, chance = exp(-peak);

        for (uint32_t n = 0; n <= f->room[i]; n++) {
            fits += chance;
            chance *= peak / (n + 1);
        }
        fits = i + 1 < f->widths ? pow(fmin(fits, 1), windows) : 1;
        error += (fits - before) * used / values_of(f->width[i]);
        before = fits;
    }
    return error;
}

static double error_at(const struct line *l, double t)
{
    double keys = model_distinct(l->m, held_arrivals(l, t)) / l->f->lines;

    if (t > held_arrivals(l, t)) /* a sliding window counts as 1.5 independent ones: measured */
        return error_after_windows(l, keys, 1.5 * t / l->f->window);
    return mean_over_lines(l, l->error, keys);
}

static double mean_error(const struct line *l)
{
    double new_keys = 0, errors = 0, end = l->m->n, t = 0, next = fmin(end, l->f->lines / 16);

    for (; t < end; t = next, next = fmin(end, next * MODEL_STEP)) {
        double fresh = model_distinct(l->m, next) - model_distinct(l->m, t);

        new_keys += fresh;
        errors += fresh * error_at(l, (t + next) / 2);
    }
    return errors / new_keys;
}

void slots_predict(const struct slots *f, const struct stream_model *m, struct prediction *p)
{
    struct line l = {.f = f, .m = m};
    bool endless = isinf(m->n);

    tabulate_fill(&l);
    tabulate_misses(&l);
    p->error = error_at(&l, m->n);
    p->fill = mean_over_lines(&l, l.used, model_distinct(m, held_arrivals(&l, m->n)) / f->lines);
    p->fpr = endless ? p->error : mean_error(&l);
    l.gone = 1 - p->error;
    p->fnr = model_missed(m, missed_after, &l);
    p->stable = l.error[l.full];
    p->gap_missed = missed_after(&l, p->gap);
}
