/* config.h - what a spec such as "rlbsbf memory=64M k=2" asks for.
 *
 * plan() of the filter completes it: after that every parameter the filter has is
 * set, and the spec written from it opens the same filter again. fpr is the
 * exception: it is a wish that plan() turns into the others, and is not kept. */
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
#define COUNT_MAX UINT64_C(1000000000000) /* of capacity and window */
#define DECAY_MAX 65535
#define MEMORY_MIN 512                      /* bits: 64 bytes */
#define MEMORY_MAX (UINT64_C(1) << 47)      /* bits: 16 TiB */
#define MEMORY_DEFAULT (UINT64_C(64) << 23) /* bits: 64 MiB */

#define ENTER_WHOLE 1000000000 /* that enter= is a part of */

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
    uint64_t span;    /* milliseconds */
    uint64_t refresh; /* 0: a repeat renews its key, 1: it does not */
    uint64_t slices;
    uint64_t width; /* bits per fingerprint, at least */
    uint64_t slots; /* fingerprints per line, at most */
    uint64_t bits;  /* per fingerprint of a set */
    struct importance importance;
    uint64_t enter; /* a share of the slots, in billionths, or: */
    uint64_t hash;  /* 0 fast, 1 keyed */
    uint64_t seed;
};

static inline bool config_has(const struct config *c, enum parameter parameter)
{
    return c->is.given & HAS(parameter);
}

/* Specs of filters; they are read into a struct config, or a struct planned to
 * be completed. */
extern const struct grammar filter_grammar;

/* The number of a parameter that is one, and the most it may be (may be NULL). */
uint64_t *config_number(struct config *c, enum parameter parameter, uint64_t *most);

/* For plan(): a number that theory asks for, whole and no more than a parameter may
 * be: what is planned can be written, read and planned again. */
static inline uint64_t config_at_most(double number, uint64_t most)
{
    return number < (double)most ? (uint64_t)number : most;
}

/* The same for memory: so many bits for each of n things alike. */
static inline uint64_t config_memory(double bits_each, uint64_t n)
{
    uint64_t memory = config_at_most(bits_each, MEMORY_MAX / n) * n;

    return memory < MEMORY_MIN ? MEMORY_MIN : memory;
}

/* For plan(): is the error under fpr=, if that was given? A millionth is left
 * to the rounding of formulas that are each other's inverse. */
static inline bool config_keeps_fpr(const struct config *c, double error)
{
    return !config_has(c, PARAMETER_FPR) || error <= c->fpr * 1.000001;
}

/* For plan(): k is the smallest one whose error keeps under fpr=, or what was
 * given, or the fallback; false if fpr= cannot be kept. */
bool config_choose_k(struct config *c, double (*error_of)(const struct config *c, uint64_t k),
                     uint64_t fallback, struct weir_error *error);

/* For plan(): does a window leave an error worth having? With a window too large
 * for its memory a filter fills up, takes every key for seen, and so nothing in:
 * its window never moves on. */
bool config_window_fits(const struct config *c, double reached, struct weir_error *error);

/* For plan(): the refusal "fpr=0.001: bloom with k=2 settles at 0.01, ...". */
bool config_refuse_fpr(const struct config *c, double reached, const char *advice,
                       struct weir_error *error);

#endif
