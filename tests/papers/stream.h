/* stream.h - streams with exact results, for the tests of papers.
 *
 * A uniform stream of n records, of which a given share is distinct, is n draws with replacement
 * from U keys, with U such that U (1 - exp(-n/U)) = distinct * n; one bit per key records whether
 * it occurred. A fresh stream never repeats. The key of a number is weir_hash() of its eight bytes.
 * Seeds are fixed, so a test gives the same figures in each run. */
#ifndef WEIR_TESTS_PAPERS_STREAM_H
#define WEIR_TESTS_PAPERS_STREAM_H

#include <weir.h>

#include "support/testing.h"

/* WEIR_QUICK=1: a tenth of the work, for sanitizers. WEIR_LONG=1: all of it. If both are set, quick
 * wins, because small runs have more noise than the long ones' tolerances allow. */
bool is_quick(void);
bool is_long(void);

/* The tests' own random generator, which shares no pattern with that of the filters: the upper half
 * of a 128-bit linear congruential generator. */
struct source {
    uint64_t lo, hi;
};
struct source source_of(uint64_t seed);
uint64_t source_next(struct source *s);
uint64_t source_below(struct source *s, uint64_t n);

/* Open a filter from a spec in printf format, or fail the test. */
weir_filter *open_filter(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Share of new records reported as seen, and of repeated records reported as new. */
struct rates {
    double fpr, fnr;
};

double uniform_keys(double n, double distinct);
struct rates show_uniform(weir_filter *w, uint64_t n, double distinct, uint64_t seed);

/* Keys that never occurred before: the numbers from next on. Importance comes from a table of DEALT
 * values, or is 1 if that is NULL. */
#define DEALT 4096
struct fresh {
    uint64_t next;
    const uint32_t *importance;
};

/* The key of a number. */
struct weir_key fresh_key(const weir_filter *w, const struct fresh *f, uint64_t number);

/* Both return how many of the n keys were reported as seen. Asked keys are used up too, but not
 * recorded. */
uint64_t show_fresh(weir_filter *w, struct fresh *f, uint64_t n);
uint64_t ask_fresh(weir_filter *w, struct fresh *f, uint64_t n);

/* Fail unless actual is within a share, or a distance, of expected. */
void assert_within(const char *what, double actual, double expected, double share, double distance);

#endif
