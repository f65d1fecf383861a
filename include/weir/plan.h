/* weir/plan.h - what a filter will do, before it runs: by theory, from the
 * description of a stream.
 *
 *     struct weir_stream stream;
 *     struct weir_prediction p;
 *     struct weir_error error;
 *     const char *keys = "uniform:n=1M,distinct=60%";
 *     if (weir_stream_read(&stream, sizeof stream, keys, &error) != WEIR_OK ||
 *         weir_predict(&p, sizeof p, "rlbsbf memory=256K k=2", &stream, &error) != WEIR_OK)
 *         die(error.text);
 *     printf("%g of the new taken for seen, %g of the repeats missed\n", p.fpr, p.fnr);
 *
 * Nothing here opens a filter: its memory is not taken, however large the filter
 * would be. Calls share nothing; any thread may make them.
 *
 * Structs may grow: what is filled in is told its size, and what a program fills in
 * begins with it. Zeros stand for what a program of an earlier version did not say.
 *
 * Unstable: predictions still change with the research that they rest on. Define
 * WEIR_UNSTABLE before including this header; a program that does may have to be changed
 * and compiled again for the next version of the library. */
#ifndef WEIR_PLAN_H
#define WEIR_PLAN_H

#ifndef WEIR_UNSTABLE
#error "weir/plan.h is unstable: define WEIR_UNSTABLE before including it"
#endif

#include <weir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- streams ---- */

/* Keys drawn independently, all alike or key r as often as r^-alpha, but for a
 * share of arrivals with a key of their own that never comes again. With a bias, a uniform
 * stream has its keys as often as they matter, or as often as one over that. With a drift,
 * keys are replaced by others that come as often. */
enum weir_stream_kind { WEIR_STREAM_UNIFORM, WEIR_STREAM_ZIPF, WEIR_STREAM_ENDLESS };
enum weir_bias { WEIR_BIAS_NONE, WEIR_BIAS_DIRECT, WEIR_BIAS_INVERSE };

struct weir_stream {
    size_t size;       /* sizeof this struct */
    uint64_t kind;     /* enum weir_stream_kind */
    uint64_t n;        /* arrivals; 0: without end */
    uint64_t universe; /* keys to draw from; 0: every arrival is fresh */
    double distinct;   /* what universe is solved from, if that is not given */
    double alpha;      /* of zipf */
    double fresh;      /* share of arrivals with a key of their own */
    uint64_t length;   /* bytes of a key; only generators look at it, and at */
    uint64_t seed;
    bool important; /* lo to hi, related to frequency by bias */
    uint32_t lo, hi;
    uint64_t bias; /* enum weir_bias */
    double drift;  /* share of the keys that is replaced, every so many arrivals; 0: none is */
    uint64_t drift_every;
};

/* "uniform:n=1M,distinct=60%", "zipf:n=1M,universe=100k,alpha=1.1,fresh=30%",
 * "endless"; docs/planning.md has all of it. WEIR_OK or WEIR_BAD_CONFIG. */
WEIR_API enum weir_status weir_stream_read(struct weir_stream *s, size_t size, const char *spec,
                                           struct weir_error *error);

/* Distinct keys among its n arrivals, as is to be expected; infinite without end; NaN with
 * a drift, or if its size is wrong. */
WEIR_API double weir_stream_distinct(const struct weir_stream *s);

/* ---- one filter ---- */

#define WEIR_CLASSES 256

/* Rates are of the whole run, of the truly new and of the true repeats; of a stream
 * without end, where they settle. NaN: not known, or there is none. */
struct weir_prediction {
    char config[320]; /* the filter, with every choice made; seed and hash if given */
    uint64_t memory;  /* bytes */
    double fpr, fnr;
    double fill, error; /* at the end */
    double stable;      /* the error at which it settles if only new keys come */
    double paper;       /* the error at the end by the formula of its paper */
    double remembered;  /* keys, once it has settled, if only new ones come without end */
    double least_fnr;   /* no filter of this memory and fpr can miss less; uniform streams */
    double lru_fnr;     /* an exact list of the latest keys, log2(1/fpr) bits each, misses this */
    double cost;        /* of an arrival, see weir_cost() */
    uint32_t classes;   /* of importance, 1 to that; 0 if it does not tell them apart */
    double class_share[WEIR_CLASSES], class_fnr[WEIR_CLASSES]; /* of class i at [i] */
};

