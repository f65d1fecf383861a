/* candidates.h - which filters, settings and memories a report measures. */
#ifndef WEIR_REPORT_CANDIDATES_H
#define WEIR_REPORT_CANDIDATES_H

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

#endif
