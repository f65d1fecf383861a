/* choice.h - which filter and memory to take, by what was measured. */
#ifndef WEIR_REPORT_CHOICE_H
#define WEIR_REPORT_CHOICE_H

#include "report/candidates.h"

#define GOOD 0.01 /* share of wrong verdicts that will do */

struct choice {
    uint32_t best;                  /* entrant to take */
    uint32_t memory;                /* index of its memory */
    bool reached;                   /* it errs on at most GOOD */
    uint32_t at[ENTRANTS_MAX];      /* at[m]: the best entrant of memory m */
    uint32_t best_of[ENTRANTS_MAX]; /* of the memory to take: the best of each filter */
    uint32_t filters;
};

/* Wrong verdicts per record, weighted by importance, a false positive counted fp
 * times and a false negative fn times. */
double entrant_cost(const struct entrant *r, double fp, double fn);

/* The best entrant of a memory at these costs. */
uint32_t choose_at(const struct candidates *list, const struct entrants *all, uint32_t memory,
                   double fp, double fn);

/* The best setting of a filter in a memory; false if it was not measured there. */
bool choose_setting(const struct candidates *list, const struct entrants *all, const char *name,
                    uint32_t memory, uint32_t *entrant);

void choose(struct choice *choice, const struct candidates *list, const struct entrants *all);

#endif