/* Fill in as much of a prediction as a struct of this size has room for.
 * WEIR_UNSUPPORTED where there is no model of this filter with these parameters, or of a stream
 * with a drift; WEIR_NO_MEMORY: up to a few megabytes are taken meanwhile. */
WEIR_API enum weir_status weir_predict(struct weir_prediction *p, size_t size, const char *filter,
                                       const struct weir_stream *s, struct weir_error *error);

/* The chance that a key is missed if it was last shown so many arrivals before, at the end of
 * the stream (of one without end: once the filter has settled). missed: of any key, as
 * arrivals are; NaN where the model does not tell (rsbf). */
struct weir_gap_prediction {
    char config[320]; /* of the filter, as in struct weir_prediction */
    uint64_t memory;
    double missed;
    uint32_t classes; /* of importance, 1 to that; 0 if it does not tell them apart */
    double class_share[WEIR_CLASSES], class_missed[WEIR_CLASSES]; /* of class i at [i] */
};

/* Statuses as of weir_predict(); WEIR_BAD_CONFIG also for a gap that the stream has no room
 * for, or of none. */
WEIR_API enum weir_status weir_predict_gap(struct weir_gap_prediction *out, size_t size,
                                           const char *filter, const struct weir_stream *s,
                                           double gap, struct weir_error *error);

/* The least rate of false negatives that any filter of so many bits can have
 * over that many keys, drawn alike, with this rate of false positives; NaN
 * where there are none. */
WEIR_API double weir_min_fnr(double bits, double keys, double fpr);

/* ---- a screen ---- */

/* What a screen before a store (weir/screen.h) will do; of dabf, by Busnel and Gillet 2019.
 * NaN: not known, or there is none. */
struct weir_screen_prediction {
    char config[320];                   /* with every choice made */
    uint64_t memory;                    /* bytes of cells */
    double distinct, members;           /* keys of the stream, and those of them that are members */
    double calls, calls_least;          /* keys asked for; at least so many (Proposition 4) */
    double precision, recall, fpr, fnr; /* of all arrivals */
    double first_missed, first_false;   /* a key's first time, at the end: a member missed, another
                                           said to be one (Theorem 1) */
    double again_false;                 /* another that comes again is said to be one (Theorem 2) */
    double again_false_most;            /* no more than this (Proposition 3) */
    double known_least;                 /* members taken for known the first time, at least
                                           (Proposition 2) */
};

/* On a stream that ends, of whose keys this share are members, as often as others. Statuses
 * as of weir_predict(). */
WEIR_API enum weir_status weir_predict_screen(struct weir_screen_prediction *p, size_t size,
                                              const char *screen, const struct weir_stream *s,
                                              double members, struct weir_error *error);

/* ---- which filter ---- */

/* Zero stands for what was not said. */
struct weir_plan_request {
    size_t size;     /* sizeof this struct */
    uint64_t memory; /* bytes to spend */
    double fp, fn;   /* what a false positive costs, and a false negative; both 0: 1 each */
    double fpr, fnr; /* ceilings; a stream without end and without repeats has fpr 1 % */
};

/* The cost of an arrival: fp times the chance that it is a false positive, plus fn
 * times the chance that it is a false negative, which counts as its key matters where
 * the stream has importances and the filter heeds them. On a stream without end and without
 * repeats nothing can be missed: there it is one over the keys that are remembered.
 * NaN if the size of a struct is wrong. */
WEIR_API double weir_cost(const struct weir_prediction *p, size_t size, const struct weir_stream *s,
                          const struct weir_plan_request *wish);

/* The settings of a filter that cost least, of those that keep the ceilings; where
 * none does, those that come nearest, and the cost is infinite. The name may be
 * followed by parameters that are not to be changed. Some hundred predictions: tens of
 * milliseconds. WEIR_BAD_CONFIG or WEIR_UNSUPPORTED as for weir_predict(). */
WEIR_API enum weir_status weir_choose(struct weir_prediction *p, size_t size, const char *filter,
                                      const struct weir_stream *s,
                                      const struct weir_plan_request *wish,
                                      struct weir_error *error);

/* The least memory, within 2 %, with which a filter keeps both ceilings; that of the
 * wish is the most that may be spent (0: 16 TiB). WEIR_UNSUPPORTED also where no
 * memory is enough. */
WEIR_API enum weir_status weir_min_memory(struct weir_prediction *p, size_t size,
                                          const char *filter, const struct weir_stream *s,
                                          const struct weir_plan_request *wish,
                                          struct weir_error *error);

#ifdef __cplusplus
}
#endif

#endif
