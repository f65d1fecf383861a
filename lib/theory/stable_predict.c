/* theory/stable_predict.c - error rates of SBF and the IBF filters over a run. See stable.h. The
 * gaps are averaged at SAMPLES times, with linear interpolation between the ages of the grid. */
#include "theory/stable.h"

#include <math.h>
#include <stdlib.h>

#define SAMPLES 48

/* ---- false positives ---- */

static double error_at(const struct cell_history *f, uint32_t l)
{
    return pow(1 - f->empty[l], f->of.k);
}

static double distinct(const struct cell_history *f, uint32_t l)
{
    double sum = 0;

    for (uint32_t c = 0; c < f->classes; c++)
        sum += f->distinct[c * (f->steps + 1) + l];
    return sum;
}

static double false_positives(const struct cell_history *f, const struct key_class *classes)
{
    double wrong = 0, before = 0, all = 0;

    if (isinf(classes->keys.n))
        return error_at(f, f->steps);
    for (uint32_t l = 0; l < f->steps; l++) {
        double now = distinct(f, l + 1);

        wrong += (now - before) * (error_at(f, l) + error_at(f, l + 1)) / 2;
        before = now;
    }
    for (uint32_t c = 0; c < f->classes; c++)
        all += model_distinct(&classes[c].keys, classes->keys.n);
    return (wrong + (all - before) * error_at(f, f->steps)) / all;
}

/* ---- false negatives ---- */

/* 1 - (1 - faded)^K. */
static double miss(const struct cell_history *f, double faded)
{
    double known = 1, power = 1 - faded;

    for (uint32_t k = (uint32_t)f->of.k; k > 0; k >>= 1, power *= power)
        known *= k & 1 ? power : 1;
    return 1 - known;
}

/* The misses of one class so far. */
struct class_misses {
    const struct key_class *class;
    const double *distinct, *fresh; /* D and D' at the ages of the grid */
    double rate;                    /* misses per arrival at the last sample, */
    double missed;                  /* and the total up to then */
};

/* Misses per arrival at time age[now]: the integral of -D'' times miss(), linear between ages. */
static double missed_at(const struct cell_history *f, const struct class_misses *t, uint32_t now,
                        const double *faded)
{
    double sum = 0, from = 0;

    if (t->fresh[0] == 0)
        return 0; /* no key is of this class */
    for (uint32_t l = 0; l < now; l++) {
        double to = miss(f, faded[(l + 1) * (f->of.top + 1) + t->class->level]);

        sum += from * t->fresh[l] - to * t->fresh[l + 1] +
               (to - from) * (t->distinct[l + 1] - t->distinct[l]) / (f->age[l + 1] - f->age[l]);
        from = to;
    }
    return sum;
}

static void add_sample(const struct cell_history *f, struct class_misses *t, uint32_t before,
                       uint32_t now, const double *faded)
{
    double rate = missed_at(f, t, now, faded);

    t->missed += (f->age[now] - f->age[before]) * (t->rate + rate) / 2;
    t->rate = rate;
}

/* Add the arrivals after the last sample. Only gaps longer than the grid still change. */
static void add_rest(const struct cell_history *f, struct class_misses *t, const double *faded)
{
    const struct stream_model *keys = &t->class->keys;
    double last = f->age[f->steps], fresh = t->fresh[f->steps];
    double lost = miss(f, faded[f->steps * (f->of.top + 1) + t->class->level]);

    if (isinf(keys->n))
        t->missed = t->rate + lost * (fresh - keys->fresh);
    else
        t->missed += (keys->n - last) * (t->rate + lost * fresh) -
                     lost * (model_distinct(keys, keys->n) - t->distinct[f->steps]);
}

