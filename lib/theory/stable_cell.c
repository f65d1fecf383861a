/* theory/stable_cell.c - the history of one cell of SBF or IBF. See stable.h.
 *
 * The chain is integrated by operator splitting: half a step of stopping by visits (exact), a step
 * of lowerings, and the other half. Lowerings use the implicit midpoint rule, or nearly implicit
 * Euler if a step is long, so that no probability becomes negative. */
#include "theory/stable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_STEP 0.02 /* share of the shortest mean time between two events of a cell */
#define GROWTH 1.1
#define STEPS_MIN 128
#define STEPS_MAX 1024
#define SAFE_SHARE 0.7 /* of the draws of ibf-h in the steady state: repeats may reduce them */
#define PACES 96       /* times at which the pace of ibf-h is computed */

/* ---- the grid ---- */

/* The minimum draws of ibf-h per arrival. In the steady state on fresh keys the fill is highest, so
 * a draw finds a cell soonest. */
static double min_draws(const struct cell_history *f, const struct key_class *classes)
{
    const struct cell_filter *of = &f->of;
    double mix[STABLE_CLASSES + 1] = {0}, shares[STABLE_CLASSES + 1], chance = 0;

    for (uint32_t c = 0; c < f->classes; c++)
        mix[classes[c].level] += model_new(&classes[c].keys, 0);
    stable_shares_h(mix, of->top, of->k, of->decay, shares);
    for (uint32_t v = 1; v <= of->top; v++)
        chance += shares[v] / v;
    return stable_draws(of->decay, chance);
}

/* The age at which all but a millionth of the cells were lowered from the top to 0: mean plus five
 * sigma, plus a margin for small M. */
static double oldest_age(const struct cell_history *f, const struct key_class *classes)
{
    const struct cell_filter *of = &f->of;
    double mean = of->top, variance = of->top, lowered = of->decay;

    if (of->harmonic) {
        mean = of->top * (of->top + 1.0) / 2;
        variance = mean * (2.0 * of->top + 1) / 3;
        lowered = SAFE_SHARE * min_draws(f, classes);
    }
    return (mean + 5 * sqrt(variance) + 6) * of->cells / lowered;
}

static void make_grid(struct cell_history *f, const struct key_class *classes)
{
    double last = fmin(oldest_age(f, classes), classes->keys.n);
    double max_draws = f->of.harmonic ? STABLE_TRIES * f->of.decay : f->of.decay;
    double step = fmin(FIRST_STEP * f->of.cells / (f->of.k + max_draws), last / STEPS_MIN);
    uint32_t n = 0;

    f->age[0] = 0;
    while (f->age[n] < last && n < STEPS_MAX) {
        f->age[n + 1] = f->age[n] + step;
        step = fmin(step * GROWTH, last / STEPS_MIN);
        n++;
    }
    f->age[n] = last;
    f->steps = n;
}

/* ---- visits ---- */

/* D and D' of all classes at an age. Each exponential is computed once. */
static void count_keys(struct cell_history *f, const struct key_class *classes, uint32_t l)
{
    const struct stream_model *m = &classes->keys;
    size_t ages = f->steps + 1;

    for (uint32_t c = 0; c < f->classes; c++) {
        f->distinct[c * ages + l] = classes[c].keys.fresh * f->age[l];
        f->fresh[c * ages + l] = classes[c].keys.fresh;
    }
    for (uint32_t b = 0; b < m->bins; b++) {
        double rate = m->bin[b].rate, arrived = -expm1(-rate * f->age[l]);

        for (uint32_t c = 0; c < f->classes; c++) {
            f->distinct[c * ages + l] += classes[c].keys.bin[b].keys * arrived;
            f->fresh[c * ages + l] += classes[c].keys.bin[b].keys * rate * (1 - arrived);
        }
    }
}

/* Visits of the classes above i to a cell within an age. */
static void count_visits(struct cell_history *f, const struct key_class *classes, uint32_t l)
{
    double *visits = f->unvisited + l * (f->of.top + 1);

    for (uint32_t c = 0; c < f->classes; c++)
        visits[classes[c].level - 1] += f->of.k / f->of.cells * f->distinct[c * (f->steps + 1) + l];
    for (uint32_t i = f->of.top; i-- > 0;)
        visits[i] += visits[i + 1];
}

