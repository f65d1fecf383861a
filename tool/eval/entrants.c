/* entrants.c - open filters, run them, record their scores. See entrants.h. */
#include "eval/entrants.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/messages.h"

/* ---- the curve: the score at points of equal distance.
 *
 * If the length of the stream is unknown, four times as many points are kept. When
 * the array is full, every second point is dropped and the distance doubles. At the
 * end the nearest to the nominal positions are used. Points depend on the stream
 * only, not on batches or threads.
 *
 * Reading the fill takes 10 ns per cell, for up to four million cells. So it is read
 * at such distances that it takes less than a microsecond per arrival. ---- */

#define SPARE 4
#define STEP_LEAST 16
#define CELLS_READ ((uint64_t)1 << 22)
#define CELLS_PER_ARRIVAL 64

/* wanted: number of points; 0: no curve. */
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

/* n: arrivals; 0: unknown. */
static void curve_begin(struct curve *c, uint64_t n)
{
    c->fixed = n > 0;
    c->points = 0; /* the next order adds to the same points */
    c->step = n > c->wanted && c->wanted ? (n + c->wanted - 1) / c->wanted : 1;
    if (!c->fixed)
        c->step = STEP_LEAST;
}

/* Arrivals until the next point; never 0. */
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

/* A power of two, so that points with a fill are not dropped. */
static uint64_t fill_distance(uint64_t cells)
{
    uint64_t distance = 1;

    while (2 * distance * CELLS_PER_ARRIVAL <= (cells < CELLS_READ ? cells : CELLS_READ))
        distance *= 2;
    return distance;
}

/* NaN if reading it would take too long. */
static double read_fill(const struct curve *c, const struct entrant *e)
{
    bool due = c->fixed || e->shown % fill_distance(8 * e->memory) == 0;

    return due ? weir_stats_of(e->filter.w[0]).fill : NAN;
}

/* Add a point for the arrivals so far. */
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

/* The point nearest to the i-th position; the last is the end itself. */
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

/* At the end of an order: add the last point and select the wanted ones. */
static void curve_end(struct curve *c, const struct entrant *e)
{
    if (!c->wanted || e->shown == 0)
        return;
    if (c->points == 0 || c->point[c->points - 1].at != e->shown)
        curve_mark(c, e);
    if (!c->fixed) /* always read at the end */
        c->point[c->points - 1].fill = weir_stats_of(e->filter.w[0]).fill;
    if (c->fixed || c->points <= c->wanted)
        return;
    for (uint32_t i = 0; i < c->wanted; i++)
        c->point[i] = c->point[nearest_point(c, i)];
    c->points = c->wanted;
}

/* ---- selection ---- */

/* Append the words of an option's values such as "a,b". */
static bool split(const struct values *list, const char *option, char words[ENTRANTS_MAX][64],
                  uint32_t *count)
{
    for (int i = 0; i < list->n; i++)
        for (const char *at = list->at[i], *next; at; at = next) {
            size_t size = strcspn(at, ",");

            next = at[size] ? at + size + 1 : NULL;
            if (size == 0 || size >= sizeof words[0])
                return reject("%s %s: invalid list; separate words with commas", option,
                              list->at[i]);
            if (*count == ENTRANTS_MAX)
                return reject("%s has more than %d values", option, ENTRANTS_MAX);
            snprintf(words[(*count)++], sizeof words[0], "%.*s", (int)size, at);
        }
    return true;
}

/* Is it measured by default? */
static bool is_usual(enum weir_kind kind, const struct weir_algorithm *about)
{
    return kind == WEIR_KIND_SCREEN
               ? weir_find_parameter(kind, about->name, "memory") != NULL
               : (about->traits & (WEIR_FOR_TABLES | WEIR_CAN_OBSERVE)) == WEIR_CAN_OBSERVE;
}

