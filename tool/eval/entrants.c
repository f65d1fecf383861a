/* entrants.c - see entrants.h. */
#include "eval/entrants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "eval/curve.h"
#include "cli/messages.h"

/* ---- who takes part ---- */

bool selection_split(const struct values *list, const char *option, char words[ENTRANTS_MAX][64],
                     uint32_t *count)
{
    for (int i = 0; i < list->n; i++)
        for (const char *at = list->at[i], *next; at; at = next) {
            size_t size = strcspn(at, ",");

            next = at[size] ? at + size + 1 : NULL;
            if (size == 0 || size >= sizeof words[0])
                return reject("%s %s does not fit: it takes words with commas between them", option,
                              list->at[i]);
            if (*count == ENTRANTS_MAX)
                return reject("%s has more than %d values", option, ENTRANTS_MAX);
            snprintf(words[(*count)++], sizeof words[0], "%.*s", (int)size, at);
        }
    return true;
}

bool filter_is(const char *name, uint64_t traits)
{
    const struct weir_algorithm *about = weir_find_algorithm(WEIR_KIND_FILTER, name);

    return about && about->traits & traits;
}

/* A filter that does not exist is the library's to refuse. */
bool filter_takes(const char *name, const char *parameter)
{
    return !weir_find_algorithm(WEIR_KIND_FILTER, name) ||
           weir_find_parameter(WEIR_KIND_FILTER, name, parameter);
}

/* Of several filters each gets the parameters that it has; what none has, all get, and
 * the library refuses it. */
static bool is_given(const struct selection *s, const char *name, const char *parameter)
{
    bool wanted = filter_takes(name, parameter), by_some = false;

    for (uint32_t i = 0; i < s->names; i++)
        by_some |= filter_takes(s->name[i], parameter);
    return wanted || !by_some;
}

/* The options as this filter is to have them. */
static struct filter_request wanted_for(const struct selection *s, const char *name,
                                        const char *memory, const char *fpr)
{
    struct filter_request w = s->request->filter;

    w.algorithm = name;
    w.memory = memory;
    w.fpr = fpr ? fpr : w.fpr;
    w.fpr = w.fpr && is_given(s, name, "fpr") ? w.fpr : NULL;
    w.sets = 0;
    for (int i = 0; i < s->request->filter.sets; i++)
        if (is_given(s, name, s->request->filter.set[i]))
            w.set[w.sets++] = s->request->filter.set[i];
    w.importance = s->weighed && filter_takes(name, "importance");
    return w;
}

/* ---- opening ---- */

/* "recent memory=64 width=16 seed=1" -> "recent", "width=16" */
static void describe(struct entrant *e)
{
    char copy[WEIR_SPEC_MAX], *rest = copy;

    snprintf(copy, sizeof copy, "%s", e->filter.config);
    snprintf(e->name, sizeof e->name, "%s", strsep(&rest, " "));
    for (char *word; (word = strsep(&rest, " "));) {
        size_t used = strlen(e->settings);

        if (strncmp(word, "memory=", 7) != 0 && strncmp(word, "seed=", 5) != 0)
            snprintf(e->settings + used, sizeof e->settings - used, "%s%s", used ? " " : "", word);
    }
}

static bool add_scores(struct entrant *e, const struct measures *m)
{
    describe(e);
    e->memory = weir_stats_of(e->filter.w[0]).memory;
    e->answer = malloc(RECORDS_MAX);
    e->class = m->by_importance ? calloc(CLASSES, sizeof *e->class) : NULL;
    return (e->answer && (e->class || !m->by_importance) && curve_open(&e->curve, m->curve)) ||
           reject("memory is short");
}

bool entrants_add(struct entrants *all, const struct selection *s, const char *name,
                  const char *memory, const char *fpr, struct weir_error *refused)
{
    char spec[SPEC_MAX];
    struct entrant *e = &all->entrant[all->count];
    struct filter_request w = wanted_for(s, name, memory, fpr);
    struct weir_error error = {0};

    if (all->count == ENTRANTS_MAX)
        return reject("at most %d filters can be measured at once", ENTRANTS_MAX);
    if (!request_spec(&w, NULL, *all->seed ? all->seed : NULL, spec))
        return reject("the options of the filter are too long");
    *e = (struct entrant){0};
    shards_open(&e->filter, spec, 1, &error);
    if (refused)
        *refused = error;
    if (error.status != WEIR_OK) {
        shards_close(&e->filter);
        return refused || request_reject(&w, WEIR_KIND_FILTER, spec, error.text);
    }
    all->count++;
    weir_spec_get(e->filter.config, "seed", all->seed, sizeof all->seed);
    return add_scores(e, &s->request->measures);
}