/* The probability that no visit stops the chain in half a step. */
static void find_unvisited(struct cell_history *f, const struct key_class *classes)
{
    uint32_t row = f->of.top + 1;

    for (uint32_t l = 0; l <= f->steps; l++) {
        count_keys(f, classes, l);
        count_visits(f, classes, l);
    }
    for (uint32_t at = 0; at < f->steps * row; at++)
        f->unvisited[at] = exp((f->unvisited[at] - f->unvisited[at + row]) / 2);
}

/* ---- the chain ---- */

/* The effect of a step of lowerings on one count: the share `stay` of its own probability and the
 * share `settle` of what arrives from the count below remain. The rest moves to the next count. */
struct move {
    double stay, settle;
};

static inline struct move move_by(double lowered)
{
    double implicit = lowered > 2 ? 1 - 1 / lowered : 0.5, settle = 1 / (1 + implicit * lowered);

    return (struct move){(1 - (1 - implicit) * lowered) * settle, settle};
}

/* Lowerings of a cell of value 1 between the ages l and l + 1 before `now`. */
static double lowerings(const struct cell_history *f, uint32_t now, uint32_t l)
{
    double when = f->age[now] - (f->age[l] + f->age[l + 1]) / 2;
    uint32_t lo = 0, hi = now;

    while (hi - lo > 1) {
        uint32_t mid = (lo + hi) / 2;

        if (f->age[mid] <= when)
            lo = mid;
        else
            hi = mid;
    }
    double part = (when - f->age[lo]) / (f->age[hi] - f->age[lo]);
    double pace = f->pace[lo] + part * (f->pace[hi] - f->pace[lo]);
    return pace * (f->age[l + 1] - f->age[l]);
}

/* From age l to the next: u, the probability of each count. */
static void step_back(const struct cell_history *f, uint32_t l, double lowered, const double *u,
                      double *next)
{
    const double *unvisited = f->unvisited + l * (f->of.top + 1);
    struct move m = move_by(lowered); /* the same for every count, except for ibf-h */
    double from_below = 0;

    for (uint32_t i = 0; i < f->of.top; i++) {
        if (f->of.harmonic)
            m = move_by(lowered / (i + 1));
        double here = u[i] * unvisited[i], left = m.stay * here + m.settle * from_below;

        from_below += here - left;
        next[i] = left * unvisited[i];
    }
    next[f->of.top] = u[f->of.top] + from_below;
}

/* From age l + 1 to l: h, the probability for each count that no earlier visit stops the chain. */
static void step_forward(const struct cell_history *f, uint32_t l, double lowered, double *h)
{
    const double *unvisited = f->unvisited + l * (f->of.top + 1);
    struct move m = move_by(lowered);
    double above = h[f->of.top]; /* h of what moves to the next count */

    for (uint32_t i = f->of.top; i-- > 0;) {
        if (f->of.harmonic)
            m = move_by(lowered / (i + 1));
        double here = h[i] * unvisited[i];

        h[i] = (m.stay * here + (1 - m.stay) * above) * unvisited[i];
        above = m.settle * here + (1 - m.settle) * above;
    }
}

static void run_back(struct cell_history *f, uint32_t now)
{
    uint32_t row = f->of.top + 1;

    memset(f->passed, 0, row * sizeof *f->passed);
    f->passed[0] = 1;
    for (uint32_t l = 0; l < now; l++)
        step_back(f, l, lowerings(f, now, l), f->passed + l * row, f->passed + (l + 1) * row);
}

/* ---- the pace ---- */

/* Set h[i] to the share of cells of value i or less at time age[now]. */
static void shares_up_to(const struct cell_history *f, uint32_t now, double *h)
{
    for (uint32_t i = 0; i <= f->of.top; i++)
        h[i] = 1;
    for (uint32_t l = now; l-- > 0;)
        step_forward(f, l, lowerings(f, now, l), h);
}

