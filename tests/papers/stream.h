/* stream.h - streams with a known truth, for the tests of the papers' figures.
 *
 * A uniform stream of n records of which a share is distinct is n draws with
 * replacement from U keys, with U solved from U (1 - exp(-n/U)) = distinct * n;
 * the truth is one bit per key. A fresh stream never repeats. The key of a
 * number is weir_hash() of its eight bytes. Everything is seeded: a test gives
 * the same figures each time it runs. */
#ifndef WEIR_TESTS_PAPERS_STREAM_H
#define WEIR_TESTS_PAPERS_STREAM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <weir.h>

/* WEIR_QUICK=1: under sanitizers, a tenth of the work. WEIR_LONG=1: all of it. Never
 * both: of two that are set, quick counts, since small runs have more noise than the
 * tolerances of what is run only at length allow for. */
bool is_quick(void);
bool is_long(void);

/* A random source of the tests' own, so that it shares no pattern with the
 * filters': 128 bits of a linear congruence, of which the upper half counts. */
struct source {
    uint64_t lo, hi;
};
struct source source_of(uint64_t seed);
uint64_t source_next(struct source *s);
uint64_t source_below(struct source *s, uint64_t n);

/* Open a filter from a spec made as printf does, or fail the test. */
weir_filter *open_filter(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Shares of the truly new that were said to be seen, and of the truly seen that
 * were said to be new. */
struct rates {
    double fpr, fnr;
};

double uniform_keys(double n, double distinct);
struct rates show_uniform(weir_filter *w, uint64_t n, double distinct, uint64_t seed);

/* Keys that were never there before: the numbers from next on. Importance is
 * dealt from a table of DEALT values, or is 1 if that is NULL. */
#define DEALT 4096
struct fresh {
    uint64_t next;
    const uint32_t *importance;
};

/* The key of a number, as it was or will be shown. */
struct weir_key fresh_key(const weir_filter *w, const struct fresh *f, uint64_t number);

/* Both return how many of the n were said to be seen. Asked keys are used up
 * too, and are not remembered. */
uint64_t show_fresh(weir_filter *w, struct fresh *f, uint64_t n);
uint64_t ask_fresh(weir_filter *w, struct fresh *f, uint64_t n);

/* Fail unless actual is within a share, or a distance, of expected. */
void assert_within(const char *what, double actual, double expected, double share, double distance);

#endif
