/* choice.h - which filters, settings and memories a report measures, and which of them it advises.
 *
 * The advice is the least memory in which a filter meets two limits: new records lost (false
 * positives among new records) and repeats passed (false negatives among repeats). */
#ifndef WEIR_REPORT_CHOICE_H
#define WEIR_REPORT_CHOICE_H

#include "eval/evaluation.h"

#define MEMORY_LEAST ((uint64_t)64 << 10) /* less is never advised: it saves nothing */
#define LOST_MOST 0.001                   /* default limits */
#define PASSED_MOST 0.05
#define SETTINGS 2 /* of a filter: see choice.c */

struct limits {
    double lost, passed;
};

/* The parts of a spec. */
struct candidate {
    char name[64];
    uint32_t memory; /* index into candidates.memory */
    const char *fpr; /* NULL: as the options say */
    const char *set; /* a further parameter; NULL: none */
};

struct candidates {
    struct candidate candidate[ENTRANTS_MAX]; /* in the order of the entrants */
    uint64_t memory[ENTRANTS_MAX];            /* bytes, rising, of filters for the whole stream */
    uint32_t count, memories;
    uint32_t halvings; /* filters get memory / 2^halvings, because keys were left out */
    char fpr[32];      /* half the limit: then chance does not exceed it either */
};

/* Keys to plan for, of the whole stream. */
struct growth {
    double distinct, horizon; /* so far; after HORIZON times as many records */
    double rate;     /* new keys per record to plan for: the higher of the last two quarters */
    double slowdown; /* of that rate when the records double; NaN or infinity: unknown */
};

struct growth growth_of(const struct evaluation *ev, bool going_on);

/* Add the candidates of -a, -m, -e and -S, or those worth measuring for that number of keys. If
 * `beyond` is not 0, instead the first filter of the list with more memory than that. False after a
 * message. */
bool candidates_open(struct candidates *list, struct entrants *all, const struct options *o,
                     bool weighed, const struct growth *growth, struct limits limits,
                     uint32_t halvings, uint64_t beyond, const char *seed);

/* Add some of them only. */
bool candidates_pick(const struct candidates *list, struct entrants *all, const struct options *o,
                     bool weighed, const uint32_t *index, uint32_t count, const char *seed);

/* An interval; both ends are equal if it was measured. NaN: there were no such records. */
struct range {
    double low, high;
};

struct outlook {
    struct range lost, passed;
    bool meets;
};

struct choice {
    struct outlook outlook[ENTRANTS_MAX]; /* of each entrant */
    struct limits limits;
    bool must_last;  /* filters that fill up are not advised */
    uint32_t best;   /* the advised entrant, or the nearest to the limits */
    uint32_t memory; /* index of its memory */
    bool meets;
    uint32_t at[ENTRANTS_MAX];      /* at[m]: the best entrant of memory m; UINT32_MAX: none */
    uint32_t best_of[ENTRANTS_MAX]; /* in the advised memory: the best of each filter */
    uint32_t filters;
};

/* The best setting of a filter in a memory; false if it was not measured there. */
bool choose_setting(const struct choice *choice, const struct candidates *list, const char *name,
                    uint32_t memory, uint32_t *entrant);

/* going_on: the stream continues; otherwise these records are all. */
void choose(struct choice *choice, bool going_on, const struct growth *growth, struct limits limits,
            bool weighed, const struct candidates *list, const struct entrants *all);

#endif
