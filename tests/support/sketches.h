/* sketches.h - what the tests of sketches share: streams of numbered keys drawn
 * from a law, with their exact counts. */
#ifndef WEIR_TESTS_SUPPORT_SKETCHES_H
#define WEIR_TESTS_SUPPORT_SKETCHES_H

#include "support/support.h"

#include <weir/sketch.h>

/* n draws from so many keys; alpha 0 is uniform, else Zipf. */
struct counted {
    size_t n, universe;
    uint64_t *draws; /* numbers of keys */
    uint64_t *exact; /* how often each came */
    uint64_t *names; /* 8 bytes per key: its name, the same bytes on every machine */
};

struct counted counted_of(size_t n, size_t universe, double alpha, uint64_t seed);
void counted_free(struct counted c);

/* Must open; prints the spec of refusal if not. */
weir_sketch *open_sketch(const char *spec);

static inline struct weir_bytes name_of(const struct counted *c, uint64_t key)
{
    return (struct weir_bytes){&c->names[key], sizeof *c->names};
}

/* Show draws from..to to a sketch, in batches. */
void show_draws(weir_sketch *s, const struct counted *c, size_t from, size_t to);

struct blob sketch_blob(const weir_sketch *s);
void assert_same_sketch(const weir_sketch *a, const weir_sketch *b);

#endif
