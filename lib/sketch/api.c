/* api.c - the public calls of weir/sketch.h. One allocation each:
 *
 *   [struct weir_sketch | its own state | pad][data] */
#include "sketch/sketch.h"

#include <assert.h>
#include <string.h>
#include <weir/hash.h>

#include "base/hand_out.h"
#include "sketch/half_life.h"

/* ---- open and close ---- */

static uint64_t head_bytes(const struct sketch_config *c)
{
    return memory_lines(sizeof(weir_sketch) + c->ops->own);
}

static uint64_t handle_bytes(const struct sketch_config *c)
{
    return memory_taken(head_bytes(c) + c->bytes);
}

enum weir_status sketch_no_memory(const void *config, const struct memory *memory,
                                  struct weir_error *error)
{
    const struct sketch_config *c = config;

    return error_no_memory(error, c->bytes, handle_bytes(c), memory);
}

struct handle *sketch_make(const void *config, const struct memory *memory, bool sparse)
{
    const struct sketch_config *c = config;
    uint64_t head = head_bytes(c), uses = 0;
    void *allocation;
    weir_sketch *s = sparse ? memory_open_sparse(memory, head + c->bytes, &allocation, &uses)
                            : memory_open(memory, head + c->bytes, &allocation);

    if (!s)
        return NULL;
    s->handle = (struct handle){&sketch_kind, allocation, (size_t)handle_bytes(c), *memory};
    s->sparse = uses / (c->depth ? c->depth : 1);
    s->ops = c->ops;
    s->config = *c;
    s->data = (uint8_t *)s + head;
    s->size = c->bytes;
    s->ops->lay(s);
    fade_begin(s);
    return &s->handle;
}

/* So many keys are about to be added. */
static void use(weir_sketch *s, size_t n)
{
    if (s->sparse == 0)
        return;
    s->sparse -= n < s->sparse ? n : s->sparse;
    if (s->sparse == 0)
        memory_fill(s, head_bytes(&s->config) + s->config.bytes, s->total > 0);
}

enum weir_status weir_sketch_open_with(weir_sketch **out, const char *config,
                                       const struct weir_options *options, struct weir_error *error)
{
    struct sketch_config c;
    struct handle_request r = {&sketch_kind, &c, options, NULL};
    enum weir_status status = handle_make(&r, config, error);

    *out = (weir_sketch *)r.made;
    return status;
}

enum weir_status weir_sketch_open(weir_sketch **out, const char *config, struct weir_error *error)
{
    return weir_sketch_open_with(out, config, NULL, error);
}

void weir_sketch_close(weir_sketch *s)
{
    handle_close((struct handle *)s);
}

weir_sketch *weir_sketch_clone(const weir_sketch *s, struct weir_error *error)
{
    weir_sketch *twin = (weir_sketch *)sketch_make(&s->config, &s->handle.memory, false);

    if (twin)
        sketch_copy(twin, s);
    else
        sketch_no_memory(&s->config, &s->handle.memory, error);
    return twin;
}

void sketch_copy(weir_sketch *to, const weir_sketch *from)
{
    to->total = from->total;
    to->weight = from->weight;
    to->age = from->age;
    memcpy(sketch_own(to), sketch_own(from), from->ops->own);
    memory_copy(to->data, from->data, from->size);
    to->ops->lay(to);
}

void weir_sketch_clear(weir_sketch *s)
{
    use(s, SIZE_MAX);
    s->total = 0;
    memset(sketch_own(s), 0, s->ops->own);
    memset(s->data, 0, s->size);
    s->ops->lay(s);
    fade_begin(s);
}

/* ---- count and ask ---- */

void weir_sketch_add(weir_sketch *s, struct weir_bytes key, uint64_t amount)
{
    use(s, 1);
    fade_records(s, 1);
    s->ops->add(s, key, sketch_amount(s, &amount, 0));
}

