/* weir/plan.h - predict what a filter does on a stream, from a description of the stream.
 *
 *     struct weir_stream stream;
 *     struct weir_prediction p;
 *     struct weir_error error;
 *     const char *keys = "uniform:n=1M,distinct=60%";
 *     if (weir_stream_read(&stream, sizeof stream, keys, &error) != WEIR_OK ||
 *         weir_predict(&p, sizeof p, "rlbsbf memory=256K k=2", &stream, &error) != WEIR_OK)
 *         die(error.text);
 *     printf("false positives: %g, false negatives: %g\n", p.fpr, p.fnr);
 *
 * No call opens a filter or allocates its memory, however large the filter would be.
 *
 * Structs may grow. Calls that fill a struct take its size, and structs that the program fills
 * begin with their size. Zero in a field means the default.
 *
 * Unstable: predictions change with the research that they are based on. Define WEIR_UNSTABLE
 * before including this header. A program that does may have to be changed and recompiled for
 * the next version of the library.
 *
 * Threads: any thread may call. The calls share no state. */
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

/* Kinds of streams. Keys are drawn independently: with equal probability, or key r with a
 * probability proportional to r^-alpha. A share of the arrivals has a unique key instead. In a
 * uniform stream with a bias, the probability of a key is proportional to its importance, or to
 * the inverse. With a drift, keys are replaced by other keys of the same probability. */
enum weir_stream_kind { WEIR_STREAM_UNIFORM, WEIR_STREAM_ZIPF, WEIR_STREAM_ENDLESS };
enum weir_bias { WEIR_BIAS_NONE, WEIR_BIAS_DIRECT, WEIR_BIAS_INVERSE };

struct weir_stream {
    size_t size;       /* sizeof this struct */
    uint64_t kind;     /* enum weir_stream_kind */
    uint64_t n;        /* arrivals; 0: unbounded */
    uint64_t universe; /* number of keys to draw from; 0: every arrival has a unique key */
    double distinct;   /* share of distinct keys, which determines universe if that is 0 */
    double alpha;      /* exponent of zipf */
    double fresh;      /* share of arrivals with a unique key */
    uint64_t length;   /* bytes of a key; only generators use length and seed */
    uint64_t seed;
    bool important; /* keys have an importance from lo to hi, related to frequency by bias */
    uint32_t lo, hi;
    uint64_t bias; /* enum weir_bias */
    double drift;  /* share of the keys that is replaced every drift_every arrivals; 0: none */
    uint64_t drift_every;
};

/* Parse a stream description: "uniform:n=1M,distinct=60%",
 * "zipf:n=1M,universe=100k,alpha=1.1,fresh=30%", "endless". docs/planning.md specifies it.
 * Errors: WEIR_BAD_CONFIG. */
WEIR_API enum weir_status weir_stream_read(struct weir_stream *s, size_t size, const char *spec,
                                           struct weir_error *error);

/* Compute the expected number of distinct keys among the n arrivals.
 * Returns the number; infinity for an unbounded stream; NaN with a drift or if the size of the
 * struct is wrong. */
WEIR_API double weir_stream_distinct(const struct weir_stream *s);

/* ---- predict a filter ---- */

#define WEIR_CLASSES 256

/* Rates are averages over the whole run: fpr of the new keys, fnr of the repeats. For an
 * unbounded stream they are the limits. NaN: unknown or undefined. */
struct weir_prediction {
    char config[320]; /* the completed spec; seed= and hash= only if given */
    uint64_t memory;  /* bytes */
    double fpr, fnr;
    double fill, error; /* at the end */
    double stable;      /* limit of the error if only new keys arrive */
    double paper;       /* error at the end by the formula of the filter's paper */
    double remembered;  /* limit of the number of keys kept if only new keys arrive */
    double least_fnr;   /* lower bound for any filter of this memory and fpr; uniform streams */
    double lru_fnr;     /* of an exact LRU list with log2(1/fpr) bits per key */
    double rank;      /* of weir_choose(): a smaller one is better; above 1: fnr exceeds its limit;
                         above 2: fpr does */
    uint32_t classes; /* importance classes 1 to this number; 0: not distinguished */
    double class_share[WEIR_CLASSES], class_fnr[WEIR_CLASSES]; /* of class i at [i] */
};

/* Predict the error rates of a filter on a stream, in as many fields of *p as `size` bytes have
 * room for.
 * Errors: WEIR_BAD_CONFIG. WEIR_UNSUPPORTED if there is no model of this filter with these
 * parameters, or of a stream with a drift. WEIR_NO_MEMORY.
 * Cost: up to a few megabytes of temporary memory. */
WEIR_API enum weir_status weir_predict(struct weir_prediction *p, size_t size, const char *filter,
                                       const struct weir_stream *s, struct weir_error *error);

/* The probability that a repeated key is missed after a gap. missed: of all keys, weighted by
 * their arrivals; NaN if the model does not predict it (rsbf). */
struct weir_gap_prediction {
    char config[320]; /* as in struct weir_prediction */
    uint64_t memory;
    double missed;
    uint32_t classes; /* importance classes 1 to this number; 0: not distinguished */
    double class_share[WEIR_CLASSES], class_missed[WEIR_CLASSES]; /* of class i at [i] */
};

/* Predict the probability that a key is missed `gap` arrivals after it was last observed, at the
 * end of the stream; for an unbounded stream, in the limit.
 * Errors: as weir_predict(). WEIR_BAD_CONFIG also if gap is below 1, or not below the number of
 * arrivals. */