static void add_all(struct cell_history *f, struct class_misses *misses, double *faded)
{
    uint32_t before = 0;

    for (uint32_t i = isinf(misses->class->keys.n) ? SAMPLES : 1; i <= SAMPLES; i++) {
        uint32_t now = f->steps * i / SAMPLES;

        history_faded(f, now, faded);
        for (uint32_t c = 0; c < f->classes; c++)
            add_sample(f, &misses[c], before, now, faded);
        before = now;
    }
    for (uint32_t c = 0; c < f->classes; c++)
        add_rest(f, &misses[c], faded);
}

/* Repeats among all arrivals; per arrival if the stream is unbounded. */
static double repeats(const struct stream_model *keys)
{
    double share = model_new(keys, 0);

    return isinf(keys->n) ? share - keys->fresh : share * keys->n - model_distinct(keys, keys->n);
}

static void sum_up(const struct class_misses *misses, uint32_t n, struct prediction *p)
{
    double missed = 0, all = 0;

    for (uint32_t c = 0; c < n; c++) {
        double again = repeats(&misses[c].class->keys);

        p->class_share[c + 1] = model_new(&misses[c].class->keys, 0);
        p->class_fnr[c + 1] = again > 0 ? misses[c].missed / again : NAN;
        missed += misses[c].missed;
        all += again;
    }
    p->fnr = all > 0 ? missed / all : NAN;
}

/* The probability that a repeat after a gap is missed at the last sample. */
static double missed_after(const struct cell_history *f, const double *faded, uint32_t level,
                           double gap)
{
    uint32_t l = 0;

    while (l + 1 < f->steps && f->age[l + 1] < gap)
        l++;
    double part = fmin(1, (gap - f->age[l]) / (f->age[l + 1] - f->age[l]));
    double from = miss(f, faded[l * (f->of.top + 1) + level]);
    return from + part * (miss(f, faded[(l + 1) * (f->of.top + 1) + level]) - from);
}

static void add_gap(const struct cell_history *f, const struct key_class *classes,
                    const double *faded, struct prediction *p)
{
    double sum = 0, shares = 0;

    for (uint32_t c = 0; c < f->classes; c++) {
        double missed = missed_after(f, faded, classes[c].level, p->gap);

        p->class_gap_missed[c + 1] = missed;
        sum += p->class_share[c + 1] * missed;
        shares += p->class_share[c + 1];
    }
    p->gap_missed = sum / shares;
}

static bool false_negatives(struct cell_history *f, const struct key_class *classes,
                            struct prediction *p)
{
    size_t ages = f->steps + 1;
    struct class_misses *misses = calloc(f->classes, sizeof *misses);
    double *faded = malloc(ages * (f->of.top + 1) * sizeof *faded);
    bool ok = misses && faded;

    for (uint32_t c = 0; ok && c < f->classes; c++)
        misses[c] =
            (struct class_misses){&classes[c], f->distinct + c * ages, f->fresh + c * ages, 0, 0};
    if (ok) {
        add_all(f, misses, faded);
        sum_up(misses, f->classes, p);
        if (p->gap > 0)
            add_gap(f, classes, faded, p);
    }
    free(misses);
    free(faded);
    return ok;
}

/* ---- both ---- */

static double stable_limit(const struct cell_filter *of, const struct key_class *classes,
                           uint32_t n)
{
    struct stable s = {of->harmonic, of->top, of->cells, {0}};

    for (uint32_t c = 0; c < n; c++)
        s.mix[classes[c].level] += model_new(&classes[c].keys, 0);
    return stable_error_of(&s, (uint64_t)of->k, of->decay);
}

bool stable_predict(const struct cell_filter *of, const struct key_class *classes, uint32_t n,
                    struct prediction *p)
{
    struct cell_history f;

    if (!history_open(&f, of, classes, n))
        return false;
    p->fpr = false_positives(&f, classes);
    p->fill = 1 - f.empty[f.steps];
    p->error = error_at(&f, f.steps);
    p->stable = stable_limit(of, classes, n);
    bool ok = false_negatives(&f, classes, p);
    history_close(&f);
    return ok;
}
