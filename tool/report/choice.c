/* choice.c - see choice.h.
 *
 * What is measured: memories are the powers of two from about 1 to about 32 bits per
 * distinct key. A filter is measured as it comes and with several ceilings of false
 * positives: what is least at one memory is not at another.
 *
 * What is chosen: the least memory in which some filter errs on at most GOOD of the
 * records; if none does, the largest. In it the filter that errs least; of those that
 * hardly differ the first listed, since filters are listed from the one to take when in
 * doubt. */
#include "report/choice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/units.h"

#define MEMORIES 6
#define MEMORY_LEAST 256 /* bytes in a filter that is measured */

/* ---- memories ---- */

static void choose_memories(struct candidates *list, uint64_t distinct)
{
    uint64_t memory = (uint64_t)MEMORY_LEAST << list->halvings;

    while (memory * memory * 2 < distinct / 8 * (distinct / 8)) /* the nearest power of two */
        memory *= 2;
    for (; list->memories < MEMORIES; memory *= 2)
        list->memory[list->memories++] = memory;
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
            return reject("-m %s does not fit: a report takes sizes such as 64K or 1M",
                          f->memory[i]);
        if (list->halvings && *memory >> list->halvings < MEMORY_LEAST)
            return reject(
                "-m %s is too little here: of so long a stream a report measures one key in "
                "%u, with as much less memory; without --report all are measured",
                f->memory[i], 1u << list->halvings);
    }
    qsort(list->memory, list->memories, sizeof *list->memory, by_size);
    return true;
}

/* ---- filters ---- */

/* Counters take four times the memory, to forget, which is not measured here; and
 * without importance what is made for it has needless bits. */
static bool is_worth_it(const char *name, bool weighed)
{
    return !filter_is(name, WEIR_CAN_FORGET) && (weighed || !filter_is(name, WEIR_FOR_IMPORTANCE));
}

static void drop_the_rest(struct selection *f)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < f->names; i++)
        if (is_worth_it(f->name[i], f->weighed))
            memmove(f->name[left++], f->name[i], sizeof f->name[0]);
    f->names = left;
}

/* ---- settings ---- */

static const char *const ceilings[] = {NULL, "50%", "10%", "1%", "0.1%"};
#define CEILINGS (sizeof ceilings / sizeof *ceilings)
#define CEILINGS_IMPORTANCE 3 /* below 10 % such filters remember next to nothing */

static bool is_settled(const struct eval_request *o)
{
    bool settled = o->filter.fpr;

    for (int i = 0; i < o->filter.sets; i++)
        settled |= strncmp(o->filter.set[i], "hash=", 5) != 0 &&
                   strncmp(o->filter.set[i], "importance=", 11) != 0;
    return settled;
}

static size_t ceilings_of(const char *name)
{
    if (!filter_takes(name, "fpr"))
        return 1;
    return filter_is(name, WEIR_FOR_IMPORTANCE) ? CEILINGS_IMPORTANCE : CEILINGS;
}

