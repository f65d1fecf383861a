/* theory/fade.c - see fade.h.
 *
 * A step of the chain is half a step of being stopped (exactly), a step of
 * lowerings (implicit midpoint, or nearer to implicit Euler where a step is long:
 * nothing becomes negative), and the other half. */
#include "fade.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stable.h"

#define FIRST_STEP 0.02 /* of the time between two events of a cell */
#define GROWTH 1.06
#define STEPS_LEAST 192
#define STEPS_MOST 1024

/* ---- the grid ---- */

/* The age at which all but a millionth of cells were lowered from the top: mean
 * and five sigma of the time it takes, and some more for the tail of few. */
static double horizon(const struct fading *of)
{
    double mean = of->top, variance = of->top;

    if (of->harmonic) {
        mean = of->top * (of->top + 1.0) / 2;
        variance = mean * (2.0 * of->top + 1) / 3;
    }
    return (mean + 5 * sqrt(variance) + 6) * of->cells / of->decay;
}

static void lay_grid(struct fade *f, double arrivals)
{
    double last = fmin(horizon(&f->of), arrivals);
    double step = fmin(FIRST_STEP * f->of.cells / (f->of.k + f->of.decay), last / STEPS_LEAST);
    uint32_t n = 0;

    f->age[0] = 0;
    while (f->age[n] < last && n < STEPS_MOST) {
        f->age[n + 1] = f->age[n] + step;
        step = fmin(step * GROWTH, last / STEPS_LEAST);
        n++;
    }
    f->age[n] = last;
    f->steps = n;
}

/* ---- visits ---- */

/* Of the classes above i, to a cell within each age: into row l, place i. */
static void count_visits(const struct fade *f, const struct fade_class *classes, uint32_t n,
                         double *visits)
{
    uint32_t row = f->of.top + 1;

    for (uint32_t l = 0; l <= f->steps; l++) {
        double *of_age = visits + l * row;

        for (uint32_t c = 0; c < n; c++)
            of_age[classes[c].level - 1] +=
                f->of.k / f->of.cells * model_distinct(&classes[c].keys, f->age[l]);
        for (uint32_t i = f->of.top; i-- > 0;)
            of_age[i] += of_age[i + 1];
    }
}

static void spare(struct fade *f, const struct fade_class *classes, uint32_t n)
{
    uint32_t row = f->of.top + 1;

    count_visits(f, classes, n, f->spared);
    for (uint32_t at = 0; at < f->steps * row; at++)
        f->spared[at] = exp((f->spared[at] - f->spared[at + row]) / 2);
}

/* ---- the chain ---- */

/* How a step moves what was at a count, and what comes to it from below: `stay`
 * of the one and `settle` of the other remain, the rest goes on. */
struct move {
    double stay, settle;
};

static inline struct move move_from(const struct fading *of, double lowerings, uint32_t i)
{
    double x = of->harmonic ? lowerings / (i + 1) : lowerings;
    double implicit = x > 2 ? 1 - 1 / x : 0.5, settle = 1 / (1 + implicit * x);

    return (struct move){(1 - (1 - implicit) * x) * settle, settle};
}

/* Lowerings of a cell of value 1 within a step, looked at from `now`. */
static double lowerings(const struct fade *f, uint32_t now, uint32_t l)
{
    double when = f->age[now] - (f->age[l] + f->age[l + 1]) / 2;
    uint32_t lo = 0, hi = now;

    while (hi - lo > 1) {
        uint32_t mid = (lo + hi) / 2;

        *(f->age[mid] <= when ? &lo : &hi) = mid;
    }
    double part = (when - f->age[lo]) / (f->age[hi] - f->age[lo]);
    double pace = f->pace[lo] + part * (f->pace[hi] - f->pace[lo]);
    return pace * (f->age[l + 1] - f->age[l]);
}

/* From age l to the next: u, and the other way round h. */
static void go_back(const struct fade *f, uint32_t l, double lowered, const double *u, double *next)
{
    const double *spared = f->spared + l * (f->of.top + 1);
    double from_below = 0;

    for (uint32_t i = 0; i < f->of.top; i++) {
        struct move m = move_from(&f->of, lowered, i);
        double here = u[i] * spared[i], left = m.stay * here + m.settle * from_below;

        from_below += here - left;
        next[i] = left * spared[i];
    }
    next[f->of.top] = u[f->of.top] + from_below;
}

