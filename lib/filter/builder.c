/* builder.c - weir/build.h: build a filter from a complete set of keys.
 *
 * Filters that can record keys are opened, and observe the keys. The size of a fixed filter is
 * unknown until all keys are added: their digests are collected (digests.h) and counted without
 * duplicates. Then a filter of that capacity is filled, part by part. */
#include <assert.h>

#include "filter/digests.h"
#include "filter/filter.h"
#include "spec/caller_struct.h"

#define BATCH 256 /* keys that are observed or hashed at a time */
/* Attempts with a larger capacity if the parts are too uneven: one set in twenty needs the first.
 */
#define ENLARGEMENTS 64

struct weir_builder {
    struct planned planned;
    struct config asked;             /* as given, but with its seed */
    struct memory memory, of_handle; /* the same source; the handle may have a limit */
    void *allocation;
    weir_filter *learner;   /* a filter that observes keys, or: */
    struct digests digests; /* the digests of a fixed filter */
    uint64_t added;
};

/* ---- beginning ---- */

static enum weir_status no_memory(struct weir_error *error)
{
    return error_say(error, WEIR_ERROR_NO_MEMORY, "not enough memory to build a filter", NULL);
}

static bool is_fixed(const weir_builder *b)
{
    return b->planned.config.ops->fixed;
}

static enum weir_status begin(weir_builder *b, struct weir_error *error)
{
    const struct planned *p = &b->planned;

    if (is_fixed(b))
        return digests_open(&b->digests, &b->memory) == WEIR_OK ? WEIR_OK : no_memory(error);
    b->learner = filter_new(p, &b->of_handle, false);
    return b->learner ? WEIR_OK : handle_no_memory(&filter_kind, p, &b->of_handle, error);
}

enum weir_status weir_build_begin(weir_builder **out, const char *config,
                                  const struct weir_options *options, struct weir_error *error)
{
    struct planned planned;
    struct memory memory;
    void *allocation;
    enum weir_status status = caller_memory(options, &memory, error);

    *out = NULL;
    if (status == WEIR_OK)
        status = spec_complete(&filter_grammar, config, &planned, error);
    if (status != WEIR_OK)
        return status;
    uint64_t most = memory.max_bytes; /* the limit applies to the handle */
    memory.max_bytes = 0;
    weir_builder *b = memory_open(&memory, sizeof *b, &allocation);
    if (!b)
        return no_memory(error);
    b->planned = planned;
    b->memory = memory;
    b->of_handle = memory;
    b->of_handle.max_bytes = most;
    b->allocation = allocation;
    spec_read(&filter_grammar, config, &b->asked, NULL);
    b->asked.seed = planned.config.seed;
    status = begin(b, error);
    if (status == WEIR_OK)
        *out = b;
    else
        weir_build_cancel(b);
    return status;
}

void weir_build_spill(weir_builder *b, const struct weir_spill *spill)
{
    assert(b->added == 0);
    b->digests.spill = *spill;
}

size_t weir_build_config(const weir_builder *b, char *buffer, size_t size)
{
    return spec_write(&filter_grammar, &b->planned.config, buffer, size);
}

void weir_build_cancel(weir_builder *b)
{
    if (!b)
        return;
    weir_close(b->learner);
    if (is_fixed(b))
        digests_close(&b->digests);
    struct memory memory = b->memory;
    memory_close(&memory, b->allocation);
}

/* ---- adding ---- */

static enum weir_status report_digests(enum weir_status status, struct weir_error *error)
{
    if (status == WEIR_WRITE_FAILED)
        return error_say(error, WEIR_ERROR_WRITE_FAILED,
                         "the keys could not be spilled: weir_spill.put or .get failed", NULL);
    return status == WEIR_OK ? WEIR_OK : no_memory(error);
}

static enum weir_status report_full(const weir_filter *w, struct weir_error *error)
{
    char keys[24];
    struct text t = text_in(keys, sizeof keys);

    text_add_u64(&t, w->config.capacity);
    return error_say(error, WEIR_ERROR_FULL, w->ops->is.about.name, " is full: it is sized for ",
                     keys, " insertions, at most eight of one key; use a larger capacity=", NULL);
}

static enum weir_status observe(weir_builder *b, const struct weir_key *keys, size_t n,
                                struct weir_error *error)
{
    uint8_t verdicts[BATCH];
    weir_filter *w = b->learner;

    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < BATCH ? n - at : BATCH;
        weir_observe_many(w, keys + at, some, verdicts);
        if (w->ops->overflow && w->ops->overflow(w))
            return report_full(w, error);
    }
    return WEIR_OK;
}

enum weir_status weir_build_add(weir_builder *b, const struct weir_key *keys, size_t n,
                                struct weir_error *error)
{
    check_keys(&b->planned.config, keys, n);
    b->added += n;
    return is_fixed(b) ? report_digests(digests_add(&b->digests, keys, n), error)
                       : observe(b, keys, n, error);
}