/* Not if the options settle them, nor where that were too many filters. */
static bool tries_ceilings(const struct candidates *list, const struct selection *f)
{
    size_t all = 0;

    for (uint32_t i = 0; i < f->names; i++)
        all += ceilings_of(f->name[i]) * list->memories;
    return !is_settled(f->request) && all <= ENTRANTS_MAX;
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

/* What the library refuses of our own choice is left out without a word. */
static bool enter(struct candidates *list, struct entrants *all, const struct selection *f,
                  const struct candidate *e)
{
    bool asked = f->request->measures.algorithms.n > 0 && !e->fpr;
    uint32_t before = all->count;
    struct weir_error refused;
    char memory[32];

    snprintf(memory, sizeof memory, "%llu",
             (unsigned long long)(list->memory[e->memory] >> list->halvings));
    if (!entrants_add(all, f, e->name, memory, e->fpr, asked ? NULL : &refused))
        return false;
    if (all->count > before && is_double(all))
        entrants_remove_last(all);
    if (all->count > before)
        list->candidate[list->count++] = *e;
    return true;
}

static bool enter_all(struct candidates *list, struct entrants *all, const struct selection *f)
{
    bool several = tries_ceilings(list, f);

    for (uint32_t i = 0; i < f->names; i++)
        for (uint32_t m = 0; m < list->memories; m++)
            for (size_t k = 0; k < (several ? ceilings_of(f->name[i]) : 1); k++) {
                struct candidate e = {.memory = m, .fpr = ceilings[k]};

                memcpy(e.name, f->name[i], sizeof e.name);
                if (!enter(list, all, f, &e))
                    return false;
            }
    return list->count || reject("none of the filters can be had in so little memory");
}

static bool prepare(struct entrants *all, const char *seed)
{
    if (!entrants_open(all))
        return false;
    snprintf(all->seed, sizeof all->seed, "%s", seed);
    return true;
}

bool candidates_open(struct candidates *list, struct entrants *all, const struct eval_request *o,
                     bool weighed, uint64_t distinct, uint32_t halvings, const char *seed)
{
    static struct selection f;

    *list = (struct candidates){.halvings = halvings};
    if (!prepare(all, seed) || !selection_read(&f, o, weighed))
        return false;
    if (o->measures.algorithms.n == 0)
        drop_the_rest(&f);
    if (f.memories == 0)
        choose_memories(list, distinct);
    else if (!take_memories(list, &f))
        return false;
    return enter_all(list, all, &f);
}

bool candidates_pick(const struct candidates *list, struct entrants *all,
                     const struct eval_request *o, bool weighed, const uint32_t *index,
                     uint32_t count, const char *seed)
{
    static struct selection f;
    static struct candidates picked;

    picked = *list;
    picked.count = 0;
    if (!prepare(all, seed) || !selection_read(&f, o, weighed))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!enter(&picked, all, &f, &list->candidate[index[i]]))
            return false;
    return true;
}

/* ---- the choice ---- */

#define HARDLY 1.02
#define HARDLY_RATE 0.0001

/* Where the stream was shown once, there is one score. */
static double cost_of(const struct choice *choice, const struct entrant *e, double fp, double fn)
{
    bool again = e->first.n[NEW] > 0;

    return score_cost(choice->outlook == AS_IT_IS && again ? &e->first : &e->score, fp, fn);
}

/* Among the entrants of a memory: all settings of one filter, or those of all
 * filters that will do. */
static bool choose_among(const struct choice *choice, const struct candidates *list,
                         const struct entrants *all, const char *name, uint32_t memory, double fp,
                         double fn, uint32_t *best)
{
    double least = INFINITY;
    bool found = false;

    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < list->count && !found; i++) {
            const struct candidate *c = &list->candidate[i];
            double cost = cost_of(choice, &all->entrant[i], fp, fn);

            if (c->memory != memory || (name && strcmp(c->name, name) != 0) ||
                (!name && choice->must_last && !filter_is(c->name, WEIR_CAN_RUN_FOREVER)))
                continue;
            least = cost < least ? cost : least;
            found = round == 1 && cost <= least * HARDLY + HARDLY_RATE;
            *best = i;
        }
    return found;
}

uint32_t choose_at(const struct choice *choice, const struct candidates *list,
                   const struct entrants *all, uint32_t memory, double fp, double fn)
{
    uint32_t best = UINT32_MAX;

    return choose_among(choice, list, all, NULL, memory, fp, fn, &best) ? best : UINT32_MAX;
}

bool choose_setting(const struct choice *choice, const struct candidates *list,
                    const struct entrants *all, const char *name, uint32_t memory,
                    uint32_t *entrant)
{
    return choose_among(choice, list, all, name, memory, 1, 1, entrant);
}

static void choose_best_of_each(struct choice *choice, const struct candidates *list,
                                const struct entrants *all)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const char *name = list->candidate[i].name;
        bool again = i > 0 && strcmp(list->candidate[i - 1].name, name) == 0; /* neighbours */
        uint32_t entrant;

        if (!again && choose_setting(choice, list, all, name, choice->memory, &entrant))
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

void choose(struct choice *choice, enum outlook outlook, const struct candidates *list,
            const struct entrants *all)
{
    *choice = (struct choice){.outlook = outlook, .best = UINT32_MAX};
    choice->must_last = outlook == AS_IT_GOES_ON && any_lasts(list);
    for (uint32_t m = 0; m < list->memories; m++) {
        choice->at[m] = choose_at(choice, list, all, m, 1, 1);
        if (choice->at[m] == UINT32_MAX || choice->reached)
            continue;
        choice->best = choice->at[m];
        choice->memory = m;
        choice->reached = cost_of(choice, &all->entrant[choice->best], 1, 1) <= GOOD;
    }
    choose_best_of_each(choice, list, all);
}