static void come_forth(const struct fade *f, uint32_t l, double lowered, double *h)
{
    const double *spared = f->spared + l * (f->of.top + 1);
    double above = h[f->of.top]; /* what a unit is worth that comes to the next count */

    for (uint32_t i = f->of.top; i-- > 0;) {
        struct move m = move_from(&f->of, lowered, i);
        double here = h[i] * spared[i];

        h[i] = (m.stay * here + (1 - m.stay) * above) * spared[i];
        above = m.settle * here + (1 - m.settle) * above;
    }
}

static void pass(struct fade *f, uint32_t now)
{
    uint32_t row = f->of.top + 1;

    memset(f->passed, 0, row * sizeof *f->passed);
    f->passed[0] = 1;
    for (uint32_t l = 0; l < now; l++)
        go_back(f, l, lowerings(f, now, l), f->passed + l * row, f->passed + (l + 1) * row);
}

/* ---- the pace of H ---- */

/* h[i] becomes the share of cells of value i or less at time age[now]. */
static void look(const struct fade *f, uint32_t now, double *h)
{
    for (uint32_t i = 0; i <= f->of.top; i++)
        h[i] = 1;
    for (uint32_t l = now; l-- > 0;)
        come_forth(f, l, lowerings(f, now, l), h);
}

static double pace_at(const struct fading *of, const double *h)
{
    double chance = 0;

    for (uint32_t v = 1; v <= of->top; v++)
        chance += (h[v] - h[v - 1]) / v;
    return stable_draws(of->decay, chance) / of->cells;
}

/* From time to time: guess that nothing changed since the last, and correct. */
static void find_pace(struct fade *f)
{
    double h[STABLE_CLASSES + 1];

    f->pace[0] = stable_draws(f->of.decay, 0) / f->of.cells;
    for (uint32_t now = 1; now <= f->steps; now++) {
        f->pace[now] = f->pace[now - 1];
        for (int again = 0; again < 2; again++) {
            look(f, now, h);
            f->pace[now] = pace_at(&f->of, h);
        }
        f->empty[now] = h[0];
    }
}

/* The others keep one pace, so one chain serves for all times. */
static void keep_pace(struct fade *f)
{
    uint32_t row = f->of.top + 1;

    for (uint32_t l = 0; l <= f->steps; l++)
        f->pace[l] = f->of.decay / f->of.cells;
    pass(f, f->steps);
    for (uint32_t l = 0; l <= f->steps; l++) {
        f->empty[l] = 0;
        for (uint32_t i = 0; i < row; i++)
            f->empty[l] += f->passed[l * row + i];
    }
}

/* ---- open, ask, close ---- */

static bool reserve(struct fade *f)
{
    size_t row = f->of.top + 1, ages = f->steps + 1;

    f->empty = calloc(2 * ages + 2 * ages * row, sizeof *f->empty);
    if (!f->empty)
        return false;
    f->pace = f->empty + ages;
    f->spared = f->pace + ages;
    f->passed = f->spared + ages * row;
    return true;
}

bool fade_open(struct fade *f, const struct fading *of, const struct fade_class *classes,
               uint32_t n)
{
    *f = (struct fade){.of = *of, .age = malloc((STEPS_MOST + 1) * sizeof *f->age)};
    if (f->age)
        lay_grid(f, classes->keys.n);
    if (!f->age || !reserve(f)) {
        fade_close(f);
        return false;
    }
    f->empty[0] = 1;
    spare(f, classes, n);
    if (of->harmonic)
        find_pace(f);
    else
        keep_pace(f);
    return true;
}

void fade_close(struct fade *f)
{
    free(f->age);
    free(f->empty);
}

double fade_find(const struct fade *f, double age, uint32_t *before)
{
    uint32_t l = 0;

    while (l + 1 < f->steps && f->age[l + 1] < age)
        l++;
    *before = l;
    return fmin(1, (age - f->age[l]) / (f->age[l + 1] - f->age[l]));
}

double fade_fill(const struct fade *f, double arrivals)
{
    uint32_t l;
    double part = fade_find(f, arrivals, &l);

    return 1 - f->empty[l] - part * (f->empty[l + 1] - f->empty[l]);
}

void fade_forgotten(struct fade *f, uint32_t now, double *forgotten)
{
    uint32_t top = f->of.top, row = top + 1;
    double h[STABLE_CLASSES + 1];

    if (f->of.harmonic)
        pass(f, now);
    for (uint32_t i = 0; i <= top; i++)
        h[i] = 1;
    for (uint32_t l = now + 1; l-- > 0;) {
        double *of_age = forgotten + l * row, sum = 0;

        if (l < now)
            come_forth(f, l, lowerings(f, now, l), h);
        for (uint32_t i = row; i-- > 0;)
            of_age[i] = sum += f->passed[l * row + i] * h[i];
    }
}
