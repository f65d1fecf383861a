/* about.c - filters, sketches and screens that are not open: which there are, what
 * a spec comes to, what can be asked of what it opens. */
#include <string.h>

#include "filter/filter.h"
#include "screen/screen.h"
#include "spec/error.h"
#include "sketch/sketch.h"

/* NULL: there is none, but for a program that was compiled with a later version. */
static const struct grammar *grammar_of(enum weir_kind kind)
{
    switch (kind) {
    case WEIR_KIND_FILTER:
        return &filter_grammar;
    case WEIR_KIND_SKETCH:
        return &sketch_grammar;
    case WEIR_KIND_SCREEN:
        return &screen_grammar;
    }
    return NULL;
}

/* What a spec of any kind is read into. */
union record {
    struct planned filter;
    struct sketch_config sketch;
    struct screen_config screen;
};

const struct weir_algorithm *weir_algorithm_at(enum weir_kind kind, size_t i)
{
    const struct grammar *g = grammar_of(kind);

    for (const struct named *const *at = g ? g->names : NULL; at && *at; at++)
        if (i-- == 0)
            return &(*at)->about;
    return NULL;
}

const struct weir_parameter *weir_parameter_at(enum weir_kind kind, size_t i, size_t j)
{
    const struct grammar *g = grammar_of(kind);

    for (int row = 0; weir_algorithm_at(kind, i) && row < g->n; row++)
        if ((g->names[i]->parameters & HAS(row)) && j-- == 0)
            return &g->rows[row].about;
    return NULL;
}

const struct weir_algorithm *weir_find_algorithm(enum weir_kind kind, const char *spec)
{
    const struct grammar *g = grammar_of(kind);
    const struct named *of = g ? spec_named(g, spec) : NULL;

    return of ? &of->about : NULL;
}

const struct weir_parameter *weir_find_parameter(enum weir_kind kind, const char *spec,
                                                 const char *parameter)
{
    const struct grammar *g = grammar_of(kind);
    const struct named *of = g ? spec_named(g, spec) : NULL;
    int row = of ? spec_row(g, of, (struct span){parameter, strcspn(parameter, "=")}) : -1;

    return row < 0 ? NULL : &g->rows[row].about;
}

static enum weir_status hand_over(const struct grammar *g, const union record *r, char *buffer,
                                  size_t size, struct weir_error *error)
{
    if (spec_write(g, r, buffer, size) < size)
        return WEIR_OK;
    return error_say(error, WEIR_ERROR_INVALID_ARGUMENT,
                     "the buffer is too small for the spec; one of ",
                     "WEIR_SPEC_MAX bytes takes any", NULL);
}

static enum weir_status complete(const struct grammar *g, const char *spec, union record *r,
                                 struct weir_error *error)
{
    if (g)
        return spec_complete(g, spec, r, error);
    return error_say(error, WEIR_ERROR_INVALID_ARGUMENT,
                     "there is no such kind: 0 are filters, 1 sketches, 2 screens", NULL);
}

enum weir_status weir_spec_complete(enum weir_kind kind, const char *spec, char *buffer,
                                    size_t size, struct weir_error *error)
{
    const struct grammar *g = grammar_of(kind);
    union record r;
    enum weir_status status = complete(g, spec, &r, error);

    return status == WEIR_OK ? hand_over(g, &r, buffer, size, error) : status;
}

enum weir_status weir_spec_traits(enum weir_kind kind, const char *spec, uint64_t *traits,
                                  struct weir_error *error)
{
    const struct grammar *g = grammar_of(kind);
    union record r;
    enum weir_status status = complete(g, spec, &r, error);

    if (status == WEIR_OK)
        *traits = g->traits(&r);
    return status;
}

/* The share as a completed record, if this is its memory in bits. */
static enum weir_status complete_share(const union record *share, uint64_t memory,
                                       union record *out, struct weir_error *error)
{
    union record r = *share;
    char spec[WEIR_SPEC_MAX];

    r.filter.config.memory = memory;
    spec_write(&filter_grammar, &r, spec, sizeof spec);
    return spec_complete(&filter_grammar, spec, out, error);
}

/* Some filters need more than the n-th part of the memory: cuckoo has spare buckets, fuse more
 * places per key in small sets, a window may be at the limit. Find the least that works; that of
 * the whole always does. */
enum weir_status weir_shard_spec(const char *spec, uint32_t n, char *buffer, size_t size,
                                 struct weir_error *error)
{
    union record share, r;
    enum weir_status status = spec_complete(&filter_grammar, spec, &share, error);

    if (status != WEIR_OK)
        return status;
    if (n == 0)
        return error_say(error, WEIR_ERROR_INVALID_ARGUMENT,
                         "a filter is divided among 1 or more, not 0", NULL);
    uint64_t whole = share.filter.config.memory;
    spec_divide(&filter_grammar, &share, n);
    uint64_t least = share.filter.config.memory, more = 0, most = (whole - least + 7) / 8;
    if (complete_share(&share, least, &r, NULL) == WEIR_OK)
        most = 0;
    while (more < most) {
        uint64_t middle = more + (most - more) / 2;

        if (complete_share(&share, least + 8 * middle, &r, NULL) == WEIR_OK)
            most = middle;
        else
            more = middle + 1;
    }
    status = complete_share(&share, least + 8 * more, &r, error);
    return status == WEIR_OK ? hand_over(&filter_grammar, &r, buffer, size, error) : status;
}
