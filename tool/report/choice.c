/* choice.c - see choice.h.
 *
 * Candidates. Memories are powers of two, from 64 KiB to one that holds all keys of the horizon.
 * Each filter is measured at half the limit of false positives, `recent` also with enter=25%.
 *
 * Intervals of a stream that continues. It is predicted for HORIZON times as many records.
 *
 *     low    the best quarter of the records, measured by a filter that was empty before
 *     high   the worst quarter, measured by a filter that is as full as it will be; and of the
 *            records whose key is new, all count as repeats of old keys. A repeat of a key that is
 *            older than the records looks like a new key.
 *
 * The filter has evicted a share g of the old keys: those of the age it keeps worst, averaged over
 * the horizon. With m missed
 * repeats, r repeats and u new keys per record, high is (m + u g) / (r + u g). A filter that holds
 * all keys of the horizon has g = 0. */
#include "report/choice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/units.h"

#define MEASURED_LEAST 256 /* bytes in a filter that is measured */
#define BYTES_PER_KEY 4    /* at most; with more, no candidate evicts */
#define GROWS_FASTER 1.1   /* the rate of new keys may rise by so much */
#define ENTER "enter=25%"
#define SIGMAS 2
#define SIGMAS_LOST 3 /* the limit of lost records is the one that must hold */

/* ---- memories ---- */

/* New keys per record in a quarter. */
static double quarter_rate(const struct evaluation *ev, uint32_t quarter)
{
    const uint64_t *fresh = ev->fresh + quarter * REPLAY_PARTS / 4;
    double keys = 0;

    for (uint32_t i = 0; i < REPLAY_PARTS / 4; i++)
        keys += (double)fresh[i];
    return 4 * keys / (double)ev->arrivals.replay.count;
}

struct growth growth_of(const struct evaluation *ev, bool going_on)
{
    double scale = (double)(UINT64_C(1) << ev->arrivals.replay.halvings);
    double n = (double)ev->arrivals.replay.count, keys = 0;
    double third = quarter_rate(ev, 2), last = quarter_rate(ev, 3);
    struct growth g = {.rate = fmin(1, GROWS_FASTER * fmax(third, last)),
                       .slowdown = (third + last) / 2 / quarter_rate(ev, 1)};

    for (uint32_t i = 0; i < REPLAY_PARTS; i++)
        keys += (double)ev->fresh[i];
    g.distinct = scale * keys;
    g.horizon = going_on ? scale * (keys + (HORIZON - 1) * n * g.rate) : g.distinct;
    return g;
}

static void choose_memories(struct candidates *list, double keys, uint64_t beyond)
{
    uint64_t memory = MEMORY_LEAST;

    while (memory >> list->halvings < MEASURED_LEAST)
        memory *= 2;
    for (bool enough = false; !enough; memory *= 2) {
        enough = (double)memory >= keys * BYTES_PER_KEY && memory > beyond;
        if (memory > beyond)
            list->memory[list->memories++] = memory;
    }
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static bool take_memories(struct candidates *list, const struct selection *f)
{
    for (uint32_t i = 0; i < f->memories; i++) {
        uint64_t *memory = &list->memory[list->memories++];

        if (!read_size(f->memory[i], memory))
            return reject("-m %s: invalid size; --report takes sizes such as 64K or 1M",
                          f->memory[i]);
        if (list->halvings && *memory >> list->halvings < MEASURED_LEAST)
            return reject("-m %s: too little for this stream; --report measures one key in %u of "
                          "it, with as much less memory. Use eval without --report",
                          f->memory[i], 1u << list->halvings);
    }
    qsort(list->memory, list->memories, sizeof *list->memory, by_size);
    return true;
}

/* ---- filters ---- */

/* Filters with counters take four times the memory, to remove keys, which is not measured here.
 * Without importance, filters for importance waste bits. On a stream that continues, only filters
 * that forget are advised. */
static bool is_worth_it(const char *name, bool weighed, bool going_on)
{
    return !filter_is(name, WEIR_CAN_FORGET) &&
           (weighed || !filter_is(name, WEIR_FOR_IMPORTANCE)) &&
           (!going_on || filter_is(name, WEIR_CAN_RUN_FOREVER));
}

static void drop_the_rest(struct selection *f, bool going_on)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < f->names; i++)
        if (is_worth_it(f->name[i], f->weighed, going_on))
            memmove(f->name[left++], f->name[i], sizeof f->name[0]);
    f->names = left;
}

/* ---- settings ---- */

/* Does -S already choose what the candidates would? */
static bool is_settled(const struct options *o)
{
    bool settled = false;

    for (int i = 0; i < o->filter.sets; i++)
        settled |= strncmp(o->filter.set[i], "hash=", 5) != 0 &&
                   strncmp(o->filter.set[i], "importance=", 11) != 0;
    return settled;
}

static bool is_double(const struct entrants *all)
{
    const struct entrant *last = &all->entrant[all->count - 1];

    for (uint32_t i = 0; i + 1 < all->count; i++)
        if (all->entrant[i].memory == last->memory &&
            strcmp(all->entrant[i].name, last->name) == 0 &&
            strcmp(all->entrant[i].settings, last->settings) == 0)
            return true;
    return false;
}