bool selection_read(struct selection *s, const struct options *o, enum weir_kind kind, bool weighed)
{
    bool screens = kind == WEIR_KIND_SCREEN;
    struct values named = {.at = {o->check.screen}, .n = o->check.screen != NULL};
    const struct values *names = screens ? &named : &o->measures.algorithms;
    const struct weir_algorithm *about;

    *s = (struct selection){.request = o, .kind = kind, .weighed = weighed};
    if (!split(names, screens ? "--screen" : "-a", s->name, &s->names) ||
        !split(&o->measures.memories, "-m", s->memory, &s->memories))
        return false;
    for (size_t i = 0; names->n == 0 && (about = weir_algorithm_at(kind, i)); i++)
        if (is_usual(kind, about))
            snprintf(s->name[s->names++], sizeof s->name[0], "%s", about->name);
    return true;
}

bool filter_is(const char *name, uint64_t traits)
{
    const struct weir_algorithm *about = weir_find_algorithm(WEIR_KIND_FILTER, name);

    return about && about->traits & traits;
}

/* The library rejects names that do not exist. */
static bool takes(enum weir_kind kind, const char *name, const char *parameter)
{
    return !weir_find_algorithm(kind, name) || weir_find_parameter(kind, name, parameter);
}

bool filter_takes(const char *name, const char *parameter)
{
    return takes(WEIR_KIND_FILTER, name, parameter);
}

/* Each filter gets the parameters that it has. A parameter that none has is given to all, and the
 * library rejects it. */
static bool is_given(const struct selection *s, const char *name, const char *parameter)
{
    bool by_some = false;

    for (uint32_t i = 0; i < s->names; i++)
        by_some |= takes(s->kind, s->name[i], parameter);
    return takes(s->kind, name, parameter) || !by_some;
}

struct filter_request selection_request(const struct selection *s, const char *name,
                                        const char *memory, const char *fpr, const char *set)
{
    struct filter_request w = s->request->filter;

    w.algorithm = name;
    w.memory = takes(s->kind, name, "memory") ? memory : NULL;
    w.fpr = fpr ? fpr : w.fpr;
    w.fpr = w.fpr && is_given(s, name, "fpr") ? w.fpr : NULL;
    w.sets = 0;
    for (int i = 0; i < s->request->filter.sets; i++)
        if (is_given(s, name, s->request->filter.set[i]))
            w.set[w.sets++] = s->request->filter.set[i];
    if (set)
        w.set[w.sets++] = set;
    w.importance = s->weighed && takes(s->kind, name, "importance");
    return w;
}

void selection_describe(const char *config, char name[64], char settings[WEIR_SPEC_MAX])
{
    char copy[WEIR_SPEC_MAX], *rest = copy;
    size_t used = 0;

    snprintf(copy, sizeof copy, "%s", config);
    snprintf(name, 64, "%s", strsep(&rest, " "));
    for (char *word; (word = strsep(&rest, " "));)
        if (strncmp(word, "memory=", 7) != 0 && strncmp(word, "seed=", 5) != 0)
            used += (size_t)snprintf(settings + used, WEIR_SPEC_MAX - used, "%s%s", used ? " " : "",
                                     word);
}

/* ---- opening ---- */

static bool add_scores(struct entrant *e, const struct measures *m)
{
    selection_describe(e->filter.config, e->name, e->settings);
    e->memory = weir_stats_of(e->filter.w[0]).memory;
    e->answer = malloc(RECORDS_MAX);
    e->class = m->by_importance ? calloc(CLASSES, sizeof *e->class) : NULL;
    return (e->answer && (e->class || !m->by_importance) && curve_open(&e->curve, m->curve)) ||
           reject("out of memory");
}