void weir_sketch_add_many(weir_sketch *s, const struct weir_bytes *keys, const uint64_t *amounts,
                          size_t n)
{
    use(s, n);
    for (size_t done = 0, run; done < n; done += run) {
        run = fade_records(s, n - done);
        s->ops->add_many(s, keys + done, amounts ? amounts + done : NULL, run);
    }
}

struct weir_key weir_sketch_hash(const weir_sketch *s, const void *data, size_t size)
{
    return weir_hash_bytes((uint32_t)s->config.hash, s->config.seed, data, size);
}

/* A key of another seed or hash= is a caller's bug. */
static void check_keys(const weir_sketch *s, const struct weir_key *keys, size_t n)
{
#ifdef WEIR_DEBUG
    uint32_t ours = hash_origin(s->config.hash, s->config.seed);

    for (size_t i = 0; i < n; i++)
        assert(!keys[i].origin || keys[i].origin == ours); /* hashed for this seed and hash= */
#else
    (void)s, (void)keys, (void)n;
#endif
}

static enum weir_status keeps_keys(const weir_sketch *s, struct weir_error *error)
{
    return error_say(error, WEIR_ERROR_UNSUPPORTED, s->config.is.of->about.name,
                     " keeps keys: it needs their bytes, not their hashes", NULL);
}

enum weir_status weir_sketch_add_hashed(weir_sketch *s, const struct weir_key *keys,
                                        const uint64_t *amounts, size_t n, struct weir_error *error)
{
    if (!s->ops->add_hashed)
        return keeps_keys(s, error);
    check_keys(s, keys, n);
    use(s, n);
    for (size_t done = 0, run; done < n; done += run) {
        run = fade_records(s, n - done);
        s->ops->add_hashed(s, keys + done, amounts ? amounts + done : NULL, run);
    }
    return WEIR_OK;
}

void weir_sketch_advance(weir_sketch *s, uint64_t now)
{
    fade_advance(s, now);
}

/* In runs of the same weight. */
void weir_sketch_add_many_at(weir_sketch *s, const struct weir_bytes *keys, const uint64_t *amounts,
                             const uint64_t *times, size_t n)
{
    for (size_t done = 0, run; done < n; done += run) {
        run = fade_times(s, times + done, n - done);
        weir_sketch_add_many(s, keys + done, amounts ? amounts + done : NULL, run);
    }
}

enum weir_status weir_sketch_take(weir_sketch *s, struct weir_bytes key, uint64_t amount,
                                  struct weir_error *error)
{
    if (!s->ops->take || !s->ops->can_take(&s->config))
        return error_say(
            error, WEIR_ERROR_UNSUPPORTED, s->config.is.of->about.name, " cannot take back here; ",
            spec_names(&sketch_grammar, WEIR_CAN_FORGET).text, " with update=plain can", NULL);
    s->ops->take(s, key, sketch_amount(s, &amount, 0));
    return WEIR_OK;
}

struct weir_estimate weir_sketch_ask(const weir_sketch *s, struct weir_bytes key)
{
    return fade_tell_estimate(s, s->ops->ask(s, key));
}

static void tell_estimates(const weir_sketch *s, struct weir_estimate *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = fade_tell_estimate(s, out[i]);
}

void weir_sketch_ask_many(const weir_sketch *s, const struct weir_bytes *keys, size_t n,
                          struct weir_estimate *out)
{
    if (s->ops->ask_many)
        s->ops->ask_many(s, keys, n, out);
    else
        for (size_t i = 0; i < n; i++)
            out[i] = s->ops->ask(s, keys[i]);
    tell_estimates(s, out, n);
}

enum weir_status weir_sketch_ask_hashed(const weir_sketch *s, const struct weir_key *keys, size_t n,
                                        struct weir_estimate *out, struct weir_error *error)
{
    if (!s->ops->ask_hashed)
        return keeps_keys(s, error);
    check_keys(s, keys, n);
    s->ops->ask_hashed(s, keys, n, out);
    tell_estimates(s, out, n);
    return WEIR_OK;
}

