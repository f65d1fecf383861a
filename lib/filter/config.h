/* config.h - the configuration of a filter, which a spec such as "rlbsbf memory=64M k=2" is read
 * into.
 *
 * The filter's plan() completes it. Then every parameter of the filter is set, and the spec
 * written from it opens an equal filter. fpr= is the exception: plan() converts it to other
 * parameters, and it is not written. */
#ifndef WEIR_FILTER_CONFIG_H
#define WEIR_FILTER_CONFIG_H

#include <weir.h>

#include "spec/grammar.h"
#include "spec/importance.h"

enum parameter {
    PARAMETER_MEMORY,
    PARAMETER_CAPACITY,
    PARAMETER_FPR,
    PARAMETER_K,
    PARAMETER_CELL,
    PARAMETER_DECAY,
    PARAMETER_P_STAR,
    PARAMETER_WINDOW,
    PARAMETER_SPAN,
    PARAMETER_TTL,
    PARAMETER_EXPIRE,
    PARAMETER_REFRESH,
    PARAMETER_SLICES,
    PARAMETER_WIDTH,
    PARAMETER_SLOTS,
    PARAMETER_BITS,
    PARAMETER_IMPORTANCE,
    PARAMETER_ENTER,
    PARAMETER_HASH,
    PARAMETER_SEED,
    PARAMETERS
};

#define HAS_ALWAYS (HAS(PARAMETER_MEMORY) | HAS(PARAMETER_HASH) | HAS(PARAMETER_SEED))

#define K_MAX 32
#define SLICES_MAX 128
#define COUNT_MAX UINT64_C(1000000000000) /* maximum of capacity and window */
#define DECAY_MAX 65535
#define MEMORY_MIN 512                      /* bits: 64 bytes */
#define MEMORY_MAX (UINT64_C(1) << 47)      /* bits: 16 TiB */
#define MEMORY_DEFAULT (UINT64_C(64) << 23) /* bits: 64 MiB */

#define ENTER_WHOLE 1000000000 /* the unit of enter= */

/* The lives of keys, in milliseconds (lib/filter/recent/expiry.h). */
struct ttl {
    uint64_t min, max; /* 0: keys do not expire */
    uint64_t unit;     /* of the finest level of the expiry grid */
    uint32_t levels;   /* each twice as coarse as the one before */
    uint32_t residues; /* expiry times that a level distinguishes */
    uint32_t bits;     /* of a code */
};

struct config {
    struct spec is;
    const struct filter_ops *ops;
    uint64_t memory; /* bits */
    uint64_t capacity;
    double fpr;
    uint64_t k;
    uint64_t cell; /* bits per cell */
    uint64_t decay;
    uint64_t p_star; /* billionths */
    uint64_t window;
    uint64_t span; /* milliseconds */
    struct ttl ttl;
    uint64_t expire;  /* 0: early, 1: late */
    uint64_t refresh; /* 0: a repeat renews its key; 1: it does not */
    uint64_t slices;
    uint64_t width; /* minimum bits per fingerprint */
    uint64_t slots; /* maximum fingerprints per cache line */
    uint64_t bits;  /* bits per fingerprint of a set */
    struct importance importance;
    uint64_t enter; /* insertion depth: a share of the slots, in billionths */
    uint64_t hash;  /* 0 fast, 1 keyed */
    uint64_t seed;
};

static inline bool config_has(const struct config *c, enum parameter parameter)
{
    return c->is.given & HAS(parameter);
}

/* The grammar of filter specs. They are read into a struct config, or into a struct planned to be
 * completed. */
extern const struct grammar filter_grammar;

/* The value of a numeric parameter and its maximum (may be NULL). */
uint64_t *config_number(struct config *c, enum parameter parameter, uint64_t *most);

/* For plan(): convert a computed number to a parameter: whole, and at most its maximum. Then the
 * plan can be written, read and planned again. */
static inline uint64_t config_at_most(double number, uint64_t most)
{
    return number < (double)most ? (uint64_t)number : most;
}

/* The same for memory: `bits_each` bits for each of n equal things. */
static inline uint64_t config_memory(double bits_each, uint64_t n)
{
    uint64_t memory = config_at_most(bits_each, MEMORY_MAX / n) * n;

    return memory < MEMORY_MIN ? MEMORY_MIN : memory;
}

/* For plan(): is the error at most fpr=, if it is given? Allows one part in a million, because
 * formulas and their inverses are rounded. */
static inline bool config_keeps_fpr(const struct config *c, double error)
{
    return !config_has(c, PARAMETER_FPR) || error <= c->fpr * 1.000001;
}

/* For plan(): set k to the value given, to the smallest one whose error is at most fpr=, or to the
 * fallback. Returns false if fpr= cannot be met. */
bool config_choose_k(struct config *c, double (*error_of)(const struct config *c, uint64_t k),
                     uint64_t fallback, struct weir_error *error);

/* For plan(): is the window small enough for the memory? Otherwise the filter saturates and reports
 * every key as seen. It then inserts nothing, and its window never advances. */
bool config_window_fits(const struct config *c, double reached, struct weir_error *error);

/* For plan(): reject with the message "fpr=0.001 cannot be kept: bloom reaches 0.01 with these
 * parameters; ADVICE". */
bool config_refuse_fpr(const struct config *c, double reached, const char *advice,
                       struct weir_error *error);

#endif