bool entrants_add(struct entrants *all, const struct selection *s, const char *name,
                  const char *memory, const char *fpr, const char *set, struct weir_error *refused)
{
    char spec[SPEC_MAX];
    struct entrant *e = &all->entrant[all->count];
    struct filter_request w = selection_request(s, name, memory, fpr, set);
    struct weir_error error = {0};

    if (all->count == ENTRANTS_MAX)
        return reject("at most %d filters can be measured at once", ENTRANTS_MAX);
    if (!request_spec(&w, NULL, *all->seed ? all->seed : NULL, spec))
        return reject("the filter's options are too long");
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

/* ---- all entrants ---- */

bool entrants_open(struct entrants *all)
{
    *all = (struct entrants){.entrant = calloc(ENTRANTS_MAX, sizeof *all->entrant)};
    return all->entrant || reject("out of memory");
}

bool entrants_add_all(struct entrants *all, const struct selection *s)
{
    if (!entrants_open(all))
        return false;
    for (uint32_t i = 0; i < s->names; i++)
        for (uint32_t j = 0; j < (s->memories ? s->memories : 1); j++)
            if (!entrants_add(all, s, s->name[i], s->memories ? s->memory[j] : NULL, NULL, NULL,
                              NULL))
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
        e->expected = n;
        e->pass = 0;
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

void entrants_begin_second(struct entrants *all, const struct continuation *c)
{
    for (uint32_t i = 0; i < all->count; i++) {
        all->entrant[i].shown = 0;
        all->entrant[i].pass = 1;
        all->entrant[i].continuation = c;
    }
}

/* ---- a continuation ---- */

#define SAMPLE 1024 /* keys of a step that are looked up */

/* Of the first keys of a step. */
static double share_gone(const struct entrant *e, const struct continuation *c, uint32_t step)
{
    struct weir_key key[SAMPLE];
    uint8_t answer[SAMPLE];
    uint32_t n = c->step < SAMPLE ? (uint32_t)c->step : SAMPLE, gone = 0;

    replay_unique_keys(c->replay, step * c->step, key, n);
    weir_ask_many(e->filter.w[0], key, n, answer);
    for (uint32_t i = 0; i < n; i++)
        gone += answer[i] == WEIR_NEW;
    return n ? (double)gone / n : 0;
}

static void observe_continuation(struct entrant *e, const struct continuation *c)
{
    struct weir_key key[SAMPLE];
    weir_filter *filter = e->filter.w[0];

    weir_clear(filter);
    for (uint32_t step = 0; step < HORIZON; step++) {
        for (uint64_t i = 0; i < c->step; i += SAMPLE) {
            uint32_t n = c->step - i < SAMPLE ? (uint32_t)(c->step - i) : SAMPLE;

            replay_unique_keys(c->replay, step * c->step + i, key, n);
            weir_observe_many(filter, key, n, e->answer);
        }
        e->gone[step] = 0;
        for (uint32_t i = 0; i <= step; i++)
            e->gone[step] = fmax(e->gone[step], share_gone(e, c, i));
    }
    e->late_error = weir_stats_of(filter).error;
}

/* ---- observing ---- */

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
    if (e->expected)
        score_count(&e->part[e->pass][e->shown * PARTS / e->expected], key, truth, e->answer, n);
    if (e->pass == 0)
        score_count(&e->score, key, truth, e->answer, n);
    if (e->class && e->pass == 0)
        score_count_classes(e->class, key, truth, e->answer, n);
    e->shown += n;
}

/* Arrivals until the end of the part. */
static uint64_t part_left(const struct entrant *e)
{
    uint64_t part = e->expected ? e->shown * PARTS / e->expected : 0;

    return e->expected ? ((part + 1) * e->expected + PARTS - 1) / PARTS - e->shown : UINT64_MAX;
}

void entrant_observe(struct entrant *e, const struct weir_key *key, const uint64_t *times,
                     const uint8_t *truth, uint32_t n)
{
    if (e->continuation)
        observe_continuation(e, e->continuation);
    e->continuation = NULL;
    while (n > 0) {
        uint64_t mark = e->pass == 0 ? curve_left(&e->curve, e->shown) : UINT64_MAX;
        uint64_t part = part_left(e), left = mark < part ? mark : part;
        uint32_t now = left < n ? (uint32_t)left : n;

        observe_some(e, key, times, truth, now);
        if (now == mark)
            curve_mark(&e->curve, e);
        key += now;
        times += times ? now : 0;
        truth += now;
        n -= now;
    }
}
