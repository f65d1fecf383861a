/* stable_settings.c - see stable_settings.h. */
#include "papers/stable_settings.h"

#include <math.h>
#include <stdlib.h>

#define DECLINE 4 /* stop after this many K in a row that remember less */

/* The position of an age in the grid: between *before and the next entry; at the end of the last
 * step if it is beyond. */
static double history_find(const struct cell_history *f, double age, uint32_t *before)
{
    uint32_t l = 0;

    while (l + 1 < f->steps && f->age[l + 1] < age)
        l++;
    *before = l;
    return fmin(1, (age - f->age[l]) / (f->age[l + 1] - f->age[l]));
}

/* ---- by gap ---- */

/* The Markov chain and the last query. */
struct look {
    struct cell_history history;
    double *forgotten;
};

static bool look_open(struct look *k, const struct cell_filter *of, const struct key_class *classes,
                      uint32_t n)
{
    if (!history_open(&k->history, of, classes, n))
        return false;
    k->forgotten = malloc((k->history.steps + 1) * (of->top + 1) * sizeof *k->forgotten);
    if (!k->forgotten) {
        history_close(&k->history);
        return false;
    }
    history_faded(&k->history, k->history.steps, k->forgotten);
    return true;
}

static void look_close(struct look *k)
{
    history_close(&k->history);
    free(k->forgotten);
}

static double miss_after(const struct look *k, uint32_t l, uint32_t level)
{
    return 1 - pow(1 - k->forgotten[l * (k->history.of.top + 1) + level], k->history.of.k);
}

bool stable_miss_by_gap(const struct cell_filter *of, const struct key_class *classes, uint32_t n,
                        uint32_t level, const double *gap, double *missed, uint32_t gaps)
{
    struct look k;

    if (!look_open(&k, of, classes, n))
        return false;
    for (uint32_t i = 0, l; i < gaps; i++) {
        double part = history_find(&k.history, gap[i], &l), from = miss_after(&k, l, level);

        missed[i] = from + part * (miss_after(&k, l + 1, level) - from);
    }
    look_close(&k);
    return true;
}

double stable_remembered(const struct cell_filter *of, const struct key_class *classes, uint32_t n)
{
    struct look k;
    double sum = 0;

    if (!look_open(&k, of, classes, n))
        return 0;
    double error = pow(1 - k.history.empty[k.history.steps], of->k);
    for (uint32_t c = 0; c < n; c++) {
        double share = model_new(&classes[c].keys, 0);

        for (uint32_t l = 0; l < k.history.steps; l++) {
            double known =
                1 -
                (miss_after(&k, l, classes[c].level) + miss_after(&k, l + 1, classes[c].level)) / 2;

            sum +=
                share * (k.history.age[l + 1] - k.history.age[l]) * (known - error) / (1 - error);
        }
    }
    look_close(&k);
    return sum;
}

double history_fill(const struct cell_history *h, double arrivals)
{
    uint32_t l;
    double part = history_find(h, arrivals, &l);

    return 1 - h->empty[l] - part * (h->empty[l + 1] - h->empty[l]);
}

/* ---- parameters ---- */

/* A class of new keys for each level that occurs; returns their number. */
static uint32_t endless(const struct stable *s, struct key_class *classes)
{
    uint32_t n = 0;

    for (uint32_t level = 1; level <= s->top; level++) {
        if (s->mix[level] <= 0)
            continue;
        classes[n].level = level;
        model_endless(&classes[n].keys, INFINITY);
        classes[n++].keys.fresh = s->mix[level];
    }
    return n;
}

static struct settings best(const struct stable *s, double error, uint64_t k_most,
                            uint64_t decay_most, const struct key_class *classes, uint32_t n)
{
    struct settings best = {0, 0, 1, 0};

    for (uint64_t k = 1; k <= k_most && (double)k < s->cells; k++) {
        uint64_t decay = stable_min_decay(s, error, k, decay_most);
        struct cell_filter of = {s->cells, s->top, (double)k, (double)decay, s->harmonic};
        struct settings now = {k, decay, stable_error_of(s, k, (double)decay), 0};

        if (now.error <= error)
            now.remembered = stable_remembered(&of, classes, n);
        if (now.remembered > best.remembered)
            best = now;
        else if (best.k && k >= best.k + DECLINE)
            break;
    }
    return best;
}

struct settings stable_settings(const struct stable *s, double error, uint64_t k_most,
                                uint64_t decay_most)
{
    struct key_class *classes = malloc(s->top * sizeof *classes);
    struct settings found = {0, 0, 1, 0};

    if (classes)
        found = best(s, error, k_most, decay_most, classes, endless(s, classes));
    free(classes);
    return found;
}
