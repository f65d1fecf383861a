/* typed_calls.c - the public calls that are the same for filters, sketches and screens, and the
 * calls on specs and hashes. The first are thin wrappers of format/handle.h. */
#include <string.h>
#include <weir/hash.h>

#include "base/hash.h"
#include "filter/filter.h"
#include "screen/screen.h"
#include "sketch/sketch.h"
#include "spec/error.h"

/* ---- handles ---- */

/* What a spec of any kind is read into. */
union record {
    struct planned filter;
    struct sketch_config sketch;
    struct screen_config screen;
};

/* A call that makes a handle with one of the calls of handle.h that take a handle_request. */
#define MADE_BY(call, type, kind, ...)                                                             \
    union record record;                                                                           \
    struct handle_request request = {&(kind), &record, options, NULL};                             \
    enum weir_status status = call(&request, __VA_ARGS__, error);                                  \
                                                                                                   \
    *out = (type *)request.made;                                                                   \
    return status

#define HANDLE_CALLS(prefix, type, kind)                                                           \
    enum weir_status prefix##_open_with(type **out, const char *spec,                              \
                                        const struct weir_options *options,                        \
                                        struct weir_error *error)                                  \
    {                                                                                              \
        MADE_BY(handle_open, type, kind, spec);                                                    \
    }                                                                                              \
    enum weir_status prefix##_open(type **out, const char *spec, struct weir_error *error)         \
    {                                                                                              \
        return prefix##_open_with(out, spec, NULL, error);                                         \
    }                                                                                              \
    enum weir_status prefix##_load_buffer(type **out, const void *data, size_t size, size_t *used, \
                                          const struct weir_options *options,                      \
                                          struct weir_error *error)                                \
    {                                                                                              \
        struct weir_bytes from = {data, size};                                                     \
        MADE_BY(handle_load_buffer, type, kind, from, used);                                       \
    }                                                                                              \
    enum weir_status prefix##_load_stream(type **out, weir_source source, void *context,           \
                                          const struct weir_options *options,                      \
                                          struct weir_error *error)                                \
    {                                                                                              \
        struct part_input in = {source, context};                                                  \
        MADE_BY(handle_load_stream, type, kind, in);                                               \
    }                                                                                              \
    void prefix##_close(type *h)                                                                   \
    {                                                                                              \
        handle_close((struct handle *)h);                                                          \
    }                                                                                              \
    type *prefix##_clone(const type *h, struct weir_error *error)                                  \
    {                                                                                              \
        return (type *)handle_clone(&h->handle, error);                                            \
    }                                                                                              \
    void prefix##_clear(type *h)                                                                   \
    {                                                                                              \
        handle_clear(&h->handle);                                                                  \
    }                                                                                              \
    enum weir_status prefix##_merge(type *into, const type *from, struct weir_error *error)        \
    {                                                                                              \
        return handle_merge(&into->handle, &from->handle, error);                                  \
    }                                                                                              \
    size_t prefix##_config(const type *h, char *buffer, size_t size)                               \
    {                                                                                              \
        return spec_write((kind).grammar, &h->config, buffer, size);                               \
    }                                                                                              \
    size_t prefix##_saved_size(const type *h)                                                      \
    {                                                                                              \
        return handle_saved_size(&h->handle);                                                      \
    }                                                                                              \
    size_t prefix##_save_buffer(const type *h, void *buffer, size_t size,                          \
                                struct weir_error *error)                                          \
    {                                                                                              \
        return handle_save_buffer(&h->handle, buffer, size, error);                                \
    }                                                                                              \
    enum weir_status prefix##_save_stream(const type *h, weir_sink sink, void *context,            \
                                          struct weir_error *error)                                \
    {                                                                                              \
        return handle_save(&h->handle, 0, 1, sink, context, error);                                \
    }

HANDLE_CALLS(weir, weir_filter, filter_kind)
HANDLE_CALLS(weir_sketch, weir_sketch, sketch_kind)
HANDLE_CALLS(weir_screen, weir_screen, screen_kind)

/* ---- algorithms and specs ---- */

/* NULL for a kind of a later version. */
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

static enum weir_status return_spec(const struct grammar *g, const union record *r, char *buffer,
                                    size_t size, struct weir_error *error)
{
    if (spec_write(g, r, buffer, size) < size)
        return WEIR_OK;
    return error_say(error, WEIR_ERROR_INVALID_ARGUMENT, "the buffer is too small for the spec; ",
                     "WEIR_SPEC_MAX bytes are always enough", NULL);
}

static enum weir_status complete(const struct grammar *g, const char *spec, union record *r,
                                 struct weir_error *error)
{
    if (g)
        return spec_complete(g, spec, r, error);
    return error_say(error, WEIR_ERROR_INVALID_ARGUMENT,
                     "unknown kind; use 0 for filters, 1 for sketches, 2 for screens", NULL);
}

enum weir_status weir_spec_complete(enum weir_kind kind, const char *spec, char *buffer,
                                    size_t size, struct weir_error *error)
{
    const struct grammar *g = grammar_of(kind);
    union record r;
    enum weir_status status = complete(g, spec, &r, error);

    return status == WEIR_OK ? return_spec(g, &r, buffer, size, error) : status;
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

/* Complete the spec of a shard with this memory, in bits. */
static enum weir_status complete_share(const union record *share, uint64_t memory,
                                       union record *out, struct weir_error *error)
{
    union record r = *share;
    char spec[WEIR_SPEC_MAX];

    r.filter.config.memory = memory;
    spec_write(&filter_grammar, &r, spec, sizeof spec);
    return spec_complete(&filter_grammar, spec, out, error);
}

/* Some filters need more than the n-th part of the memory: cuckoo has spare buckets, and fuse needs
 * more cells per key for small sets. Search for the smallest size that works. The size of the whole
 * filter always does. */
enum weir_status weir_shard_spec(const char *spec, uint32_t n, char *buffer, size_t size,
                                 struct weir_error *error)
{
    union record share, r;
    enum weir_status status = spec_complete(&filter_grammar, spec, &share, error);

    if (status != WEIR_OK)
        return status;
    if (n == 0)
        return error_say(error, WEIR_ERROR_INVALID_ARGUMENT,
                         "0 shards: invalid number; use 1 or more", NULL);
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
    return status == WEIR_OK ? return_spec(&filter_grammar, &r, buffer, size, error) : status;
}

const char *weir_version(void)
{
    return WEIR_VERSION;
}

/* ---- hashes ---- */

typedef uint64_t two_words __attribute__((vector_size(16)));

struct weir_key weir_hash_bytes(uint32_t kind, uint64_t seed, const void *data, size_t size)
{
    struct hash128 h = hash_by(kind == WEIR_HASH_SIP, data, size, seed);
    struct weir_key key = {0, 0, 1, hash_origin(kind == WEIR_HASH_SIP, seed)};

    /* One store: a caller that copies the key reads both words at once, which would wait for two
     * separate stores to reach the cache. */
    memcpy(&key, &(two_words){h.lo, h.hi}, sizeof(two_words));
    return key;
}

void weir_hash_bytes_many(uint32_t kind, uint64_t seed, const struct weir_bytes *bytes, size_t n,
                          struct weir_key *keys)
{
    uint32_t origin = hash_origin(kind == WEIR_HASH_SIP, seed);

    for (size_t i = 0; i < n; i++) {
        struct hash128 h = hash_by(kind == WEIR_HASH_SIP, bytes[i].data, bytes[i].size, seed);

        keys[i] = (struct weir_key){h.lo, h.hi, 1, origin};
    }
}
