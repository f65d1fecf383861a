/* theory/stable_run.c - see stable_run.h. */
#include "theory/stable_run.h"

#include <math.h>
#include <stdlib.h>

#include "theory/stable.h"

#define LOOKS 48 /* times at which gaps are averaged over */

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

/* 1 - (1 - forgotten)^K. */
static double miss(const struct cell_history *f, double forgotten)
{
    double known = 1, power = 1 - forgotten;

    for (uint32_t k = (uint32_t)f->of.k; k > 0; k >>= 1, power *= power)
        known *= k & 1 ? power : 1;
    return 1 - known;
}

/* What a look at one class needs and adds to. */
struct class_misses {
    const struct key_class *class;
    const double *distinct, *fresh; /* D and D' at the ages of the grid */
    double rate;                    /* misses per arrival at the last look, */
    double missed;                  /* and all of them up to then */
};

/* Misses per arrival at time age[now]: sum of -D'' times a miss that goes straight
 * from one age to the next. */
static double missed_at(const struct cell_history *f, const struct class_misses *t, uint32_t now,
                        const double *forgotten)
{
    double sum = 0, from = 0;

    if (t->fresh[0] == 0)
        return 0; /* nobody is of this class */
    for (uint32_t l = 0; l < now; l++) {
        double to = miss(f, forgotten[(l + 1) * (f->of.top + 1) + t->class->level]);

        sum += from * t->fresh[l] - to * t->fresh[l + 1] +
               (to - from) * (t->distinct[l + 1] - t->distinct[l]) / (f->age[l + 1] - f->age[l]);
        from = to;
    }
    return sum;
}

static void add_look(const struct cell_history *f, struct class_misses *t, uint32_t before,
                     uint32_t now, const double *forgotten)
{
    double rate = missed_at(f, t, now, forgotten);

    t->missed += (f->age[now] - f->age[before]) * (t->rate + rate) / 2;
    t->rate = rate;
}

/* After the last look nothing changes but that gaps may be longer than the grid. */
static void add_rest(const struct cell_history *f, struct class_misses *t, const double *forgotten)
{
    const struct stream_model *keys = &t->class->keys;
    double last = f->age[f->steps], fresh = t->fresh[f->steps];
    double lost = miss(f, forgotten[f->steps * (f->of.top + 1) + t->class->level]);

    if (isinf(keys->n))
        t->missed = t->rate + lost * (fresh - keys->fresh);
    else
        t->missed += (keys->n - last) * (t->rate + lost * fresh) -
                     lost * (model_distinct(keys, keys->n) - t->distinct[f->steps]);
}

static void look_all(struct cell_history *f, struct class_misses *tallies, double *forgotten)
{
    uint32_t before = 0;

    for (uint32_t i = isinf(tallies->class->keys.n) ? LOOKS : 1; i <= LOOKS; i++) {
        uint32_t now = f->steps * i / LOOKS;

        history_forgotten(f, now, forgotten);
        for (uint32_t c = 0; c < f->classes; c++)
            add_look(f, &tallies[c], before, now, forgotten);
        before = now;
    }
    for (uint32_t c = 0; c < f->classes; c++)
        add_rest(f, &tallies[c], forgotten);
}

/* Of all arrivals, or of one if those have no end. */
static double repeats(const struct stream_model *keys)
{
    double share = model_new(keys, 0);

    return isinf(keys->n) ? share - keys->fresh : share * keys->n - model_distinct(keys, keys->n);
}

static void sum_up(const struct class_misses *tallies, uint32_t n, struct prediction *p)
{
    double missed = 0, all = 0;

    for (uint32_t c = 0; c < n; c++) {
        double again = repeats(&tallies[c].class->keys);

        p->class_share[c + 1] = model_new(&tallies[c].class->keys, 0);
        p->class_fnr[c + 1] = again > 0 ? tallies[c].missed / again : NAN;
        missed += tallies[c].missed;
        all += again;
    }
    p->fnr = all > 0 ? missed / all : NAN;
}

/* A repeat after a gap, at the last look: straight from one age to the next. */
static double missed_after(const struct cell_history *f, const double *forgotten, uint32_t level,
                           double gap)
{
    uint32_t l = 0;

    while (l + 1 < f->steps && f->age[l + 1] < gap)
        l++;
    double part = fmin(1, (gap - f->age[l]) / (f->age[l + 1] - f->age[l]));
    double from = miss(f, forgotten[l * (f->of.top + 1) + level]);
    return from + part * (miss(f, forgotten[(l + 1) * (f->of.top + 1) + level]) - from);
}

static void add_gap(const struct cell_history *f, const struct key_class *classes,
                    const double *forgotten, struct prediction *p)
{
    double sum = 0, shares = 0;

    for (uint32_t c = 0; c < f->classes; c++) {
        double missed = missed_after(f, forgotten, classes[c].level, p->gap);

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
    struct class_misses *tallies = calloc(f->classes, sizeof *tallies);
    double *forgotten = malloc(ages * (f->of.top + 1) * sizeof *forgotten);
    bool ok = tallies && forgotten;

    for (uint32_t c = 0; ok && c < f->classes; c++)
        tallies[c] =
            (struct class_misses){&classes[c], f->distinct + c * ages, f->fresh + c * ages, 0, 0};
    if (ok) {
        look_all(f, tallies, forgotten);
        sum_up(tallies, f->classes, p);
        if (p->gap > 0)
            add_gap(f, classes, forgotten, p);
    }
    free(tallies);
    free(forgotten);
    return ok;
}

/* ---- both ---- */

static double settles_at(const struct cell_filter *of, const struct key_class *classes, uint32_t n)
{
    struct stable s = {of->harmonic, of->top, of->cells, {0}};

    for (uint32_t c = 0; c < n; c++)
        s.mix[classes[c].level] += model_new(&classes[c].keys, 0);
    return stable_error_of(&s, (uint64_t)of->k, of->decay);
}

bool stable_run(const struct cell_filter *of, const struct key_class *classes, uint32_t n,
                struct prediction *p)
{
    struct cell_history f;

    if (!history_open(&f, of, classes, n))
        return false;
    p->fpr = false_positives(&f, classes);
    p->fill = 1 - f.empty[f.steps];
    p->error = error_at(&f, f.steps);
    p->stable = settles_at(of, classes, n);
    bool ok = false_negatives(&f, classes, p);
    history_close(&f);
    return ok;
}
