/* choice.c - see choice.h. The least memory in which some filter errs on at most
 * GOOD of the records; if none does, the largest. In it the filter that errs least;
 * of those that hardly differ the first listed, since filters are listed from the
 * one to take when in doubt. */
#include "report/choice.h"

#include <math.h>
#include <string.h>

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
