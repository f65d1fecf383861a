/* choice.c - see choice.h. The least memory in which some filter errs on at most
 * GOOD of the records; if none does, the largest. In it the filter that errs least;
 * of those that hardly differ the first listed, since filters are listed from the
 * one to take when in doubt. */
#include "choice.h"

#include <math.h>
#include <string.h>

#define HARDLY 1.02
#define HARDLY_RATE 0.0001

double rival_cost(const struct rival *r, double fp, double fn)
{
    const struct score *s = &r->score;
    uint64_t all = s->weight[NEW] + s->weight[OLD];

    return all ? (fp * (double)s->wrong_weight[NEW] + fn * (double)s->wrong_weight[OLD]) /
                     (double)all
               : 0;
}

/* Among the rivals of a memory, and of one filter if a name is given. */
static bool choose_among(const struct lineup *l, const struct contest *c, const char *name,
                         uint32_t memory, double fp, double fn, uint32_t *best)
{
    double least = INFINITY;
    bool found = false;

    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < l->entrants && !found; i++) {
            double cost = rival_cost(&c->rival[i], fp, fn);

            if (l->entrant[i].memory != memory || (name && strcmp(l->entrant[i].name, name) != 0))
                continue;
            least = cost < least ? cost : least;
            found = round == 1 && cost <= least * HARDLY + HARDLY_RATE;
            *best = i;
        }
    return found;
}

uint32_t choose_at(const struct lineup *l, const struct contest *c, uint32_t memory, double fp,
                   double fn)
{
    uint32_t best = UINT32_MAX;

    return choose_among(l, c, NULL, memory, fp, fn, &best) ? best : UINT32_MAX;
}

bool choose_setting(const struct lineup *l, const struct contest *c, const char *name,
                    uint32_t memory, uint32_t *rival)
{
    return choose_among(l, c, name, memory, 1, 1, rival);
}

static void choose_champions(struct choice *h, const struct lineup *l, const struct contest *c)
{
    for (uint32_t i = 0; i < l->entrants; i++) {
        const char *name = l->entrant[i].name;
        bool met = i > 0 && strcmp(l->entrant[i - 1].name, name) == 0; /* they stand together */
        uint32_t rival;

        if (!met && choose_setting(l, c, name, h->memory, &rival))
            h->champion[h->champions++] = rival;
    }
}

void choose(struct choice *h, const struct lineup *l, const struct contest *c)
{
    *h = (struct choice){.best = UINT32_MAX};
    for (uint32_t m = 0; m < l->memories; m++) {
        h->at[m] = choose_at(l, c, m, 1, 1);
        if (h->at[m] == UINT32_MAX || h->reached)
            continue;
        h->best = h->at[m];
        h->memory = m;
        h->reached = rival_cost(&c->rival[h->best], 1, 1) <= GOOD;
    }
    choose_champions(h, l, c);
}
