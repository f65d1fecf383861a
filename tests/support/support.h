/* support.h - what the tests share: filters that must open, streams that are
 * the same every time, saved bytes, chi-square.
 *
 * WEIR_QUICK=1 (sanitizers, make check) shortens what is long, WEIR_LONG=1 runs
 * what takes minutes. */
#ifndef WEIR_TESTS_SUPPORT_SUPPORT_H
#define WEIR_TESTS_SUPPORT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <weir.h>

#define SPEC 512

/* Before main(): WEIR_CASE is a pattern, such as sizes_*, that selects cases by name. */
__attribute__((constructor)) void choose_cases(void);

/* Full or, with WEIR_QUICK=1, a tenth of it. */
size_t sized(size_t full);

/* Must open; prints the spec of refusal if not. */
weir_filter *open_filter(const char *spec);
/* The same from a format. */
weir_filter *open_filtered(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The spec with which a configuration is refused. */
void assert_refused(const char *spec, const char *expected);

/* Can it be opened and shown keys? If not it is built: */
bool can_learn(const char *name);
/* Must be built, from these keys. */
weir_filter *built_filter(const char *spec, const struct weir_key *keys, size_t n);

/* The names of those with all of these traits, as refusals list them. */
struct listed {
    char text[200];
};
struct listed names_with(enum weir_kind kind, uint64_t traits);

/* Malloc'd bytes. */
struct blob {
    uint8_t *data;
    size_t size;
};

struct blob blob_of(const weir_filter *w);
struct blob blob_read(const char *path);
void blob_free(struct blob b);
/* A sink: context is a struct blob that grows. */
bool blob_sink(void *context, const void *data, size_t size);
void assert_same_blob(struct blob a, struct blob b);
/* Two filters in the same state, byte for byte of what they would save. */
void assert_same_state(const weir_filter *a, const weir_filter *b);

/* Bytes that are refused, with this spec or, if NULL, any. */
void assert_not_loaded(struct blob b, const char *expected);
/* Loaded or refused? If loaded, it can be used, saved and loaded again. */
bool loads_usable(struct blob b);

/* Key number i of a family: the same for every filter of a seed. */
struct weir_key numbered(const weir_filter *w, uint64_t i);

/* A stream of n keys with repeats near and far, and importances of every size:
 * about half of the arrivals are new. */
struct weir_key *stream_of(const weir_filter *w, size_t n, uint64_t seed);

/* Pearson's statistic of counts that should all be equal. */
double chi_square(const uint64_t *counts, size_t n);
/* What it exceeds once in 10^7 if they are (Wilson and Hilferty). */
double chi_square_limit(size_t n);

#endif
