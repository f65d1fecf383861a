/* theory/stable.c - the steady state of SBF and the IBF filters, and the choice of K and P. See
 * stable.h. */
#include "theory/stable.h"

#include <math.h>
#include <stdlib.h>

#define K_MAX 32

void stable_shares(const double *mix, uint32_t top, double k, double decay, double *shares)
{
    double r = decay / k, at_least = 0, above = 0;

    for (uint32_t i = top; i > 0; i--) {
        at_least += mix[i];
        double t = (at_least + r * above) / (at_least + r);
        shares[i] = t - above;
        above = t;
    }
    shares[0] = 1 - above;
}

/* The expected number of cells lowered, if each draw finds one with this probability: E min(B, P),
 * B binomial. */
static double lowered(double decay, double chance)
{
    double draws = STABLE_TRIES * decay, mean = draws * chance;

    if (mean > 200) { /* B is nearly normal */
        double sigma = sqrt(mean * (1 - chance)), z = (decay - mean) / sigma;

        return mean - sigma * (exp(-z * z / 2) / sqrt(2 * M_PI) - z * erfc(z / M_SQRT2) / 2);
    }
    double exactly = exp(draws * log1p(-chance)), missing = 0;
    for (double found = 0; found < decay && (found < mean || exactly > 1e-18); found++) {
        missing += (decay - found) * exactly;
        exactly *= (draws - found) / (found + 1) * chance / (1 - chance);
    }
    return decay - missing;
}

double stable_draws(double decay, double chance)
{
    return chance > 1e-9 ? lowered(decay, chance) / chance : STABLE_TRIES * decay;
}

/* For ibf-h the equations are implicit in H. For a guess of H, with x = r / H (less if the draws
 * run out), each level follows from those above: A_i (1 - T_(i+1) - V_i) = V_i x / i. Returns the
 * resulting H. */
static double sweep_h(const double *mix, uint32_t top, double x, double *shares)
{
    double at_least = 0, above = 0, harmonic = 0;

    for (uint32_t i = top; i > 0; i--) {
        at_least += mix[i];
        shares[i] = at_least > 0 ? at_least * (1 - above) / (at_least + x / i) : 0;
        above += shares[i];
        harmonic += shares[i] / i;
    }
    shares[0] = 1 - above;
    return harmonic;
}

void stable_shares_h(const double *mix, uint32_t top, double k, double decay, double *shares)
{
    double lo = 1e-12, hi = 1 - 1e-12;

    for (int i = 0; i < 100; i++) {
        double guess = (lo + hi) / 2;

        if (sweep_h(mix, top, stable_draws(decay, guess) / k, shares) > guess)
            lo = guess;
        else
            hi = guess;
    }
}

double stable_empty(uint32_t top, double k, double decay, double cells)
{
    return pow(1 + 1 / (decay * (1 / k - 1 / cells)), -(double)top);
}

double stable_error_at(double fill, uint64_t k)
{
    return pow(fill, (double)k);
}

double stable_error(uint32_t top, uint64_t k, double decay, double cells)
{
    return stable_error_at(1 - stable_empty(top, (double)k, decay, cells), k);
}

struct stable stable_worst(bool harmonic, uint32_t top, double cells)
{
    struct stable s = {harmonic, top, cells, {0}};

    s.mix[top] = 1;
    return s;
}

double stable_error_of(const struct stable *s, uint64_t k, double decay)
{
    double shares[STABLE_CLASSES + 1], visits = 1 / (1 / (double)k - 1 / s->cells);

    (s->harmonic ? stable_shares_h : stable_shares)(s->mix, s->top, visits, decay, shares);
    return stable_error_at(1 - shares[0], k);
}

uint64_t stable_min_decay(const struct stable *s, double error, uint64_t k, uint64_t limit)
{
    uint64_t lo = 0, hi = limit;

    while (hi - lo > 1) {
        uint64_t mid = (lo + hi) / 2;

        if (stable_error_of(s, k, (double)mid) <= error)
            hi = mid;
        else
            lo = mid;
    }
    return hi;
}

double stable_printed_2c(uint32_t top, uint64_t k, double decay)
{
    double r = decay / (double)k;

    return stable_error_at(1 - pow(r / (r + 0.5), top / 2.0), k);
}

uint64_t stable_decay(double error, uint32_t top, uint64_t k, double cells)
{
    double empty = 1 - pow(error, 1 / (double)k);
    double p = 1 / ((pow(empty, -1 / (double)top) - 1) * (1 / (double)k - 1 / cells));

    return p < 1 ? 1 : p > 1e9 ? 1000000000 : (uint64_t)ceil(p - 1e-9);
}

/* The lifetime of a key in lowerings per cell, if no other key raises its cells: the mean time
 * until the first of K cells was lowered M times. life[K] = integral of Q^K, Q(x) = e^-x (1 + x +
 * ... + x^(M-1)/(M-1)!). */
static void lifetimes(uint32_t top, double *life)
{
    double sigma = sqrt(top), step = sigma / 100;

    for (uint64_t k = 0; k <= K_MAX; k++)
        life[k] = 0;
    for (double x = step / 2; x < top + 8 * sigma + 10; x += step) {
        double term = exp(-x), q = 0, power = step;

        for (uint32_t i = 1; i <= top; term *= x / i++)
            q += term;
        for (uint64_t k = 0; k <= K_MAX; k++, power *= q)
            life[k] += power;
    }
}

uint64_t stable_best_k(double error, uint32_t top, double cells)
{
    double life[K_MAX + 1], longest = 0;
    uint64_t best = 1;

    lifetimes(top, life);
    for (uint64_t k = 1; k <= K_MAX && (double)k < cells; k++) {
        double lifetime = life[k] / (double)stable_decay(error, top, k, cells);

        if (lifetime < longest * 0.999)
            continue; /* on a tie prefer the larger K: other keys refresh more of its cells */
        longest = lifetime;
        best = k;
    }
    return best;
}

/* ---- error rates over a run
 *
 * The gaps are averaged at SAMPLES times, with linear interpolation between the ages of the grid.
 * ---- */

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
