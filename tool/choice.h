/* choice.h - which filter and memory to take, by what was measured. */
#ifndef WEIR_CHOICE_H
#define WEIR_CHOICE_H

#include "lineup.h"

#define GOOD 0.01 /* share of wrong verdicts that will do */

struct choice {
    uint32_t best;                 /* rival to take */
    uint32_t memory;               /* index of its memory */
    bool reached;                  /* it errs on at most GOOD */
    uint32_t at[RIVALS_MAX];       /* at[m]: the best rival of memory m */
    uint32_t champion[RIVALS_MAX]; /* of the memory to take: the best of each filter */
    uint32_t champions;
};

/* Wrong verdicts per record, weighted by importance, a false positive counted fp
 * times and a false negative fn times. */
double rival_cost(const struct rival *r, double fp, double fn);

/* The best rival of a memory at these costs. */
uint32_t choose_at(const struct lineup *l, const struct contest *c, uint32_t memory, double fp,
                   double fn);

/* The best setting of a filter in a memory; false if it was not measured there. */
bool choose_setting(const struct lineup *l, const struct contest *c, const char *name,
                    uint32_t memory, uint32_t *rival);

void choose(struct choice *h, const struct lineup *l, const struct contest *c);

#endif
