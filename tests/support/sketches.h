/* sketches.h - for tests of sketches: Zipf streams of numbered keys, with exact counts. */
#ifndef WEIR_TESTS_SUPPORT_SKETCHES_H
#define WEIR_TESTS_SUPPORT_SKETCHES_H

#include "support/support.h"

#include <weir/sketch.h>

/* n draws from `universe` keys; alpha 0 is uniform. */
struct counted {
    size_t n, universe;
    uint64_t *draws; /* key numbers */
    uint64_t *exact; /* count of each key */
    uint64_t *names; /* 8 bytes per key, equal on every machine */
};

struct counted counted_of(size_t n, size_t universe, double alpha, uint64_t seed);
void counted_free(struct counted c);

/* Open a sketch, or fail the test with the error. */
weir_sketch *open_sketch(const char *spec);

static inline struct weir_bytes name_of(const struct counted *c, uint64_t key)
{
    return (struct weir_bytes){&c->names[key], sizeof *c->names};
}

/* Add draws from..to to a sketch, in batches. */
void show_draws(weir_sketch *s, const struct counted *c, size_t from, size_t to);

struct blob sketch_blob(const weir_sketch *s);
void assert_same_sketch(const weir_sketch *a, const weir_sketch *b);

#endif
