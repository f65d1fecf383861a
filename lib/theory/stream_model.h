/* theory/stream_model.h - the model of a stream, and the prediction of a filter on it.
 *
 * Keys are drawn independently, each with its own rate (probability per arrival). A share `fresh`
 * of the arrivals has a new key that never repeats. The models need one function of the stream, the
 * number of distinct keys among any a consecutive arrivals:
 *
 *     D(a)    = fresh a + sum over keys of 1 - exp(-rate a)
 *     D'(a)   = probability that an arrival's key did not occur in the a arrivals before it
 *     -D''(a) = density of the gap between an arrival and the previous one of the same key
 *
 * The number of keys per cell is Poisson. With s cells, no key of a cell arrives within a arrivals
 * with probability exp(-D(a) / s), whatever the rates of its keys. So the models integrate over D
 * and need no average over the keys of a cell.
 *
 * Rates are grouped into bins. Importance is uniform within bounds of each bin, so it can grow or
 * fall with the rate. model_part() returns the keys of an importance class as a stream of their
 * own. Integer importances lo..hi are the range lo to hi + 1 here. */
#ifndef WEIR_THEORY_STREAM_MODEL_H
#define WEIR_THEORY_STREAM_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define MODEL_BINS 48
#define MODEL_CLASSES 256

struct model_range {
    double low, high;
};

/* Keys of the same rate. */
struct model_bin {
    double keys;
    double rate; /* of each key, per arrival */
    struct model_range importance;
};

struct stream_model {
    double n;     /* arrivals; INFINITY: unbounded */
    double fresh; /* share of arrivals whose key never repeats */
    struct model_range fresh_importance;
    bool important; /* keys have importances */
    uint32_t bins;
    struct model_bin bin[MODEL_BINS];
};

/* Only fresh keys. n may be INFINITY. */
void model_endless(struct stream_model *m, double n);

/* n draws with replacement from `keys` keys, and a share of fresh keys. Uniform: all rates are
 * equal. Zipf: the rate of key r is proportional to r^-alpha. */
void model_uniform(struct stream_model *m, double n, double keys, double fresh);
void model_zipf(struct stream_model *m, double n, double keys, double alpha, double fresh);

/* n draws from `keys` keys, with the same number of keys for each importance from low to high - 1.
 * A key's rate is proportional to its importance, or to 1 / importance if inverse. Fresh keys have
 * any importance. */
void model_by_importance(struct stream_model *m, double n, double keys, double fresh, double low,
                         double high, bool inverse);

/* Add importances: uniform from low to high, whatever the rate (model_importance); or falling with
 * the rank, from `high` for the most frequent key to `low` for fresh keys, or rising if inverse
 * (model_bias). */
void model_importance(struct stream_model *m, double low, double high);
void model_bias(struct stream_model *m, double low, double high, bool inverse);

/* D and D'. */
double model_distinct(const struct stream_model *m, double age);
double model_new(const struct stream_model *m, double age);

/* The age at which D reaches a number of keys; INFINITY if it never does. */
double model_age(const struct stream_model *m, double distinct);

/* The keys with low <= importance < high. */
void model_part(const struct stream_model *m, double low, double high, struct stream_model *part);

/* The share of arrivals below an importance. */
double model_below(const struct stream_model *m, double importance);

/* The false-negative rate of a filter that misses a repeat after a gap with probability
 * miss(context, gap), independent of time. NAN if there are no repeats. */
double model_missed(const struct stream_model *m, double (*miss)(void *context, double gap),
                    void *context);

/* Gaps and times grow by this factor from step to step. */
#define MODEL_STEP 1.05

/* A filter's predicted behaviour on a stream. Rates are over the whole run: false positives per new
 * key, false negatives per repeat. On an unbounded stream they are the limits. NAN: unknown or
 * undefined. */
struct prediction {
    double fpr, fnr;
    double fill, error; /* at the end */
    double stable;      /* limit of the error on unbounded fresh keys; NAN if it has none */
    double paper;       /* the error at the end by the paper's formula; NAN if there is none */
    uint32_t classes;   /* importance classes, numbered from 1; 0: none */
    double class_share[MODEL_CLASSES], class_fnr[MODEL_CLASSES]; /* of class i at [i] */
    bool no_memory; /* prediction failed because out of memory */

    double gap; /* input: arrivals between two occurrences of a key; 0: no gap prediction */
    /* the probability that the second is missed, at the end: of all arrivals, and of class i */
    double gap_missed, class_gap_missed[MODEL_CLASSES];
};

/* Set all members to unknown. */
void prediction_clear(struct prediction *p);

/* Keys with a TTL each (ttl=). All are new, and their TTLs are log-uniform over the range. */
struct ttl_load {
    double rate;                   /* keys per second; 0: as many as fit */
    double ttl;                    /* of the keys that are followed, in milliseconds */
    struct model_range importance; /* uniform; high is 0 if it is unknown */
};

#define TTL_GROUPS 4 /* importance classes in groups of equal size, ascending */

/* Of all keys at [0], of group i at [i]. */
struct ttl_prediction {
    double rate, live, fpr; /* live: keys in the filter that have not expired */
    uint32_t groups;        /* 0 without importance */
    double share[1 + TTL_GROUPS];
    double kept_half[1 + TTL_GROUPS]; /* share not evicted at half of the TTL, */
    double kept[1 + TTL_GROUPS];      /* and while keys are always seen unless evicted */
};

#endif
