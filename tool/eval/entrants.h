/* entrants.h - the filters that are measured side by side, and what each has
 * got right and wrong. They share nothing but the keys: any number of threads
 * may work, each on a filter of its own. */
#ifndef WEIR_EVAL_ENTRANTS_H
#define WEIR_EVAL_ENTRANTS_H

#include "eval/request.h"
#include "eval/score.h"
#include "verdict/deal.h"

#define ENTRANTS_MAX 512

/* A point of the curve: all before it. Sums over orders. */
struct point {
    uint64_t at; /* arrivals, of one order */
    struct score score;
    double fill;
};

struct curve {
    struct point *point;
    uint32_t points, room, wanted;
    uint64_t step; /* arrivals from point to point; grows where the end is not known */
    bool fixed;    /* it is known */
};

struct entrant {
    struct shards filter; /* of one shard */
    char name[64], settings[WEIR_SPEC_MAX];
    uint64_t memory; /* bytes of cells */
    uint8_t *answer;

    struct score score, before; /* of all orders; of those before this one */
    struct score first;         /* of the first showings, where the stream is shown again */
    struct score *into;         /* the one of them that counts now; NULL: none */
    struct score *class;        /* with --by-importance, CLASSES of them */
    struct curve curve;
    uint64_t shown;     /* of this order */
    double seconds;     /* of processor time in the filter's own code */
    uint64_t timed;     /* arrivals that took them */
    double fill, error; /* sums over orders */
};

struct entrants {
    struct entrant *entrant;
    uint32_t count;
    uint32_t orders; /* of the stream, that were shown */
    char seed[64];   /* the same for all */
};

/* Who is to take part: the words of -a (or all filters but those that are there
 * for a paper's tables) and of -m. */
struct selection {
    const struct eval_request *request;
    bool weighed; /* arrivals have an importance */
    char name[ENTRANTS_MAX][64], memory[ENTRANTS_MAX][64];
    uint32_t names, memories;
};

/* Has a filter any of these traits (enum weir_trait)? This parameter ("k", "k=2")? */
bool filter_is(const char *name, uint64_t traits);
bool filter_takes(const char *name, const char *parameter);

/* The words of values such as "a,b" of an option, after those that are there. False after
 * a message. */
bool selection_split(const struct values *list, const char *option, char words[ENTRANTS_MAX][64],
                     uint32_t *count);

/* All combinations of filters and memories. False after a message. */
bool selection_read(struct selection *s, const struct eval_request *o, bool weighed);
bool entrants_add_all(struct entrants *all, const struct selection *s);

/* Or one by one: begin with none; memory and fpr may be NULL, for what the options
 * say. Where the library refuses, *refused (if not NULL) gets its reason and
 * nobody enters. */
bool entrants_open(struct entrants *all);
bool entrants_add(struct entrants *all, const struct selection *s, const char *name,
                  const char *memory, const char *fpr, struct weir_error *refused);
void entrants_remove_last(struct entrants *all); /* the latest */

void entrants_close(struct entrants *all);

/* An order of n arrivals begins (0: nobody knows how many). It ends. */
void entrants_begin(struct entrants *all, uint64_t n);
void entrants_end(struct entrants *all);

/* The next showing of the stream in this order begins: the first, the last, or both.
 * What is in between makes filters as full as they will be, and is not counted. */
void entrants_begin_showing(struct entrants *all, bool first, bool last);

/* Show an entrant some keys; times may be NULL. */
void entrant_observe(struct entrant *e, const struct weir_key *key, const uint64_t *times,
                     const uint8_t *truth, uint32_t n);

#endif
