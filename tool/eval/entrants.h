/* entrants.h - the filters that an evaluation measures, and their scores.
 *
 * Filters share only the keys, so each thread can work on a filter of its own.
 *
 * A report on a stream that continues has a second pass. Each filter is cleared, observes as many
 * unique keys as the stream may bring until the end of the horizon, and then the records again. It
 * measures how many old keys are evicted by then, and the errors of a full filter. */
#ifndef WEIR_EVAL_ENTRANTS_H
#define WEIR_EVAL_ENTRANTS_H

#include <weir.h>

#include "pipe/batch.h"
#include "eval/replay.h"
#include "cli/options.h"
#include "state/shards.h"

/* ---- counts of records and errors, and their rates: score.c ---- */

enum { NEW = 0, OLD = 1 }; /* by the baseline: index of the columns below */

/* Errors of new arrivals are false positives, of old ones false negatives. */
struct score {
    uint64_t n[2], wrong[2];
    uint64_t weight[2], wrong_weight[2]; /* each arrival counted as its importance */
};

void score_count(struct score *s, const struct weir_key *key, const uint8_t *truth,
                 const uint8_t *answer, size_t n);

/* The same, for each class of importance. */
#define CLASSES 12288
void score_count_classes(struct score class[CLASSES], const struct weir_key *key,
                         const uint8_t *truth, const uint8_t *answer, size_t n);

/* The lowest importance of a class. Below 1024 each value has its own; above, classes are 1/512 to
 * 1/1024 of their values wide. */
uint64_t class_low(uint32_t class);

void score_add(struct score *to, const struct score *s);
struct score score_less(const struct score *a, const struct score *b);

/* Fractions; NaN if there were no such arrivals. */
double score_rate(const struct score *s, int truly);
double score_weighted(const struct score *s, int truly);
double score_weighted_all(const struct score *s, int truly); /* of the weight of all arrivals */

/* ---- the filters ---- */

#define ENTRANTS_MAX 512
#define PARTS 4
#define HORIZON 8 /* a continuation is predicted for a stream this many times as long */

/* Unique keys that follow the stream, in HORIZON steps of equal size. */
struct continuation {
    const struct replay *replay;
    uint64_t step;
};

/* A point of the curve: the score of all arrivals before it, summed over orders. */
struct point {
    uint64_t at; /* arrivals of one order */
    struct score score;
    double fill;
};

struct curve {
    struct point *point;
    uint32_t points, room, wanted;
    uint64_t step; /* arrivals between points; grows if the end is unknown */
    bool fixed;    /* the end is known */
};

struct entrant {
    struct shards filter; /* one shard */
    char name[64], settings[WEIR_SPEC_MAX];
    uint64_t memory; /* bytes of cells */
    uint8_t *answer;
    uint64_t turn; /* number of the batch that comes next */

    struct score score, before;  /* of all orders; of those before this one */
    struct score part[2][PARTS]; /* by pass, of equal parts of the stream; if its length is known */
    struct score *class;         /* with --by-importance, CLASSES of them */
    struct curve curve;
    uint64_t shown, expected; /* arrivals so far in this order; in all, 0: unknown */
    uint32_t pass;
    const struct continuation *continuation; /* to be observed before the second pass */
    double gone[HORIZON]; /* evicted at the end of a step, of the keys of the worst step */
    double late_error;    /* after the last step */
    double seconds;       /* of processor time in the filter's own code */
    uint64_t timed;       /* arrivals in that time */
    double fill, error;   /* sums over orders */
};

struct entrants {
    struct entrant *entrant;
    uint32_t count;
    uint32_t orders; /* completed */
    char seed[64];   /* the same for all */
};

/* The values of -a (default: all filters except those for a paper's tables) or --screen (default:
 * all that store keys), and of -m. */
struct selection {
    const struct options *request;
    enum weir_kind kind;
    bool weighed; /* arrivals have an importance */
    char name[ENTRANTS_MAX][64], memory[ENTRANTS_MAX][64];
    uint32_t names, memories;
};

/* False after a message. */
bool selection_read(struct selection *s, const struct options *o, enum weir_kind kind,
                    bool weighed);

/* The options for one of them. fpr: instead of that of the options; set: a further parameter such
 * as "enter=25%"; both may be NULL. */
struct filter_request selection_request(const struct selection *s, const char *name,
                                        const char *memory, const char *fpr, const char *set);

/* "recent memory=64 width=16 seed=1": "recent" and "width=16". */
void selection_describe(const char *config, char name[64], char settings[WEIR_SPEC_MAX]);

/* Does a filter have any of these traits (enum weir_trait)? This parameter ("k", "k=2")? */
bool filter_is(const char *name, uint64_t traits);
bool filter_takes(const char *name, const char *parameter);

/* All combinations of filters and memories. False after a message. */
bool entrants_add_all(struct entrants *all, const struct selection *s);

/* Or one by one: begin with none. If the library rejects the spec, *refused (if not NULL) gets the
 * reason and nothing is added. */
bool entrants_open(struct entrants *all);
bool entrants_add(struct entrants *all, const struct selection *s, const char *name,
                  const char *memory, const char *fpr, const char *set, struct weir_error *refused);
void entrants_remove_last(struct entrants *all);

void entrants_close(struct entrants *all);

/* Begin and end an order of n arrivals (0: unknown). */
void entrants_begin(struct entrants *all, uint64_t n);
void entrants_end(struct entrants *all);

/* Begin the second pass, after entrants_end(): the same stream after this continuation. */
void entrants_begin_second(struct entrants *all, const struct continuation *c);

/* Observe some keys; times may be NULL. */
void entrant_observe(struct entrant *e, const struct weir_key *key, const uint64_t *times,
                     const uint8_t *truth, uint32_t n);

#endif
