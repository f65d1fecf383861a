/* theory/stream_model.h - a stream as the models see it, and what they predict.
 *
 * Keys are drawn independently, each with its own chance per arrival; a share of
 * the arrivals is fresh: a key of its own, never to come again. Of such a stream
 * one function tells almost everything, the distinct keys among a arrivals:
 *
 *     D(a)    = fresh a + sum over keys of 1 - exp(-rate a)
 *     D'(a)   = chance that an arrival is new after a others: the share of those
 *               whose gap to their last showing is longer than a
 *     -D''(a) = density of the gaps of those that are not
 *
 * It is the same for any stretch of a arrivals. Keys that share a cell are Poisson:
 * with D(a) / s keys per cell on average, one of s cells is left alone for a
 * arrivals with chance exp(-D(a) / s), whatever the rates of its keys are: nothing
 * needs to be averaged over keys per cell by hand. That is what the models in this
 * room integrate over.
 *
 * Importance lies evenly between bounds, for each bin of rates its own, so that it
 * can go with the rate or against it. model_part() gives the keys between two
 * importances as a stream of their own: D of a class. Whole numbers lo..hi are
 * lo to hi + 1 here. */
#ifndef WEIR_THEORY_STREAM_MODEL_H
#define WEIR_THEORY_STREAM_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define MODEL_BINS 48
#define MODEL_CLASSES 256

struct model_range {
    double low, high;
};

/* So many keys alike. */
struct model_bin {
    double keys;
    double rate; /* of one of them, per arrival */
    struct model_range importance;
};

struct stream_model {
    double n;     /* arrivals; INFINITY: without end */
    double fresh; /* share of them with a key of its own */
    struct model_range fresh_importance;
    bool important; /* importances differ */
    uint32_t bins;
    struct model_bin bin[MODEL_BINS];
};

/* Nothing but fresh keys, without end (n = INFINITY) or not. */
void model_endless(struct stream_model *m, double n);

/* n draws with replacement from so many keys, but for a share of fresh ones:
 * all alike; or key r with a chance as r^-alpha. */
void model_uniform(struct stream_model *m, double n, double keys, double fresh);
void model_zipf(struct stream_model *m, double n, double keys, double alpha, double fresh);

/* n draws from so many keys with importances low to high - 1, all as frequent among the
 * keys; a key as often as it matters, or inversely. Fresh ones have any importance. */
void model_by_importance(struct stream_model *m, double n, double keys, double fresh, double low,
                         double high, bool inverse);

/* Importance even from low to high, whatever the rate; or along with the rank, from
 * the highest at the most frequent key to the lowest at fresh ones, or inversely. */
void model_importance(struct stream_model *m, double low, double high);
void model_bias(struct stream_model *m, double low, double high, bool inverse);

/* D and D'. */
double model_distinct(const struct stream_model *m, double age);
double model_new(const struct stream_model *m, double age);

/* The age at which D reaches so many keys; INFINITY if it does not. */
double model_age(const struct stream_model *m, double distinct);

/* Only the keys with an importance from low up to, not including, high. */
void model_part(const struct stream_model *m, double low, double high, struct stream_model *part);

/* The share of arrivals with an importance below. */
double model_below(const struct stream_model *m, double importance);

/* The share of the repeats that are missed, where one after a gap of so many arrivals
 * is missed with this chance, at any time; NAN if there are no repeats. */
double model_missed(const struct stream_model *m, double (*miss)(void *context, double gap),
                    void *context);

/* Gaps and times as the models step through them: the i-th is MODEL_STEP^i times the
 * least. */
#define MODEL_STEP 1.05

/* What a filter will do. Rates over the whole run, of the truly new and of the
 * true repeats; NAN where nothing can be said or there is none. On a stream
 * without end: where it settles. */
struct prediction {
    double fpr, fnr;
    double fill, error; /* at the end */
    double stable;      /* the error at which it settles on fresh keys without end; NAN if none */
    double paper;       /* the error at the end as the paper's formula has it; NAN if none */
    uint32_t classes;   /* of importance, from 1 on; 0 if they are all alike */
    double class_share[MODEL_CLASSES], class_fnr[MODEL_CLASSES]; /* of class i at [i] */
    bool no_memory; /* to work it out: that is why it is not known */

    double gap; /* asked for: arrivals between two showings of a key; 0: nothing is */
    /* the chance that the second is missed, at the end; of all arrivals, and of class i */
    double gap_missed, class_gap_missed[MODEL_CLASSES];
};

/* All of it not known. */
void prediction_none(struct prediction *p);

#endif
