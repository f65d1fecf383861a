/* support.h - helpers for all C tests: filters, reproducible streams, saved bytes, chi-square.
 *
 * WEIR_QUICK=1 (sanitizers, make check) shortens long tests; WEIR_LONG=1 also runs those that take
 * minutes. */
#ifndef WEIR_TESTS_SUPPORT_SUPPORT_H
#define WEIR_TESTS_SUPPORT_SUPPORT_H

#include <weir.h>

#include "support/testing.h"

#define SPEC 512

/* Runs before main(): WEIR_CASE is a pattern, such as sizes_*, that selects cases by name. */
__attribute__((constructor)) void choose_cases(void);

/* Returns full, or a tenth of it with WEIR_QUICK=1. */
size_t sized(size_t full);

/* Open a filter, or fail the test with the error. */
weir_filter *open_filter(const char *spec);
/* The same with a printf format. */
weir_filter *open_filtered(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Fail unless opening this spec is rejected with this message. */
void assert_refused(const char *spec, const char *expected);

/* Returns false for filters that must be built with weir/build.h. */
bool can_learn(const char *name);
/* Build a filter from these keys, or fail the test. */
weir_filter *built_filter(const char *spec, const struct weir_key *keys, size_t n);

/* The names of all algorithms that have these traits, as error messages list them. */
struct listed {
    char text[200];
};
struct listed names_with(enum weir_kind kind, uint64_t traits);

/* Bytes allocated with malloc(). */
struct blob {
    uint8_t *data;
    size_t size;
};

struct blob blob_of(const weir_filter *w);
struct blob blob_read(const char *path);
void blob_free(struct blob b);
/* A sink; context is a struct blob, which grows. */
bool blob_sink(void *context, const void *data, size_t size);
void assert_same_blob(struct blob a, struct blob b);
/* The same, and free both. */
void assert_same_saved(struct blob a, struct blob b);
/* Fail unless two filters save the same bytes. */
void assert_same_state(const weir_filter *a, const weir_filter *b);

/* Fail unless loading is rejected, with this message if it is not NULL. */
void assert_not_loaded(struct blob b, const char *expected);
/* Returns true if it was loaded; then it must work, save and load again. */
bool loads_usable(struct blob b);

/* Key number i; equal for all filters with the same seed. */
struct weir_key numbered(const weir_filter *w, uint64_t i);

/* A stream of n keys with near and distant repeats and all sizes of importance; about half of the
 * keys are new. */
struct weir_key *stream_of(const weir_filter *w, size_t n, uint64_t seed);

/* Pearson's chi-square statistic of counts that should be equal. */
double chi_square(const uint64_t *counts, size_t n);
/* The value that it exceeds once in 10^7 runs if they are (Wilson and Hilferty). */
double chi_square_limit(size_t n);

/* The test of a property that has a function, in a file with for_each_variant(). */
#define PROPERTY_TEST(name)                                                                        \
    TEST(property_##name)                                                                          \
    {                                                                                              \
        for_each_variant(name);                                                                    \
    }

#endif
