/* plan_words.c - the answer of weir plan in words: which filter, and why (plan.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/units.h"
#include "cmd/plan.h"

#define BASELINE_DEFAULT "bloom" /* that everyone knows */
#define GOOD 0.01                /* an error at the end that will do, where no ceiling is given */
#define FITS 0.001               /* false negatives below this are none to speak of */
#define TOO_FEW 1e-6             /* errors below this, per record, are none to speak of */
#define AS_GOOD 1.005            /* times the best */
#define FAR_WORSE 1000           /* times the best: a figure would say no more */

static double distinct(const struct plan *p)
{
    return weir_stream_distinct(&p->stream);
}

static double share_new(const struct plan *p)
{
    return p->stream.n ? distinct(p) / (double)p->stream.n : p->stream.fresh;
}

double plan_bits_per_key(const struct plan *p, const struct weir_prediction *one)
{
    double keys = isinf(distinct(p)) ? one->remembered : distinct(p);

    return keys > 0 ? 8 * (double)one->memory / keys : NAN;
}

size_t plan_name_size(const struct weir_prediction *p)
{
    return strcspn(p->config, " ");
}

static bool is_named(const struct weir_prediction *p, const char *name)
{
    return plan_name_size(p) == strlen(name) && strncmp(p->config, name, plan_name_size(p)) == 0;
}

void plan_say_why(const struct plan *p, char *text, size_t size)
{
    const struct weir_prediction *best = p->p;
    double bits = plan_bits_per_key(p, best), ceiling = p->wish.fpr > 0 ? p->wish.fpr : GOOD;
    char name[32];

    snprintf(name, sizeof name, is_named(best, BASELINE_DEFAULT) ? "a plain Bloom filter" : "%.*s",
             (int)plan_name_size(best), best->config);
    if (p->windowed)
        snprintf(text, size,
                 "%s keeps the latest %s keys in the least memory: %s, with an error of %s at most",
                 name, p->options->plan.window, show_bytes((double)best->memory).text,
                 show_chance(fmax(best->stable, best->error)).text);
    else if (p->set)
        snprintf(text, size, "%s holds %s keys %s: %s, %.1f bits each, with a final error of %s",
                 name, p->options->plan.count,
                 p->options->filter.memory ? "with the least error" : "in the least memory",
                 show_bytes((double)best->memory).text, bits, show_chance(best->error).text);
    else if (isinf(best->cost))
        snprintf(text, size, "no filter keeps the ceilings in this memory; %s comes nearest", name);
    else if (p->stream.n == 0 && p->stream.fresh == 1)
        snprintf(text, size,
                 "of what never ends something must be forgotten; under %g false positives %s "
                 "remembers most: %s keys, %.1f bits each",
                 p->wish.fpr > 0 ? p->wish.fpr : 0.01, name, show_count(best->remembered).text,
                 bits);
    else if (isinf(distinct(p)))
        snprintf(text, size,
                 "of what never ends something must be forgotten; %s forgets what costs least, and "
                 "remembers %s keys",
                 name, show_count(best->remembered).text);
    else if (share_new(p) > 0.999999)
        snprintf(text, size,
                 "nothing repeats: whatever forgets fastest errs least, and none "
                 "is needed");
    else if (p->sizing)
        snprintf(text, size,
                 "%s keeps the ceilings with the least memory: %s, %.1f bits for each of %s "
                 "distinct keys; filters that need more than %d times that are not listed",
                 name, show_bytes((double)best->memory).text, bits, show_count(distinct(p)).text,
                 FAR_MORE);
    else if (best->fnr < FITS && best->error <= ceiling)
        snprintf(text, size,
                 "%s is enough: your stream fits, with %.1f bits for each of its %s distinct keys",
                 name, bits, show_count(distinct(p)).text);
    else if (best->fnr < FITS)
        snprintf(
            text, size,
            "your stream does not fit, with %.2g bits for each of its %s distinct keys: %s costs "
            "least, but in the end it takes %.3g of the new ones for seen",
            bits, show_count(distinct(p)).text, name, best->error);
    else
        snprintf(text, size,
                 "your stream does not fit, with %.1f bits for each of its %s distinct keys: "
                 "something must be forgotten, and %s forgets what costs least",
                 bits, show_count(distinct(p)).text, name);
}

/* What the default filter costs beside the best. On an endless stream of new keys the cost
 * is one over the keys remembered. */
static void say_its_cost(const char *name, const struct weir_prediction *one,
                         const struct weir_prediction *best)
{
    double times = one->cost / best->cost;

    if (isnan(times) || isinf(one->cost) || times < AS_GOOD)
        return;
    if (isnan(one->remembered) && one->cost < TOO_FEW)
        printf("%s, the default, does as well: it errs less than once in a million records\n",
               name);
    else if (times > FAR_WORSE)
        printf("%s, the default, is not the best here: it costs more than %d times as much\n", name,
               FAR_WORSE);
    else
        printf("%s, the default, is not the best here: it costs %.2f times as much\n", name, times);
}

/* Where the default filter stands, if it is not the first. */
static void say_of_default(const struct plan *p)
{
    const char *name = weir_algorithm_at(WEIR_KIND_FILTER, 0)->name;

    for (size_t i = 1; i < p->n; i++) {
        if (!is_named(&p->p[i], name))
            continue;
        if (p->sizing || p->windowed)
            printf("%s, the default, is not the best here: it needs %.2f times the memory\n", name,
                   (double)p->p[i].memory / (double)p->p[0].memory);
        else
            say_its_cost(name, &p->p[i], p->p);
    }
}

static bool can_learn(const struct weir_prediction *p)
{
    const struct weir_algorithm *about = weir_find_algorithm(WEIR_KIND_FILTER, p->config);

    return about && about->traits & WEIR_CAN_OBSERVE;
}

/* Who would hold the set if the first can only be built as a whole. */
static void say_of_growing(const struct plan *p)
{
    size_t i = 0;

    while (i < p->n && !can_learn(&p->p[i]))
        i++;
    if (i == 0 || i == p->n)
        return;
    printf("%.*s is built as a whole and never changes; where keys are added later, take %.*s: %s, "
           "with a final error of %s\n",
           (int)plan_name_size(p->p), p->p->config, (int)plan_name_size(&p->p[i]), p->p[i].config,
           show_bytes((double)p->p[i].memory).text, show_chance(p->p[i].error).text);
}

static void say_of_one(const struct plan *p, const struct weir_prediction *one)
{
    if (!isnan(one->stable))
        printf("if only new keys come its error settles at %.4g\n", one->stable);
    if (!isnan(one->paper))
        printf("the paper's formula gives an error of %.4g at the end; this model %.4g\n",
               one->paper, one->error);
    if (!isnan(one->lru_fnr))
        printf("an exact list of the latest keys, log2(1/fpr) bits each, would miss %.4g\n",
               one->lru_fnr);
    for (uint32_t i = 1; i <= one->classes && p->stream.important; i++)
        if (one->class_share[i] > 0 && !isnan(one->class_fnr[i]))
            printf("importance class %u: %.4g of the arrivals, %.4g of its repeats are missed\n", i,
                   one->class_share[i], one->class_fnr[i]);
}

void plan_print_words(const struct plan *p)
{
    char why[512];

    printf("\n");
    if (p->options->filter.algorithm) {
        say_of_one(p, p->p);
        return;
    }
    plan_say_why(p, why, sizeof why);
    printf("%s\n", why);
    say_of_default(p);
    say_of_growing(p);
}
