/* choice.h - which filters, settings and memories a report measures, and which of them to take. */
#ifndef WEIR_REPORT_CHOICE_H
#define WEIR_REPORT_CHOICE_H

#include "eval/entrants.h"

/* How an entrant is asked for; what it became is in struct entrants. */
struct candidate {
    char name[64];
    uint32_t memory; /* index into candidates.memory */
    const char *fpr; /* NULL: as the options say */
};

struct candidates {
    struct candidate candidate[ENTRANTS_MAX]; /* in the order of the entrants */
    uint64_t memory[ENTRANTS_MAX];            /* bytes, rising, of filters for the whole stream */
    uint32_t count, memories;
    uint32_t halvings; /* filters get memory / 2^halvings, as keys were left out */
};

/* Enter those asked for by -a, -m, -e and -S, or of what is worth
 * looking at for so many distinct keys, of which one in 2^halvings was kept.
 * False after a message. */
bool candidates_open(struct candidates *list, struct entrants *all, const struct eval_request *o,
                     bool weighed, uint64_t distinct, uint32_t halvings, const char *seed);

/* Enter some of them alone. */
bool candidates_pick(const struct candidates *list, struct entrants *all,
                     const struct eval_request *o, bool weighed, const uint32_t *index,
                     uint32_t count, const char *seed);

#define GOOD 0.01 /* share of wrong verdicts that will do */

/* What is judged by: the records as they are, or what comes after them, new keys among
 * it. */
enum outlook { AS_IT_IS, AS_IT_GOES_ON };

struct choice {
    enum outlook outlook;
    bool must_last;                 /* what fills up or ages will not do */
    uint32_t best;                  /* entrant to take */
    uint32_t memory;                /* index of its memory */
    bool reached;                   /* it errs on at most GOOD */
    uint32_t at[ENTRANTS_MAX];      /* at[m]: the best entrant of memory m */
    uint32_t best_of[ENTRANTS_MAX]; /* of the memory to take: the best of each filter */
    uint32_t filters;
};

/* The best entrant of a memory at these costs of false positives and negatives. */
uint32_t choose_at(const struct choice *choice, const struct candidates *list,
                   const struct entrants *all, uint32_t memory, double fp, double fn);

/* The best setting of a filter in a memory; false if it was not measured there. */
bool choose_setting(const struct choice *choice, const struct candidates *list,
                    const struct entrants *all, const char *name, uint32_t memory,
                    uint32_t *entrant);

void choose(struct choice *choice, enum outlook outlook, const struct candidates *list,
            const struct entrants *all);

#endif
