/* theory/stable_settings.c - see stable_settings.h. */
#include "papers/stable_settings.h"

#include <math.h>
#include <stdlib.h>

#define DECLINE 4 /* so many K in a row that remember less: the best is behind */

/* A class of fresh keys for each level that comes; how many. */
static uint32_t endless(const struct stable *s, struct fade_class *classes)
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
                            uint64_t decay_most, const struct fade_class *classes, uint32_t n)
{
    struct settings best = {0, 0, 1, 0};

    for (uint64_t k = 1; k <= k_most && (double)k < s->cells; k++) {
        uint64_t decay = stable_least_decay(s, error, k, decay_most);
        struct fading of = {s->cells, s->top, (double)k, (double)decay, s->harmonic};
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
    struct fade_class *classes = malloc(s->top * sizeof *classes);
    struct settings found = {0, 0, 1, 0};

    if (classes)
        found = best(s, error, k_most, decay_most, classes, endless(s, classes));
    free(classes);
    return found;
}
