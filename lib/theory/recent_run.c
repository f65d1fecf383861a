/* theory/recent_run.c - the filter recent on any stream; slots.h says how. */
#include <math.h>

#include "theory/recent.h"

#define KEYS_MOST 256 /* that a line meets, until it is full */
#define LOADS 2560    /* keys per line, for which misses are tabled */
#define LOADS_EACH 16 /* of them per key */

struct line {
    const struct slots *f;
    const struct stream_model *m;
    uint32_t full;            /* keys that fill it */
    double error[KEYS_MOST];  /* after so many keys, up to full */
    double used[KEYS_MOST];   /* share of its slots */
    double missed[LOADS + 1]; /* after so many sixteenths of a key came to the line */
    double worst;             /* missed after very many */
    double gone;              /* missed after its window */
};

static double values_of(uint32_t width)
{
    return ldexp(255, (int)width - 8);
}

static double prints_of(double keys, uint32_t width)
{
    double values = values_of(width);

    return -values * expm1(keys * log1p(-1 / values));
}

/* ---- how full ---- */

static void fill_line(struct line *l)
{
    const struct slots *f = l->f;
    uint32_t last = f->widths - 1, i = 0;
    double most = f->room[last];

    for (uint32_t keys = 0; keys < KEYS_MOST; keys++) {
        while (i < last && prints_of(keys, f->width[i]) > f->room[i])
            i++;
        double prints = fmin(prints_of(keys, f->width[i]), f->room[i]);

        l->full = keys;
        l->error[keys] = prints / values_of(f->width[i]);
        l->used[keys] = fmin(prints / most, 1);
        if (i == last && prints >= most)
            break;
    }
}

/* The mean of a value over lines that have met so many keys on average. */
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

/* ---- how long ---- */

/* The chance that fewer than all slots were taken by others meanwhile. */
static double stays(const struct slots *f, double keys)
{
    double values = values_of(f->width[f->widths - 1]), slots = f->room[f->widths - 1];
    double there = -expm1(-keys / values), chance = exp(-keys * (values - 1) / values), sum = 0;

    for (double i = 0; i < slots; i++) {
        sum += chance;
        chance *= (values - 1 - i) / (i + 1) * there / (1 - there);
    }
    return fmin(sum, 1);
}

static void table_misses(struct line *l)
{
    double values = values_of(l->f->width[l->f->widths - 1]), step = 1.0 / LOADS_EACH;
    double by_another = 0; /* its fingerprint came with another key since */
    double before = 1;     /* what came to by_another per key */

    for (int i = 0; i <= LOADS; i++) {
        double keys = i * step, now = exp(-keys / values) * stays(l->f, keys);

        by_another += i > 0 ? step / values * (before + now) / 2 : 0;
        l->missed[i] = 1 - (now + by_another);
        before = now;
    }
    l->worst = 1 - by_another;
}

static double missed_after(void *context, double gap)
{
    const struct line *l = context;
    double at = model_distinct(l->m, gap) / l->f->lines * LOADS_EACH;
    double missed = l->worst;

    if (at < LOADS) {
        int i = (int)at;

        missed = l->missed[i] + (at - i) * (l->missed[i + 1] - l->missed[i]);
    }
    if (gap > l->f->window) { /* kept for a quarter more, at the most */
        double live = fmax(0, 1 - (gap / l->f->window - 1) * 4);

        missed = live * missed + (1 - live) * l->gone;
    }
    return missed;
}

/* ---- over a stream ---- */

/* Arrivals of which a line has the keys, at time t. */
static double stretch(const struct line *l, double t)
{
    return fmin(t, l->f->window * 1.125);
}

/* Widths only narrow: after many windows a line has the width of the fullest moment,
 * which comes at the end of a quarter, with the keys of a mean one. */
static double error_after_windows(const struct line *l, double keys, double windows)
{
    const struct slots *f = l->f;
    double slots = f->room[f->widths - 1], used = slots * mean_over_lines(l, l->used, keys);
    double most = model_distinct(l->m, f->window * 1.25) / f->lines, before = 0, error = 0;

    for (uint32_t i = 0; i < f->widths; i++) {
        double fits = 0, chance = exp(-most);

        for (uint32_t n = 0; n <= f->room[i]; n++) {
            fits += chance;
            chance *= most / (n + 1);
        }
        fits = i + 1 < f->widths ? pow(fmin(fits, 1), windows) : 1;
        error += (fits - before) * used / values_of(f->width[i]);
        before = fits;
    }
    return error;
}

static double error_at(const struct line *l, double t)
{
    double keys = model_distinct(l->m, stretch(l, t)) / l->f->lines;

    if (t > l->f->window * 1.125) /* sliding windows are as good as so many apart: measured */
        return error_after_windows(l, keys, 1.5 * t / l->f->window);
    return mean_over_lines(l, l->error, keys);
}

static double mean_error(const struct line *l)
{
    double news = 0, wrong = 0, end = l->m->n, t = 0, next = fmin(end, l->f->lines / 16);

    for (; t < end; t = next, next = fmin(end, next * MODEL_STEP)) {
        double fresh = model_distinct(l->m, next) - model_distinct(l->m, t);

        news += fresh;
        wrong += fresh * error_at(l, (t + next) / 2);
    }
    return wrong / news;
}

void slots_predict(const struct slots *f, const struct stream_model *m, struct prediction *p)
{
    struct line l = {.f = f, .m = m};
    bool endless = isinf(m->n);

    fill_line(&l);
    table_misses(&l);
    p->error = error_at(&l, m->n);
    p->fill = mean_over_lines(&l, l.used, model_distinct(m, stretch(&l, m->n)) / f->lines);
    p->fpr = endless ? p->error : mean_error(&l);
    l.gone = 1 - p->error;
    p->fnr = model_missed(m, missed_after, &l);
    p->stable = l.error[l.full];
    p->gap_missed = missed_after(&l, p->gap);
}