size_t weir_sketch_top(const weir_sketch *s, struct weir_heavy *out, size_t n)
{
    n = s->ops->top ? s->ops->top(s, out, n) : 0;
    for (size_t i = 0; i < n; i++) {
        struct weir_estimate told =
            fade_tell_estimate(s, (struct weir_estimate){out[i].count, out[i].error});

        out[i].count = told.count;
        out[i].error = told.error;
    }
    return n;
}

/* Both as old as the older one in time, or as they are in records. */
static enum weir_status merge_fading(weir_sketch *into, const weir_sketch *from)
{
    weir_sketch *sum = weir_sketch_clone(into, NULL), *twin = weir_sketch_clone(from, NULL);
    enum weir_status status = sum && twin ? WEIR_OK : WEIR_NO_MEMORY;

    if (status == WEIR_OK) {
        if (from->age.begun)
            fade_advance(sum, from->age.clock);
        fade_all(twin, fade_between(twin, sum));
        status = sum->ops->merge(sum, twin);
    }
    if (status == WEIR_OK)
        sketch_copy(into, sum);
    weir_sketch_close(sum);
    weir_sketch_close(twin);
    return status;
}

static enum weir_status check_alike(const weir_sketch *into, const weir_sketch *from,
                                    struct weir_error *error)
{
    char a[64], b[64];

    if (!spec_differ(&sketch_grammar, &into->config, &from->config, a, b))
        return WEIR_OK;
    return error_say(error, spec_mismatch(a), "the sketches differ: ", a, " and ", b,
                     "; only sketches of one configuration and seed can be merged", NULL);
}

enum weir_status weir_sketch_weigh(weir_sketch *into, const weir_sketch *const *from,
                                   const int64_t *weights, size_t n, struct weir_error *error)
{
    if (!into->ops->weigh || fades(into))
        return error_say(error, WEIR_ERROR_UNSUPPORTED, into->config.is.of->about.name,
                         " cannot be multiplied by a weight", NULL);
    for (size_t i = 0; i < n; i++)
        if (check_alike(into, from[i], error) != WEIR_OK)
            return WEIR_MISMATCH;
    if (!into->ops->weigh(into, from, weights, n))
        return error_say(error, WEIR_ERROR_OUT_OF_RANGE,
                         "a count would be below 0 or above the most that it can be", NULL);
    return WEIR_OK;
}

enum weir_status weir_sketch_merge(weir_sketch *into, const weir_sketch *from,
                                   struct weir_error *error)
{
    if (!into->ops->merge)
        return error_say(error, WEIR_ERROR_UNSUPPORTED, into->config.is.of->about.name,
                         into->ops->unmergeable, "; ",
                         spec_names(&sketch_grammar, WEIR_CAN_MERGE).text, " can be", NULL);
    if (check_alike(into, from, error) != WEIR_OK)
        return WEIR_MISMATCH;
    if ((fades(into) ? merge_fading(into, from) : into->ops->merge(into, from)) != WEIR_OK)
        return sketch_no_memory(&into->config, &into->handle.memory, error);
    return WEIR_OK;
}

void weir_sketch_measure(const weir_sketch *s, struct weir_sketch_stats *out, size_t size)
{
    struct weir_sketch_stats stats = {
        .memory = s->size, .bytes = s->handle.bytes, .total = s->total};

    s->ops->stats(s, &stats);
    stats.total = fade_tell(s, stats.total);
    if (stats.error != WEIR_NO_BOUND)
        stats.error = fade_tell(s, stats.error);
    stats.too_long = fade_tell(s, stats.too_long);
    hand_out(out, size, &stats, sizeof stats);
}

size_t weir_sketch_config(const weir_sketch *s, char *buffer, size_t size)
{
    return spec_write(&sketch_grammar, &s->config, buffer, size);
}
