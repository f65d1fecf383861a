/* grammar.h - "name parameter=value ...": one grammar for filters, sketches, screens
 * and streams.
 *
 * Each of them says in a struct grammar which names there are, which parameters, and
 * how a spec is completed. Reading, completing, writing and comparing go by
 * that, and are written here once; nothing else in the library parses text. */
#ifndef WEIR_SPEC_GRAMMAR_H
#define WEIR_SPEC_GRAMMAR_H

#include "spec/parameters.h"

#define HAS(row) (UINT32_C(1) << (row))

/* What a spec can name: descriptions of filters, sketches and screens begin
 * with one. */
struct named {
    struct weir_algorithm about;
    uint32_t parameters; /* bit i: it takes row i */
};

/* What a spec is read into begins with this; the values of parameters follow. */
struct spec {
    const struct named *of;
    uint32_t given; /* bit i: row i was named */
};

struct grammar {
    const char *noun, *example;       /* "filter", "memory=64M" */
    const struct named *const *names; /* up to NULL */
    bool nameless;                    /* without a name it is the first of them */
    const struct parameter_row *rows;
    int n;
    uint32_t wishes;  /* bit i: row i becomes others, and is not written */
    uint32_t if_set;  /* written only if not zero: zero is what files without it mean */
    uint32_t aside;   /* two that differ in it alone do not differ */
    uint32_t chance;  /* hash and seed: no part of a description, unless given */
    uint32_t divided; /* a matter of size: each of several gets its share */
    int seed;         /* its row */

    void (*begin)(void *record); /* the name is known: what holds if nothing is said */
    bool (*plan)(void *record, struct weir_error *error); /* complete it */
    uint64_t (*traits)(const void *record); /* what can be done with these parameters */
};

static inline bool spec_has(const struct spec *s, int row)
{
    return s->given & HAS(row);
}

/* The name and the parameters as they are said; false leaves a spec of our own in
 * error. NULL means "". */
bool spec_read(const struct grammar *g, const char *text, void *record, struct weir_error *error);

/* The same, completed: with a seed, and every choice made. */
enum weir_status spec_complete(const struct grammar *g, const char *text, void *record,
                               struct weir_error *error);

/* The same of a text that was complete when it was saved: completing it again
 * changes nothing, or it is refused. */
bool spec_restore(const struct grammar *g, const char *text, void *record);

/* Write what is complete, or only what describes it. Returns the whole length; cuts
 * off at size - 1. */
size_t spec_write(const struct grammar *g, const void *record, char *buffer, size_t size);
size_t spec_describe(const struct grammar *g, const void *record, char *buffer, size_t size);

/* The first in which two that are complete differ, as "seed=1", in buffers of 64
 * bytes; false if they do not. */
bool spec_differ(const struct grammar *g, const void *a, const void *b, char *of_a, char *of_b);

/* The error code for a difference that spec_differ() found. */
enum weir_error_code spec_mismatch(const char *of_a);

/* The share of one of so many in what is complete: each number at least its minimum. */
void spec_divide(const struct grammar *g, void *record, uint64_t by);

/* The other way round: of what so many alike have the share. */
void spec_multiply(const struct grammar *g, void *record, uint64_t by);

/* What a text names, NULL if there is none; and the row of a parameter that it takes, or -1. */
const struct named *spec_named(const struct grammar *g, const char *text);
int spec_row(const struct grammar *g, const struct named *of, struct span parameter);

/* All names of those that have a trait (0: of all), with commas between them. */
struct names {
    char text[200];
};
struct names spec_names(const struct grammar *g, uint64_t trait);

#endif
