/* lineup.h - which filters, settings and memories a report measures. */
#ifndef WEIR_LINEUP_H
#define WEIR_LINEUP_H

#include "contest.h"

/* How a rival was asked for; what it became is in the contest. */
struct entrant {
    char name[64];
    uint32_t memory; /* index into lineup.memory */
    const char *fpr; /* NULL: as the options say */
};

struct lineup {
    struct entrant entrant[RIVALS_MAX]; /* the rivals of the contest, in order */
    uint64_t memory[RIVALS_MAX];        /* bytes, rising, of filters for the whole stream */
    uint32_t entrants, memories;
    uint32_t halvings; /* filters get memory / 2^halvings, as keys were left out */
};

/* Open a contest of those asked for by -a, -m, -e and -S, or of what is worth
 * looking at for so many distinct keys, of which one in 2^halvings was kept.
 * False after a sentence. */
bool lineup_open(struct lineup *l, struct contest *c, const struct options *o, bool weighed,
                 uint64_t distinct, uint32_t halvings, const char *seed);

/* Open a contest of some of them alone. */
bool lineup_pick(const struct lineup *l, struct contest *c, const struct options *o, bool weighed,
                 const uint32_t *index, uint32_t count, const char *seed);

#endif
