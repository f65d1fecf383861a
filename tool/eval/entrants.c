/* entrants.c - see entrants.h. */
#include "eval/entrants.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/messages.h"

/* ---- how an entrant did over the stream: points at equal distances.
 *
 * Where the length of the stream is known, points are where they belong.
 * Where it is not, four times as many are kept; when there is no room for more,
 * every second goes and the distance doubles. At the end the nearest to where
 * points belong are taken. Either way they depend on the stream alone, not on
 * batches or threads.
 *
 * Reading the fill of a filter takes 10 ns per cell, up to four million of
 * them. Where points are many, most to be dropped again, it is read at such
 * distances only that it takes less than a microsecond per arrival. ---- */

#define SPARE 4
#define STEP_LEAST 16
#define CELLS_READ ((uint64_t)1 << 22)
#define CELLS_PER_ARRIVAL 64

/* wanted: 0: no curve. */
static bool curve_open(struct curve *c, uint32_t wanted)
{
    *c = (struct curve){.wanted = wanted, .room = SPARE * wanted + 1};
    if (wanted)
        c->point = calloc(c->room, sizeof *c->point);
    return !wanted || c->point;
}

static void curve_close(struct curve *c)
{
    free(c->point);
}

/* n: arrivals; 0: not known. */
static void curve_begin(struct curve *c, uint64_t n)
{
    c->fixed = n > 0;
    c->points = 0; /* those of the order before are added to */
    c->step = n > c->wanted && c->wanted ? (n + c->wanted - 1) / c->wanted : 1;
    if (!c->fixed)
        c->step = STEP_LEAST;
}

/* Arrivals until the next point, after so many; never 0. */
static uint64_t curve_left(const struct curve *c, uint64_t shown)
{
    return c->wanted ? c->step - shown % c->step : UINT64_MAX;
}

static void thin(struct curve *c)
{
    for (uint32_t i = 0; 2 * i + 1 < c->points; i++)
        c->point[i] = c->point[2 * i + 1];
    c->points /= 2;
    c->step *= 2;
}

/* A power of two, so that points with a fill are not those that are dropped. */
static uint64_t fill_distance(uint64_t cells)
{
    uint64_t distance = 1;

    while (2 * distance * CELLS_PER_ARRIVAL <= (cells < CELLS_READ ? cells : CELLS_READ))
        distance *= 2;
    return distance;
}

/* NaN where it is not worth its time. */
static double read_fill(const struct curve *c, const struct entrant *e)
{
    bool due = c->fixed || e->shown % fill_distance(8 * e->memory) == 0;

    return due ? weir_stats_of(e->filter.w[0]).fill : NAN;
}

/* That is now. */
static void curve_mark(struct curve *c, const struct entrant *e)
{
    struct score now = score_less(&e->score, &e->before);
    struct point *p = &c->point[c->points++];

    if (!c->fixed)
        *p = (struct point){0};
    p->at = e->shown;
    p->fill += read_fill(c, e);
    score_add(&p->score, &now);
    if (!c->fixed && c->points == c->room - 1)
        thin(c);
}

/* The nearest to the i-th of those wanted; the last is the end itself. */
static uint32_t nearest_point(const struct curve *c, uint32_t i)
{
    uint64_t end = c->point[c->points - 1].at, to = end / c->wanted * (i + 1);
    uint32_t at = 0;

    if (i + 1 == c->wanted)
        return c->points - 1;
    while (at + 1 < c->points && c->point[at].at + c->step / 2 < to)
        at++;
    return at;
}

/* The order is over: the last point, and of all points those wanted. */
static void curve_end(struct curve *c, const struct entrant *e)
{
    if (!c->wanted || e->shown == 0)
        return;
    if (c->points == 0 || c->point[c->points - 1].at != e->shown)
        curve_mark(c, e);
    if (!c->fixed) /* read at the end in any case */
        c->point[c->points - 1].fill = weir_stats_of(e->filter.w[0]).fill;
    if (c->fixed || c->points <= c->wanted)
        return;
    for (uint32_t i = 0; i < c->wanted; i++)
        c->point[i] = c->point[nearest_point(c, i)];
    c->points = c->wanted;
}

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