static double pace_at(const struct cell_filter *of, const double *h)
{
    double chance = 0;

    for (uint32_t v = 1; v <= of->top; v++)
        chance += (h[v] - h[v - 1]) / v;
    return stable_draws(of->decay, chance) / of->cells;
}

/* Interpolate linearly between two ages. */
static void interpolate(const struct cell_history *f, double *values, uint32_t from, uint32_t to)
{
    double slope = (values[to] - values[from]) / (f->age[to] - f->age[from]);

    for (uint32_t l = from + 1; l < to; l++)
        values[l] = values[from] + slope * (f->age[l] - f->age[from]);
}

/* The pace of ibf-h changes with the fill. At each time: extrapolate, compute the shares, correct.
 */
static void find_pace_of_h(struct cell_history *f)
{
    double h[STABLE_CLASSES + 1], *pace = f->pace, trend = 0;
    uint32_t before = 0;

    pace[0] = stable_draws(f->of.decay, 0) / f->of.cells;
    for (uint32_t i = 1; i <= PACES; i++) {
        uint32_t now = f->steps * i / PACES;
        double passed = f->age[now] - f->age[before];

        pace[now] = fmax(pace[before] + trend * passed, pace[before] / 2);
        interpolate(f, pace, before, now);
        shares_up_to(f, now, h);
        pace[now] = pace_at(&f->of, h);
        f->empty[now] = h[0];
        trend = (pace[now] - pace[before]) / passed;
        interpolate(f, pace, before, now);
        interpolate(f, f->empty, before, now);
        before = now;
    }
}

/* SBF and the other IBF filters have a constant pace, so one chain serves for all times. */
static void set_constant_pace(struct cell_history *f)
{
    uint32_t row = f->of.top + 1;

    for (uint32_t l = 0; l <= f->steps; l++)
        f->pace[l] = f->of.decay / f->of.cells;
    run_back(f, f->steps);
    for (uint32_t l = 0; l <= f->steps; l++) {
        f->empty[l] = 0;
        for (uint32_t i = 0; i < row; i++)
            f->empty[l] += f->passed[l * row + i];
    }
}

/* ---- open, query, close ---- */

/* One block for all arrays except age. */
static bool allocate(struct cell_history *f)
{
    size_t row = f->of.top + 1, ages = f->steps + 1, keys = f->classes * ages;

    f->empty = calloc(2 * ages + 2 * keys + 2 * ages * row, sizeof *f->empty);
    if (!f->empty)
        return false;
    f->pace = f->empty + ages;
    f->distinct = f->pace + ages;
    f->fresh = f->distinct + keys;
    f->unvisited = f->fresh + keys;
    f->passed = f->unvisited + ages * row;
    return true;
}

bool history_open(struct cell_history *f, const struct cell_filter *of,
                  const struct key_class *classes, uint32_t n)
{
    *f = (struct cell_history){.of = *of, .classes = n};
    f->age = malloc((STEPS_MAX + 1) * sizeof *f->age);
    if (f->age)
        make_grid(f, classes);
    if (!f->age || !allocate(f)) {
        history_close(f);
        return false;
    }
    f->empty[0] = 1;
    find_unvisited(f, classes);
    if (of->harmonic)
        find_pace_of_h(f);
    else
        set_constant_pace(f);
    return true;
}

void history_close(struct cell_history *f)
{
    free(f->age);
    free(f->empty);
}

void history_faded(struct cell_history *f, uint32_t now, double *faded)
{
    uint32_t top = f->of.top, row = top + 1;
    double h[STABLE_CLASSES + 1];

    if (f->of.harmonic)
        run_back(f, now);
    for (uint32_t i = 0; i <= top; i++)
        h[i] = 1;
    for (uint32_t l = now + 1; l-- > 0;) {
        double *of_age = faded + l * row, sum = 0;

        if (l < now)
            step_forward(f, l, lowerings(f, now, l), h);
        for (uint32_t i = row; i-- > 0;) {
            sum += f->passed[l * row + i] * h[i];
            of_age[i] = sum;
        }
    }
}
