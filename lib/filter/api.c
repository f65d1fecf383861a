/* api.c - the public calls: open, observe, ask, forget, merge, measure.
 *
 * A filter is one allocation, of which struct weir_filter is the head:
 *
 *   [struct weir_filter | pad][plane 0 | pad][plane 1 | pad] ... [a line]
 *
 * each plane on a cache line of its own. */
#include <weir/hash.h>

#include <assert.h>
#include <string.h>

#include "base/hand_out.h"
#include "base/memory.h"
#include "filter/filter.h"

#define HEAD_BYTES memory_lines(sizeof(weir_filter))

/* A line follows the last plane: cells are read some bytes at a time. */
static uint64_t block_bytes(const struct shape *shape)
{
    return HEAD_BYTES + shape_bytes(shape) + CACHE_LINE;
}

uint64_t handle_bytes(const struct shape *shape)
{
    return memory_taken(block_bytes(shape));
}

static weir_filter *lay_out(weir_filter *w, const struct config *config, const struct shape *shape,
                            const struct memory *memory, void *allocation)
{
    if (!w)
        return NULL;
    w->handle = (struct handle){&filter_kind, allocation, (size_t)handle_bytes(shape), *memory};
    w->ops = config->ops;
    w->config = *config;
    w->shape = *shape;
    w->cells = (uint8_t *)w + HEAD_BYTES;
    w->stride = shape_stride(shape);
    return w;
}

weir_filter *handle_open(const struct config *config, const struct shape *shape,
                         const struct memory *memory)
{
    void *allocation;
    weir_filter *w = memory_open(memory, block_bytes(shape), &allocation);

    return lay_out(w, config, shape, memory, allocation);
}

weir_filter *handle_open_sparse(const struct config *config, const struct shape *shape,
                                const struct memory *memory)
{
    void *allocation;
    uint64_t uses, each = config->k ? config->k : 1;
    weir_filter *w = memory_open_sparse(memory, block_bytes(shape), &allocation, &uses);

    lay_out(w, config, shape, memory, allocation);
    if (w)
        w->sparse = uses / each;
    return w;
}

struct handle *handle_of_plan(const void *planned, const struct memory *memory, bool sparse)
{
    const struct planned *p = planned;

    return (struct handle *)(sparse ? handle_open_sparse(&p->config, &p->shape, memory)
                                    : handle_open(&p->config, &p->shape, memory));
}

enum weir_status handle_no_memory(const void *planned, const struct memory *memory,
                                  struct weir_error *error)
{
    const struct planned *p = planned;

    return error_no_memory(error, p->config.memory / 8, handle_bytes(&p->shape), memory);
}

static void use_many(weir_filter *w, size_t n)
{
    w->sparse -= n < w->sparse ? n : w->sparse;
    if (w->sparse == 0)
        memory_fill(w, block_bytes(&w->shape), w->observed > 0);
}

/* So many keys are about to be observed. */
static inline void use(weir_filter *w, size_t n)
{
    if (__builtin_expect(w->sparse != 0, 0))
        use_many(w, n);
}

enum weir_status handle_check_open(const void *planned, struct weir_error *error)
{
    const struct config *c = &((const struct planned *)planned)->config;

    if (!c->ops->fixed)
        return WEIR_OK;
    return error_say(
        error, WEIR_ERROR_NEEDS_BUILDER, c->is.of->about.name,
        " cannot learn key by key: it is built from a set that is known whole, by 'weir "
        "build --fixed' or weir_build_begin()",
        NULL);
}

enum weir_status handle_plan(const char *spec, struct planned *p, struct weir_error *error)
{
    enum weir_status status = spec_complete(&filter_grammar, spec, p, error);

    return status == WEIR_OK ? handle_check_open(p, error) : status;
}

enum weir_status weir_open_with(weir_filter **out, const char *spec,
                                const struct weir_options *options, struct weir_error *error)
{
    struct planned p;
    struct handle_request r = {&filter_kind, &p, options, NULL};
    enum weir_status status = handle_make(&r, spec, error);

    *out = (weir_filter *)r.made;
    return status;
}

enum weir_status weir_open(weir_filter **out, const char *spec, struct weir_error *error)
{
    return weir_open_with(out, spec, NULL, error);
}

void weir_close(weir_filter *w)
{
    handle_close((struct handle *)w);
}