WEIR_API enum weir_status weir_predict_gap(struct weir_gap_prediction *out, size_t size,
                                           const char *filter, const struct weir_stream *s,
                                           double gap, struct weir_error *error);

/* What a filter with ttl= remembers if every arrival has a new key. TTLs are log-uniform over the
 * range of ttl=: as many keys live 1 to 2 minutes as 2 to 4. Shares are of the keys with one TTL,
 * which are reported as seen unless they were evicted: at half of the TTL, and at the end of the
 * time for which a key is always seen unless evicted (3/4 of the TTL with expire=early, the TTL
 * with expire=late). */
#define WEIR_TTL_GROUPS 4
struct weir_ttl_prediction {
    char config[320]; /* as in struct weir_prediction */
    uint64_t memory;
    uint64_t ttl_min, ttl_max; /* the range of ttl=, in milliseconds */
    double rate;               /* new keys per second */
    double live;               /* keys in the filter that have not expired */
    double fpr;                /* upper limit: of lines as narrow as they can become */
    uint32_t groups; /* with importance: WEIR_TTL_GROUPS, each a quarter of the classes, the
                        least important first; without: 0 */
    /* of all keys at [0], of group i at [i]; NaN: no keys */
    double share[1 + WEIR_TTL_GROUPS]; /* of the keys */
    double seen_half[1 + WEIR_TTL_GROUPS], seen[1 + WEIR_TTL_GROUPS];
};

/* Predict the share of keys with a TTL of `ttl` milliseconds (0: the longest) that are remembered,
 * in the steady state, at `rate` new keys per second. Rate 0: the rate at which at most about one
 * key in a thousand is evicted before it expires. `s` is an endless stream of new keys, whose
 * importances are independent of their TTLs; NULL: importance= is absent or percentile.
 * Errors: as weir_predict(). WEIR_BAD_CONFIG also without ttl=, if ttl is outside the range, if
 * rate is negative or more than 100 times the rate that fits, or if the importances are not known.
 * WEIR_UNSUPPORTED also if the stream has an end or repeats.
 * Cost: up to a second. Shares have a standard error of at most 0.6 percentage points, those of
 * groups of 1.2. */
WEIR_API enum weir_status weir_predict_ttl(struct weir_ttl_prediction *out, size_t size,
                                           const char *filter, const struct weir_stream *s,
                                           double rate, double ttl, struct weir_error *error);

/* Compute a lower bound: the minimum false-negative rate of any filter with this many bits and
 * this false-positive rate, over this many keys of equal probability.
 * Returns the rate; NaN if it is undefined. */
WEIR_API double weir_min_fnr(double bits, double keys, double fpr);

/* ---- predict a screen ---- */

/* What a screen in front of a store (weir/screen.h) does; for dabf, by Busnel and Gillet 2019.
 * NaN: unknown or undefined. */
struct weir_screen_prediction {
    char config[320];                   /* the completed spec */
    uint64_t memory;                    /* bytes of cells */
    double distinct, members;           /* keys of the stream; members among them */
    double calls, calls_least;          /* keys asked; lower bound (Proposition 4) */
    double precision, recall, fpr, fnr; /* over all arrivals */
    double first_missed, first_false;   /* first arrival of a key, at the end: a member is missed;
                                           a non-member is reported as member (Theorem 1) */
    double again_false;                 /* later arrival: a non-member is reported as member
                                           (Theorem 2) */
    double again_false_most;            /* its upper bound (Proposition 3) */
    double known_least;                 /* lower bound of the members that are false positives
                                           at their first arrival (Proposition 2) */
};

/* Predict a screen on a stream that ends. `members` is the share of its keys that are members;
 * they occur as often as other keys.
 * Errors: as weir_predict(). */
WEIR_API enum weir_status weir_predict_screen(struct weir_screen_prediction *p, size_t size,
                                              const char *screen, const struct weir_stream *s,
                                              double members, struct weir_error *error);

/* ---- choose a filter ---- */

/* What to optimize. Zero means the default. */
struct weir_plan_request {
    size_t size;     /* sizeof this struct */
    uint64_t memory; /* bytes to use */
    double fpr, fnr; /* maximum rates (default: 0.001 and 0.05) */
};

/* Find the parameters of a filter that miss the fewest repeats within the maximum rates. Misses
 * are weighted by importance if the stream has importances and the filter uses them. On an
 * unbounded stream without repeats, find those that keep the most keys. `filter` is a name,
 * optionally followed by fixed parameters. If no parameters keep the maximum rates, *p has those
 * closest to them, first in fpr, and a rank above 1.
 * Errors: WEIR_BAD_CONFIG and WEIR_UNSUPPORTED as weir_predict().
 * Cost: some hundred predictions, tens of milliseconds. */
WEIR_API enum weir_status weir_choose(struct weir_prediction *p, size_t size, const char *filter,
                                      const struct weir_stream *s,
                                      const struct weir_plan_request *request,
                                      struct weir_error *error);

/* Find the minimum memory, within 2 %, with which a filter keeps both maximum rates. The memory
 * of the request is the upper limit (0: 16 TiB).
 * Errors: as weir_choose(). WEIR_UNSUPPORTED also if no memory within the limit suffices. */
WEIR_API enum weir_status weir_min_memory(struct weir_prediction *p, size_t size,
                                          const char *filter, const struct weir_stream *s,
                                          const struct weir_plan_request *request,
                                          struct weir_error *error);

#ifdef __cplusplus
}
#endif

#endif