/* Settings that the user did not choose and the library rejects are omitted without a message. */
static bool add(struct candidates *list, struct entrants *all, const struct selection *f,
                const struct candidate *e)
{
    bool asked = f->request->measures.algorithms.n > 0 && !e->set;
    uint32_t before = all->count;
    struct weir_error refused;
    char memory[32];

    snprintf(memory, sizeof memory, "%llu",
             (unsigned long long)(list->memory[e->memory] >> list->halvings));
    if (!entrants_add(all, f, e->name, memory, e->fpr, e->set, asked ? NULL : &refused))
        return false;
    if (all->count > before && is_double(all))
        entrants_remove_last(all);
    if (all->count > before)
        list->candidate[list->count++] = *e;
    return true;
}

static bool add_all(struct candidates *list, struct entrants *all, const struct selection *f)
{
    bool settled = is_settled(f->request);

    for (uint32_t i = 0; i < f->names; i++)
        for (uint32_t m = 0; m < list->memories; m++)
            for (uint32_t s = 0; s < (settled ? 1 : SETTINGS); s++) {
                struct candidate e = {.memory = m, .fpr = settled ? NULL : list->fpr};

                e.set = s == 1 ? ENTER : NULL;
                if (e.set && (f->weighed || !filter_takes(f->name[i], "enter")))
                    continue;
                memcpy(e.name, f->name[i], sizeof e.name);
                if (!add(list, all, f, &e))
                    return false;
            }
    return list->count ||
           reject("no filter can be opened with this -m and -e; increase one of them");
}

static bool prepare(struct entrants *all, const char *seed)
{
    if (!entrants_open(all))
        return false;
    snprintf(all->seed, sizeof all->seed, "%s", seed);
    return true;
}

bool candidates_open(struct candidates *list, struct entrants *all, const struct options *o,
                     bool weighed, const struct growth *growth, struct limits limits,
                     uint32_t halvings, uint64_t beyond, const char *seed)
{
    static struct selection f;

    *list = (struct candidates){.halvings = halvings};
    snprintf(list->fpr, sizeof list->fpr, "%.6g%%", 100 * limits.lost / 2);
    if (!prepare(all, seed) || !selection_read(&f, o, WEIR_KIND_FILTER, weighed))
        return false;
    if (o->measures.algorithms.n == 0)
        drop_the_rest(&f, growth->horizon > growth->distinct);
    if (beyond)
        f.names = 1;
    if (f.memories == 0 || beyond)
        choose_memories(list, growth->horizon, beyond);
    else if (!take_memories(list, &f))
        return false;
    return add_all(list, all, &f);
}

bool candidates_pick(const struct candidates *list, struct entrants *all, const struct options *o,
                     bool weighed, const uint32_t *index, uint32_t count, const char *seed)
{
    static struct selection f;
    static struct candidates picked;

    picked = *list;
    picked.count = 0;
    if (!prepare(all, seed) || !selection_read(&f, o, WEIR_KIND_FILTER, weighed))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!add(&picked, all, &f, &list->candidate[index[i]]))
            return false;
    return true;
}

/* ---- intervals ---- */

/* Records of a part, or their importance. */
struct part_counts {
    double n, repeats, missed;
};

static struct part_counts counts_of(const struct score *s, bool weighed)
{
    const uint64_t *n = weighed ? s->weight : s->n;

    return (struct part_counts){(double)(n[NEW] + n[OLD]), (double)n[OLD],
                                (double)(weighed ? s->wrong_weight : s->wrong)[OLD]};
}

static double deviation(double rate, double n)
{
    return sqrt((rate + 1 / n) / n);
}

/* The first part is omitted: nearly all its keys are new, and repeats are near. */
static struct range passed_range(const struct entrant *e, double fresh, bool weighed)
{
    struct range out = {INFINITY, 0};
    double gone = 0;

    for (uint32_t i = 0; i < HORIZON; i++)
        gone += e->gone[i] / HORIZON;
    for (uint32_t i = 1; i < PARTS; i++) {
        struct part_counts empty = counts_of(&e->part[0][i], weighed);
        struct part_counts full = counts_of(&e->part[1][i], weighed);
        double records = (double)(e->part[1][i].n[NEW] + e->part[1][i].n[OLD]);
        double missed = full.missed / full.n, older = fresh * gone;

        if (empty.repeats > 0) {
            double rate = empty.missed / empty.repeats;

            out.low = fmin(out.low, rate - SIGMAS * deviation(rate, (double)e->part[0][i].n[OLD]));
        }
        missed += SIGMAS * deviation(missed, records) + older;
        out.high = fmax(out.high, missed / fmax(full.repeats / full.n + older, 1 / full.n));
    }
    out.low = isinf(out.low) ? 0 : fmax(0, out.low);
    out.high = fmin(1, out.high);
    return out;
}

/* limit: of the filter's own parameter, which holds for any stream; 0: it has none. keys: new ones
 * until the horizon. */