weir_filter *weir_clone(const weir_filter *w, struct weir_error *error)
{
    if (w->is_view) {
        error_say(error, WEIR_ERROR_READ_ONLY,
                  "a view is not cloned: its cells may be damaged; load it", NULL);
        return NULL;
    }
    weir_filter *twin = handle_open(&w->config, &w->shape, &w->handle.memory);
    if (!twin) {
        error_no_memory(error, w->config.memory / 8, w->handle.bytes, &w->handle.memory);
        return NULL;
    }
    twin->observed = w->observed;
    twin->seen = w->seen;
    twin->sample = w->sample;
    memcpy(twin->reg, w->reg, sizeof w->reg);
    memcpy(twin->cells, w->cells, w->stride * w->shape.planes);
    return twin;
}

void weir_clear(weir_filter *w)
{
    if (w->is_view)
        return;
    w->observed = 0;
    w->seen = 0;
    w->sample.n = 0;
    use(w, SIZE_MAX);
    memset(w->reg, 0, sizeof w->reg);
    memset(w->cells, 0, w->stride * w->shape.planes);
}

/* ---- keys ---- */

#define AT_ONCE 256 /* keys hashed before they are shown */

struct weir_key weir_hash(const weir_filter *w, const void *data, size_t size)
{
    return weir_hash_bytes((uint32_t)w->config.hash, w->config.seed, data, size);
}

void weir_hash_many(const weir_filter *w, const struct weir_bytes *bytes, size_t n,
                    struct weir_key *keys)
{
    weir_hash_bytes_many((uint32_t)w->config.hash, w->config.seed, bytes, n, keys);
}

/* To be shown a key is for filters that can learn. */
static inline void check_learns(const weir_filter *w)
{
#ifdef WEIR_DEBUG
    assert(w->is_view ||
           w->ops->is.about.traits & WEIR_CAN_OBSERVE); /* or build it: weir/build.h */
#else
    (void)w;
#endif
}

enum weir_verdict weir_observe(weir_filter *w, struct weir_key key)
{
    check_learns(w);
    check_keys(&w->config, &key, 1);
    use(w, 1);
    return w->ops->observe(w, &key) ? WEIR_SEEN : WEIR_NEW;
}

void weir_observe_many(weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    check_learns(w);
    check_keys(&w->config, keys, n);
    use(w, n);
    w->ops->observe_many(w, keys, n, verdicts);
}

/* Copied together some at a time. */
static void observe_copied(weir_filter *w, const struct picked *p)
{
    struct weir_key keys[AT_ONCE];
    uint8_t verdicts[AT_ONCE];

    for (size_t begin = 0, some; begin < p->n; begin += some) {
        const uint16_t *at = p->at + begin;

        some = p->n - begin < AT_ONCE ? p->n - begin : AT_ONCE;
        for (size_t i = 0; i < some; i++)
            keys[i] = p->keys[at[i]];
        weir_observe_many(w, keys, some, verdicts);
        for (size_t i = 0; i < some; i++)
            p->verdicts[at[i]] = verdicts[i];
    }
}

void handle_observe_picked(weir_filter *w, const struct picked *p)
{
    if (!w->ops->observe_picked) {
        observe_copied(w, p);
        return;
    }
#ifdef WEIR_DEBUG
    for (size_t i = 0; i < p->n; i++)
        check_keys(&w->config, &p->keys[p->at[i]], 1);
#endif
    use(w, p->n);
    w->ops->observe_picked(w, p);
}

enum weir_verdict weir_ask(const weir_filter *w, struct weir_key key)
{
    check_keys(&w->config, &key, 1);
    return w->ops->ask(w, &key) ? WEIR_SEEN : WEIR_NEW;
}

void weir_ask_many(const weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    check_keys(&w->config, keys, n);
    w->ops->ask_many(w, keys, n, verdicts);
}

enum weir_verdict weir_observe_bytes(weir_filter *w, const void *data, size_t size)
{
    struct weir_key key = weir_hash(w, data, size);

    check_learns(w);
    use(w, 1);
    return w->ops->observe(w, &key) ? WEIR_SEEN : WEIR_NEW;
}

enum weir_verdict weir_ask_bytes(const weir_filter *w, const void *data, size_t size)
{
    struct weir_key key = weir_hash(w, data, size);

    return w->ops->ask(w, &key) ? WEIR_SEEN : WEIR_NEW;
}

void weir_observe_bytes_many(weir_filter *w, const struct weir_bytes *bytes, size_t n,
                             uint8_t *verdicts)
{
    struct weir_key keys[AT_ONCE];

    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < AT_ONCE ? n - at : AT_ONCE;
        weir_hash_many(w, bytes + at, some, keys);
        weir_observe_many(w, keys, some, verdicts + at);
    }
}