static void close_entrant(struct entrant *e)
{
    shards_close(&e->filter);
    curve_close(&e->curve);
    free(e->answer);
    free(e->class);
}

void entrants_remove_last(struct entrants *all)
{
    close_entrant(&all->entrant[--all->count]);
}

/* ---- all of a field ---- */

bool selection_read(struct selection *s, const struct eval_request *o, bool weighed)
{
    *s = (struct selection){.request = o, .weighed = weighed};
    if (!selection_split(&o->measures.algorithms, "-a", s->name, &s->names) ||
        !selection_split(&o->measures.memories, "-m", s->memory, &s->memories))
        return false;
    for (size_t i = 0; o->measures.algorithms.n == 0 && weir_algorithm_at(WEIR_KIND_FILTER, i); i++)
        if ((weir_algorithm_at(WEIR_KIND_FILTER, i)->traits &
             (WEIR_FOR_TABLES | WEIR_CAN_OBSERVE)) == WEIR_CAN_OBSERVE)
            snprintf(s->name[s->names++], sizeof s->name[0], "%s",
                     weir_algorithm_at(WEIR_KIND_FILTER, i)->name);
    return true;
}

bool entrants_open(struct entrants *all)
{
    *all = (struct entrants){.entrant = calloc(ENTRANTS_MAX, sizeof *all->entrant)};
    return all->entrant || reject("memory is short");
}

bool entrants_add_all(struct entrants *all, const struct selection *s)
{
    if (!entrants_open(all))
        return false;
    for (uint32_t i = 0; i < s->names; i++)
        for (uint32_t j = 0; j < (s->memories ? s->memories : 1); j++)
            if (!entrants_add(all, s, s->name[i], s->memories ? s->memory[j] : NULL, NULL, NULL))
                return false;
    return true;
}

void entrants_close(struct entrants *all)
{
    for (uint32_t i = 0; i < all->count; i++)
        close_entrant(&all->entrant[i]);
    free(all->entrant);
}

/* ---- running ---- */

void entrants_begin(struct entrants *all, uint64_t n)
{
    for (uint32_t i = 0; i < all->count; i++) {
        struct entrant *e = &all->entrant[i];

        weir_clear(e->filter.w[0]);
        e->before = e->score;
        e->shown = 0;
        curve_begin(&e->curve, n);
    }
}

void entrants_end(struct entrants *all)
{
    all->orders++;
    for (uint32_t i = 0; i < all->count; i++) {
        struct entrant *e = &all->entrant[i];
        struct weir_stats s = weir_stats_of(e->filter.w[0]);

        e->fill += s.fill;
        e->error += s.error;
        curve_end(&e->curve, e);
    }
}

void entrants_begin_showing(struct entrants *all, bool first, bool last)
{
    for (uint32_t i = 0; i < all->count; i++) {
        struct entrant *e = &all->entrant[i];

        e->into = last ? &e->score : first ? &e->first : NULL;
        e->shown = 0;
    }
}

static double processor_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void observe_some(struct entrant *e, const struct weir_key *key, const uint64_t *times,
                         const uint8_t *truth, uint32_t n)
{
    double began = processor_time();

    if (times)
        weir_observe_many_at(e->filter.w[0], key, times, n, e->answer);
    else
        weir_observe_many(e->filter.w[0], key, n, e->answer);
    e->seconds += processor_time() - began;
    e->timed += n;
    e->shown += n;
    if (e->into)
        score_count(e->into, key, truth, e->answer, n);
    if (e->class && e->into == &e->score)
        score_count_classes(e->class, key, truth, e->answer, n);
}

void entrant_observe(struct entrant *e, const struct weir_key *key, const uint64_t *times,
                     const uint8_t *truth, uint32_t n)
{
    while (n > 0) {
        bool counts = e->into == &e->score;
        uint64_t left = counts ? curve_left(&e->curve, e->shown) : UINT64_MAX;
        uint32_t now = left < n ? (uint32_t)left : n;

        observe_some(e, key, times, truth, now);
        if (now == left)
            curve_mark(&e->curve, e);
        key += now;
        times += times ? now : 0;
        truth += now;
        n -= now;
    }
}