static struct range lost_range(const struct entrant *e, double limit, double keys)
{
    double late = e->late_error, first = score_rate(&e->score, NEW);
    struct range out = {first, late + SIGMAS_LOST * sqrt(late / fmax(keys, 1))};

    for (uint32_t i = 1; i < PARTS; i++)
        if (e->part[0][i].n[NEW] > 0)
            out.low = fmin(out.low, score_rate(&e->part[0][i], NEW));
    out.low = fmax(0, out.low - SIGMAS_LOST * deviation(out.low, (double)e->score.n[NEW]));
    out.high = fmin(1, fmax(fmax(out.high, limit), first));
    return out;
}

static struct outlook predict(const struct entrant *e, const struct candidate *c,
                              const struct growth *growth, bool weighed)
{
    double limit = 0;

    if (c->fpr && filter_takes(c->name, "fpr"))
        read_rate(c->fpr, &limit);
    return (struct outlook){.lost = lost_range(e, limit, growth->horizon),
                            .passed = passed_range(e, growth->rate, weighed)};
}

/* Of these records alone. */
static struct outlook measured(const struct entrant *e, bool weighed)
{
    double lost = score_rate(&e->score, NEW);
    double passed = weighed ? score_weighted(&e->score, OLD) : score_rate(&e->score, OLD);

    return (struct outlook){.lost = {lost, lost}, .passed = {passed, passed}};
}

/* ---- the choice ---- */

#define HARDLY 1.1
#define HARDLY_RATE 0.002

static bool is_lower(double a, double b)
{
    return a * HARDLY + HARDLY_RATE < b;
}

/* Is a nearer to the limits than b? Lost records are compared first. Filters that hardly differ are
 * equal: the first one in the list is used. The upper end of passed repeats may be 1 for all, if
 * nothing is known about old keys: then the lower end decides. */
static bool is_nearer(const struct outlook *a, const struct outlook *b, double lost)
{
    bool keeps = a->lost.high <= lost, other = b->lost.high <= lost;

    if (keeps != other)
        return keeps;
    if (!keeps)
        return a->lost.high * HARDLY < b->lost.high;
    if (a->meets || is_lower(a->passed.high, b->passed.high) ||
        is_lower(b->passed.high, a->passed.high))
        return is_lower(a->passed.high, b->passed.high);
    return is_lower(a->passed.low, b->passed.low);
}

static uint32_t choose_among(const struct choice *choice, const struct candidates *list,
                             const char *name, uint32_t memory)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t i = 0; i < list->count; i++) {
        const struct candidate *c = &list->candidate[i];

        if (c->memory != memory || (name && strcmp(c->name, name) != 0) ||
            (!name && choice->must_last && !filter_is(c->name, WEIR_CAN_RUN_FOREVER)))
            continue;
        if (best == UINT32_MAX ||
            is_nearer(&choice->outlook[i], &choice->outlook[best], choice->limits.lost))
            best = i;
    }
    return best;
}

bool choose_setting(const struct choice *choice, const struct candidates *list, const char *name,
                    uint32_t memory, uint32_t *entrant)
{
    *entrant = choose_among(choice, list, name, memory);
    return *entrant != UINT32_MAX;
}

static void choose_best_of_each(struct choice *choice, const struct candidates *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const char *name = list->candidate[i].name;
        bool again = i > 0 && strcmp(list->candidate[i - 1].name, name) == 0; /* neighbours */
        uint32_t entrant;

        if (!again && choose_setting(choice, list, name, choice->memory, &entrant))
            choice->best_of[choice->filters++] = entrant;
    }
}

static bool any_lasts(const struct candidates *list)
{
    bool any = false;

    for (uint32_t i = 0; i < list->count; i++)
        any |= filter_is(list->candidate[i].name, WEIR_CAN_RUN_FOREVER);
    return any;
}

static bool meets(const struct outlook *o, struct limits limits)
{
    return !(o->lost.high > limits.lost) && !(o->passed.high > limits.passed);
}

void choose(struct choice *choice, bool going_on, const struct growth *growth, struct limits limits,
            bool weighed, const struct candidates *list, const struct entrants *all)
{
    *choice = (struct choice){
        .limits = limits, .best = UINT32_MAX, .must_last = going_on && any_lasts(list)};
    for (uint32_t i = 0; i < list->count; i++) {
        struct outlook *o = &choice->outlook[i];

        *o = going_on ? predict(&all->entrant[i], &list->candidate[i], growth, weighed)
                      : measured(&all->entrant[i], weighed);
        o->meets = meets(o, limits);
    }
    for (uint32_t m = 0; m < list->memories; m++) {
        uint32_t at = choice->at[m] = choose_among(choice, list, NULL, m);

        if (at == UINT32_MAX || choice->meets)
            continue;
        if (choice->best == UINT32_MAX || choice->outlook[at].meets ||
            is_nearer(&choice->outlook[at], &choice->outlook[choice->best], limits.lost)) {
            choice->best = at;
            choice->memory = m;
            choice->meets = choice->outlook[at].meets;
        }
    }
    choose_best_of_each(choice, list);
}
