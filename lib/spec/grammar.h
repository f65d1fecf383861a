/* grammar.h - specs, "NAME parameter=value ...": one grammar for filters, sketches, screens and
 * streams.
 *
 * A struct grammar lists the names and parameters of one kind, and the function that completes a
 * spec. Reading, completing, writing and comparing specs is written once, here. Nothing else in
 * the library parses specs. */
#ifndef WEIR_SPEC_GRAMMAR_H
#define WEIR_SPEC_GRAMMAR_H

#include "spec/parameters.h"

#define HAS(row) (UINT32_C(1) << (row))

/* An algorithm that a spec can name. Descriptions of filters, sketches and screens begin with
 * it. */
struct named {
    struct weir_algorithm about;
    uint32_t parameters; /* bit i: it has the parameter of row i */
};

/* A spec is read into a record that begins with this, followed by the values of parameters. */
struct spec {
    const struct named *of;
    uint32_t given; /* bit i: row i is given */
};

struct grammar {
    const char *noun, *example;       /* "filter", "memory=64M" */
    const struct named *const *names; /* terminated by NULL */
    bool nameless;                    /* a spec without a name selects the first */
    const struct parameter_row *rows;
    int n;
    uint32_t wishes;  /* bit i: row i determines other rows, and is not written */
    uint32_t if_set;  /* rows that are not written if zero, as in files without them */
    uint32_t ignored; /* rows that do not count when comparing */
    uint32_t chance;  /* hash and seed: not described unless given */
    uint32_t divided; /* rows that are divided among shards */
    int seed;         /* the row of seed= */

    void (*begin)(void *record); /* set defaults; the name is known */
    bool (*plan)(void *record,
                 struct weir_error *error); /* compute all parameters that are not given */
    uint64_t (*traits)(const void *record); /* what a handle of this spec can do */
};

static inline bool spec_has(const struct spec *s, int row)
{
    return s->given & HAS(row);
}

/* Read a spec into a record as it is given. NULL means "". Returns false after an error. */
bool spec_read(const struct grammar *g, const char *text, void *record, struct weir_error *error);

/* Read and complete a spec: draw a seed if none is given, and compute all parameters. */
enum weir_status spec_complete(const struct grammar *g, const char *text, void *record,
                               struct weir_error *error);

/* Read a spec that was completed when it was saved. Returns false if completing it again changes
 * it. */
bool spec_restore(const struct grammar *g, const char *text, void *record);

/* Write the completed spec, or only the parameters that describe it. Returns the length of the
 * whole text, which is truncated to size - 1. */
size_t spec_write(const struct grammar *g, const void *record, char *buffer, size_t size);
size_t spec_describe(const struct grammar *g, const void *record, char *buffer, size_t size);

/* Find the first parameter in which two completed specs differ, as "seed=1", in buffers of 64
 * bytes. Returns false if they are equal. */
bool spec_differ(const struct grammar *g, const void *a, const void *b, char *of_a, char *of_b);

/* The error code for a difference found by spec_differ(). */
enum weir_error_code spec_mismatch(const char *of_a);

/* Divide the sizes of a completed spec among `by` shards. Each stays at least at its minimum. */
void spec_divide(const struct grammar *g, void *record, uint64_t by);

/* The inverse: the spec of a filter whose shards have this spec. */
void spec_multiply(const struct grammar *g, void *record, uint64_t by);

/* The algorithm that a spec names, or NULL. The row of one of its parameters, or -1. */
const struct named *spec_named(const struct grammar *g, const char *text);
int spec_row(const struct grammar *g, const struct named *of, struct span parameter);

/* The names of all algorithms with a trait (0: of all), separated by commas. */
struct names {
    char text[200];
};
struct names spec_names(const struct grammar *g, uint64_t trait);

#endif
