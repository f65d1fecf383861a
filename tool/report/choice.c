/* choice.c - see choice.h. The least memory in which some filter errs on at most
 * GOOD of the records; if none does, the largest. In it the filter that errs least;
 * of those that hardly differ the first listed, since filters are listed from the
 * one to take when in doubt. */
#include "report/choice.h"

#include <math.h>
#include <string.h>

#define HARDLY 1.02
#define HARDLY_RATE 0.0001

double entrant_cost(const struct entrant *r, double fp, double fn)
{
    const struct score *s = &r->score;
    uint64_t all = s->weight[NEW] + s->weight[OLD];

    return all ? (fp * (double)s->wrong_weight[NEW] + fn * (double)s->wrong_weight[OLD]) /
                     (double)all
               : 0;
}

/* Among the entrants of a memory, and of one filter if a name is given. */
static bool choose_among(const struct candidates *list, const struct entrants *all,
                         const char *name, uint32_t memory, double fp, double fn, uint32_t *best)
{
    double least = INFINITY;
    bool found = false;

    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < list->count && !found; i++) {
            double cost = entrant_cost(&all->entrant[i], fp, fn);

            if (list->candidate[i].memory != memory ||
                (name && strcmp(list->candidate[i].name, name) != 0))
                continue;
            least = cost < least ? cost : least;
            found = round == 1 && cost <= least * HARDLY + HARDLY_RATE;
            *best = i;
        }
    return found;
}

uint32_t choose_at(const struct candidates *list, const struct entrants *all, uint32_t memory,
                   double fp, double fn)
{
    uint32_t best = UINT32_MAX;

    return choose_among(list, all, NULL, memory, fp, fn, &best) ? best : UINT32_MAX;
}

bool choose_setting(const struct candidates *list, const struct entrants *all, const char *name,
                    uint32_t memory, uint32_t *entrant)
{
    return choose_among(list, all, name, memory, 1, 1, entrant);
}

static void choose_best_of_each(struct choice *choice, const struct candidates *list,
                                const struct entrants *all)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const char *name = list->candidate[i].name;
        bool met =
            i > 0 && strcmp(list->candidate[i - 1].name, name) == 0; /* they stand together */
        uint32_t entrant;

        if (!met && choose_setting(list, all, name, choice->memory, &entrant))
            choice->best_of[choice->filters++] = entrant;
    }
}

void choose(struct choice *choice, const struct candidates *list, const struct entrants *all)
{
    *choice = (struct choice){.best = UINT32_MAX};
    for (uint32_t m = 0; m < list->memories; m++) {
        choice->at[m] = choose_at(list, all, m, 1, 1);
        if (choice->at[m] == UINT32_MAX || choice->reached)
            continue;
        choice->best = choice->at[m];
        choice->memory = m;
        choice->reached = entrant_cost(&all->entrant[choice->best], 1, 1) <= GOOD;
    }
    choose_best_of_each(choice, list, all);
}
