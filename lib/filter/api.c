/* api.c - the public calls: open, observe, ask, forget, merge, measure.
 *
 * A filter is one allocation, of which struct weir is the head:
 *
 *   [struct weir | pad][plane 0 | pad][plane 1 | pad] ...
 *
 * each plane on a cache line of its own. */
#include <weir.h>

#include <string.h>

#include "base/memory.h"
#include "filter/filter.h"

weir *handle_open(const struct config *config, const struct shape *shape)
{
    uint64_t stride = memory_lines(cells_bytes(shape->cells, shape->width));
    uint64_t head = memory_lines(sizeof(weir));
    uint64_t bytes = head + stride * shape->planes;
    void *allocation;
    weir *w = memory_open(bytes, &allocation);

    if (!w)
        return NULL;
    w->ops = config->ops;
    w->config = *config;
    w->shape = *shape;
    w->allocation = allocation;
    w->bytes = bytes;
    w->cells = (uint8_t *)w + head;
    w->stride = stride;
    return w;
}

enum weir_status weir_open(weir **out, const char *sentence, struct weir_error *error)
{
    struct planned p;
    enum weir_status status = sentence_complete(&filter_grammar, sentence, &p, error);

    *out = status == WEIR_OK ? handle_open(&p.config, &p.shape) : NULL;
    if (status != WEIR_OK)
        return status;
    return *out ? WEIR_OK : error_no_memory(error, p.config.memory / 8);
}

void weir_close(weir *w)
{
    if (w)
        memory_close(w->allocation);
}

weir *weir_clone(const weir *w)
{
    weir *twin = handle_open(&w->config, &w->shape);

    if (!twin)
        return NULL;
    twin->shown = w->shown;
    twin->seen = w->seen;
    twin->sample = w->sample;
    memcpy(twin->reg, w->reg, sizeof w->reg);
    memcpy(twin->cells, w->cells, w->stride * w->shape.planes);
    return twin;
}

void weir_clear(weir *w)
{
    w->shown = 0;
    w->seen = 0;
    w->sample.n = 0;
    memset(w->reg, 0, sizeof w->reg);
    memset(w->cells, 0, w->stride * w->shape.planes);
}

static inline struct weir_key hash(const weir *w, const void *data, size_t size)
{
    struct hash128 h = hash_by(w->config.hash, data, size, w->config.seed);

    return (struct weir_key){h.lo, h.hi, 1};
}

struct weir_key weir_hash(const weir *w, const void *data, size_t size)
{
    return hash(w, data, size);
}

void weir_hash_many(const weir *w, const struct weir_bytes *bytes, size_t n, struct weir_key *keys)
{
    for (size_t i = 0; i < n; i++)
        keys[i] = hash(w, bytes[i].data, bytes[i].size);
}

enum weir_verdict weir_observe(weir *w, struct weir_key key)
{
    return w->ops->observe(w, key) ? WEIR_SEEN : WEIR_NEW;
}

void weir_observe_many(weir *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    w->ops->observe_many(w, keys, n, verdicts);
}

enum weir_verdict weir_ask(const weir *w, struct weir_key key)
{
    return w->ops->ask(w, key) ? WEIR_SEEN : WEIR_NEW;
}

void weir_ask_many(const weir *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    w->ops->ask_many(w, keys, n, verdicts);
}

enum weir_status weir_forget(weir *w, struct weir_key key, bool *was_there,
                             struct weir_error *error)
{
    if (!w->ops->forget)
        return error_say(error, WEIR_UNSUPPORTED, w->ops->is.about.name, " cannot forget a key; ",
                         sentence_names(&filter_grammar, WEIR_CAN_FORGET).text, " can", NULL);
    bool there = w->ops->forget(w, key);
    if (was_there)
        *was_there = there;
    return WEIR_OK;
}

void weir_advance(weir *w, uint64_t now)
{
    if (w->ops->advance)
        w->ops->advance(w, now);
}

enum weir_status weir_merge(weir *into, const weir *from, struct weir_error *error)
{
    char a[64], b[64];
    const char *why = into->ops->unmergeable ? into->ops->unmergeable(&into->config) : NULL;

    if (why)
        return error_say(error, WEIR_UNSUPPORTED, why, NULL);
    if (!into->ops->merge)
        return error_say(error, WEIR_UNSUPPORTED, into->ops->is.about.name,
                         " filters cannot be merged: what one forgot depends on all it saw; ",
                         sentence_names(&filter_grammar, WEIR_CAN_MERGE).text, " can", NULL);
    if (sentence_differ(&filter_grammar, &into->config, &from->config, a, b))
        return error_say(error, WEIR_MISMATCH, "the filters differ: ", a, " and ", b,
                         "; only filters of one configuration and seed can be merged", NULL);
    into->ops->merge(into, from);
    into->shown += from->shown;
    into->seen += from->seen;
    return WEIR_OK;
}

static double fill_of(const weir *w)
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

struct weir_stats weir_stats(const weir *w)
{
    return (struct weir_stats){
        .memory = cells_size(w->shape.cells * w->shape.planes, w->shape.width),
        .bytes = w->bytes,
        .shown = w->shown,
        .seen = w->seen,
        .fresh = w->shown - w->seen,
        .fill = fill_of(w),
        .error = w->ops->error(w),
    };
}

size_t weir_config(const weir *w, char *buffer, size_t size)
{
    return sentence_write(&filter_grammar, &w->config, buffer, size);
}

const char *weir_version(void)
{
    return WEIR_VERSION;
}