void weir_ask_bytes_many(const weir_filter *w, const struct weir_bytes *bytes, size_t n,
                         uint8_t *verdicts)
{
    struct weir_key keys[AT_ONCE];

    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < AT_ONCE ? n - at : AT_ONCE;
        weir_hash_many(w, bytes + at, some, keys);
        weir_ask_many(w, keys, some, verdicts + at);
    }
}

uint32_t weir_count(const weir_filter *w, struct weir_key key)
{
    check_keys(&w->config, &key, 1);
    return w->ops->count ? w->ops->count(w, key) : w->ops->ask(w, &key);
}

void weir_prefetch(const weir_filter *w, struct weir_key key)
{
    w->ops->touch(w, key);
}

/* How many of the keys from the first on, which the clock has come to, it changes
 * nothing for. */
static size_t run_of(const weir_filter *w, const uint64_t *times, size_t n)
{
    uint64_t last = w->ops->stands ? w->ops->stands(w) : UINT64_MAX;
    size_t run = 1;

    while (run < n && times[run] <= last)
        run++;
    return run;
}

/* In runs during which the clock stands still. */
void weir_observe_many_at(weir_filter *w, const struct weir_key *keys, const uint64_t *times,
                          size_t n, uint8_t *verdicts)
{
    for (size_t at = 0, run; at < n; at += run) {
        weir_advance(w, times[at]);
        run = run_of(w, times + at, n - at);
        weir_observe_many(w, keys + at, run, verdicts + at);
    }
}

enum weir_status weir_forget(weir_filter *w, struct weir_key key, bool *was_there,
                             struct weir_error *error)
{
    if (w->is_view)
        return error_say(error, WEIR_ERROR_READ_ONLY,
                         "a view of a saved filter cannot be changed; load it to forget a key",
                         NULL);
    check_keys(&w->config, &key, 1);
    if (!w->ops->forget)
        return error_say(error, WEIR_ERROR_UNSUPPORTED, w->ops->is.about.name,
                         " cannot forget a key; ",
                         spec_names(&filter_grammar, WEIR_CAN_FORGET).text, " can", NULL);
    bool there = w->ops->forget(w, key);
    if (was_there)
        *was_there = there;
    return WEIR_OK;
}

void weir_advance(weir_filter *w, uint64_t now)
{
    if (w->ops->advance)
        w->ops->advance(w, now);
}

enum weir_status weir_merge(weir_filter *into, const weir_filter *from, struct weir_error *error)
{
    char a[64], b[64];
    const char *why = into->ops->unmergeable ? into->ops->unmergeable(&into->config) : NULL;

    if (why)
        return error_say(error, into->is_view ? WEIR_ERROR_READ_ONLY : WEIR_ERROR_UNSUPPORTED, why,
                         NULL);
    if (!into->ops->merge)
        return error_say(error, WEIR_ERROR_UNSUPPORTED, into->ops->is.about.name,
                         " filters cannot be merged: what one forgot depends on all it saw; ",
                         spec_names(&filter_grammar, WEIR_CAN_MERGE).text, " can", NULL);
    if (spec_differ(&filter_grammar, &into->config, &from->config, a, b))
        return error_say(error, spec_mismatch(a), "the filters differ: ", a, " and ", b,
                         "; only filters of one configuration and seed can be merged", NULL);
    if (from->is_view)
        return error_say(error, WEIR_ERROR_READ_ONLY,
                         "a view is not merged: its cells may be damaged; load it", NULL);
    into->ops->merge(into, from);
    into->observed += from->observed;
    into->seen += from->seen;
    return WEIR_OK;
}

static double fill_of(const weir_filter *w)
{
    double fill = 0;

    if (w->ops->fill)
        return w->ops->fill(w);
    for (uint32_t i = 0; i < w->shape.planes; i++) {
        struct cells cells = plane(w, i);

        fill += cells_fill(&cells) / w->shape.planes;
    }
    return fill;
}

void weir_measure(const weir_filter *w, struct weir_stats *out, size_t size)
{
    struct weir_stats stats = {
        .memory = cells_size(w->shape.cells * w->shape.planes, w->shape.width),
        .bytes = w->handle.bytes,
        .observed = w->observed,
        .seen = w->seen,
        .new_keys = w->observed - w->seen,
        .fill = fill_of(w),
        .error = w->ops->error(w),
        .lost = w->ops->lost ? w->ops->lost(w) : 0,
        .overflow = w->ops->overflow ? w->ops->overflow(w) : 0,
    };

    hand_out(out, size, &stats, sizeof stats);
}

size_t weir_config(const weir_filter *w, char *buffer, size_t size)
{
    return spec_write(&filter_grammar, &w->config, buffer, size);
}

const char *weir_version(void)
{
    return WEIR_VERSION;
}