enum weir_status weir_build_add_bytes(weir_builder *b, const struct weir_bytes *bytes, size_t n,
                                      struct weir_error *error)
{
    const struct config *c = &b->planned.config;
    struct weir_key keys[BATCH];
    enum weir_status status = WEIR_OK;

    for (size_t at = 0, some; at < n && status == WEIR_OK; at += some) {
        some = n - at < BATCH ? n - at : BATCH;
        for (size_t i = 0; i < some; i++) {
            struct hash128 h = hash_by(c->hash, bytes[at + i].data, bytes[at + i].size, c->seed);

            keys[i] = (struct weir_key){h.lo, h.hi, 1, 0};
        }
        status = weir_build_add(b, keys, some, error);
    }
    return status;
}

/* ---- finishing a fixed filter ---- */

/* Temporary state while a filter is filled. */
struct filling {
    weir_filter *w;
    struct fixed_parts parts;
    struct digest_reader reader;
    uint64_t *digests;
    void *scratch;
};

/* Fill all parts. WEIR_FULL: one of them has too many keys. */
static enum weir_status fill_parts(weir_builder *b, struct filling *f)
{
    enum weir_status status = WEIR_OK;

    digests_begin(&f->reader, &b->digests);
    for (uint64_t part = 0; part < f->parts.parts && status == WEIR_OK; part++) {
        uint64_t n;

        status =
            digests_of_part(&f->reader, part, f->parts.parts, f->digests, f->parts.keys + 1, &n);
        if (status == WEIR_OK &&
            !f->w->ops->fixed->fill_part(f->w, part, f->digests, (size_t)n, f->scratch))
            status = WEIR_FULL;
    }
    return status;
}

static enum weir_status fill_handle(weir_builder *b, weir_filter *w)
{
    struct fixed_parts parts = w->ops->fixed->parts(w);
    uint64_t head = memory_lines(sizeof(struct filling));
    uint64_t digests = memory_lines(8 * (parts.keys + 1));
    void *allocation;

    struct filling *f = memory_open(&b->memory, head + digests + parts.scratch, &allocation);
    if (!f)
        return WEIR_NO_MEMORY;
    f->w = w;
    f->parts = parts;
    f->digests = (uint64_t *)(void *)((uint8_t *)f + head);
    f->scratch = (uint8_t *)f + head + digests;
    enum weir_status status = fill_parts(b, f);
    memory_close(&b->memory, allocation);
    return status;
}

/* More capacity does not help: the keys are not hashes. */
static enum weir_status report_uneven(const weir_builder *b, struct weir_error *error)
{
    return error_say(error, WEIR_ERROR_UNEVEN_KEYS, b->planned.config.ops->is.about.name,
                     " cannot store keys that are not spread evenly; hash them with weir/hash.h",
                     NULL);
}

/* Make a filter of the configured capacity. WEIR_FULL if it is too small. */
static enum weir_status make_fixed(weir_builder *b, weir_filter **out, struct weir_error *error)
{
    struct planned *p = &b->planned;

    if (!filter_grammar.plan(p, error)) {
        if (error) {
            error->status = WEIR_FULL;
            error->code = WEIR_ERROR_FULL;
        }
        return WEIR_BAD_CONFIG;
    }
    weir_filter *w = filter_new(p, &b->of_handle, false);
    if (!w)
        return handle_no_memory(&filter_kind, p, &b->of_handle, error);
    enum weir_status status = fill_handle(b, w);
    if (status == WEIR_OK)
        *out = w;
    else
        weir_close(w);
    return status == WEIR_FULL ? status : report_digests(status, error);
}

static enum weir_status finish_fixed(weir_builder *b, weir_filter **out, struct weir_error *error)
{
    struct config *c = &b->planned.config;
    uint64_t different;
    enum weir_status status = report_digests(digests_settle(&b->digests, &different), error);
    uint64_t capacity = different ? different : 1;

    for (int i = 0; status == WEIR_OK && !*out && i < ENLARGEMENTS; i++) {
        *c = b->asked;
        c->capacity = capacity;
        c->is.given |= HAS(PARAMETER_CAPACITY);
        status = make_fixed(b, out, error);
        if (status == WEIR_FULL)
            status = WEIR_OK;
        capacity += capacity / 256 + 1;
    }
    if (status != WEIR_OK)
        return status == WEIR_BAD_CONFIG ? WEIR_FULL : status;
    if (!*out)
        return report_uneven(b, error);
    (*out)->observed = b->added;
    (*out)->seen = b->added - different;
    return WEIR_OK;
}

enum weir_status weir_build_finish(weir_builder *b, weir_filter **out, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    *out = NULL;
    if (is_fixed(b)) {
        status = finish_fixed(b, out, error);
    } else {
        *out = b->learner;
        b->learner = NULL;
    }
    weir_build_cancel(b);
    return status;
}
