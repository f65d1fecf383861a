/* views_shards.c - saved filters in place, and filters saved as shards (weir/saved.h).
 *
 * A view looks up keys in a saved filter without copying its cells, for example in a mapped file.
 * Which cells it reads depends on hashes and on the spec, never on cells, so damaged cells cannot
 * make it crash. It never writes: observing acts as looking up, and other changes are rejected.
 *
 * Shards are parts that follow each other. All must be there, in order, with one configuration.
 * Shards of a fixed filter may differ in size, because each is as large as its keys need. */
#include <string.h>

#include "filter/filter.h"
#include "spec/caller_struct.h"

/* ---- views ---- */

/* The filter, and its operations without those that write. */
struct filter_view {
    weir_filter filter;
    struct filter_ops ops;
};

/* Observing on a view is a bug of the caller. */
static inline void check_observing(void)
{
    debug_assert(!"weir_observe() on a view");
}

static bool ask_instead(weir_filter *w, const struct weir_key *key)
{
    check_observing();
    return w->ops->ask(w, key);
}

static void ask_many_instead(weir_filter *w, const struct weir_key *keys, size_t n,
                             uint8_t *verdicts)
{
    check_observing();
    w->ops->ask_many(w, keys, n, verdicts);
}

static weir_filter *new_view(const struct planned *p, const uint8_t *cells,
                             const struct memory *memory)
{
    void *allocation;
    struct filter_view *v = memory_open(memory, sizeof *v, &allocation);

    if (!v)
        return NULL;
    v->filter.handle = (struct handle){.kind = &filter_kind,
                                       .allocation = allocation,
                                       .bytes = memory_taken(sizeof *v),
                                       .memory = *memory,
                                       .data = (uint8_t *)(uintptr_t)cells,
                                       .size = shape_bytes(&p->shape),
                                       .is_view = true};
    filter_kind.begin(&v->filter.handle, p);
    v->ops = *p->config.ops;
    v->ops.observe = ask_instead;
    v->ops.observe_many = ask_many_instead;
    v->ops.observe_picked = NULL;
    v->ops.forget = NULL;
    v->ops.advance = NULL;
    v->filter.ops = &v->ops;
    return &v->filter;
}

static enum weir_status view_part(weir_filter **out, const uint8_t *data, const struct part_head *h,
                                  const struct memory *memory, struct weir_error *error)
{
    const uint64_t bytes = memory_taken(sizeof(struct filter_view));
    struct planned p;
    enum weir_status status = handle_plan_saved(&filter_kind, h, &p, error);

    if (status != WEIR_OK)
        return status;
    weir_filter *w = new_view(&p, data + part_head_size(h), memory);
    if (!w)
        return error_no_memory(error, bytes, bytes, memory);
    filter_kind.load_words(&w->handle, h);
    if (filter_words_possible(w)) {
        *out = w;
        return WEIR_OK;
    }
    weir_close(w);
    return handle_impossible(&filter_kind, error);
}

enum weir_status weir_view_buffer(weir_filter **out, const void *data, size_t size, size_t *used,
                                  const struct weir_options *options, struct weir_error *error)
{
    struct part_head h;
    struct memory memory;
    enum weir_status status = caller_memory(options, &memory, error);

    *out = NULL;
    if (status == WEIR_OK)
        status = part_find(data, size, &h, error);
    if (status == WEIR_OK)
        status = part_is_whole(&h, error);
    if (status == WEIR_OK)
        status = view_part(out, data, &h, &memory, error);
    if (status == WEIR_OK && used)
        *used = (size_t)part_size(&h);
    return status;
}

/* ---- shards ---- */

enum weir_status weir_save_shard(const weir_filter *w, uint32_t shard, uint32_t shards,
                                 weir_sink sink, void *context, struct weir_error *error)
{
    if (shards > WEIR_SHARDS_MAX || shard >= shards)
        return error_say(
            error, WEIR_ERROR_UNSUPPORTED,
            "invalid shard number; of n shards, at most 65536, the numbers are 0 to n - 1", NULL);
    return handle_save(&w->handle, shard, shards, sink, context, error);
}

static enum weir_status bad_order(struct weir_error *error)
{
    return part_bad(error, WEIR_ERROR_BAD_SHARDS,
                    "the filter's shards are incomplete or out of order");
}

static bool same_spec(const struct part_head *a, const struct part_head *b)
{
    return a->length == b->length && memcmp(a->spec, b->spec, a->length) == 0;
}

bool filter_shards_differ(const struct config *a, const struct config *b, char *of_a, char *of_b)
{
    struct config other = *b;

    if (a->ops->fixed) {
        other.memory = a->memory;
        other.capacity = a->capacity;
    }
    return spec_differ(&filter_grammar, a, &other, of_a, of_b);
}

static bool differ_only_in_size(const struct part_head *a, const struct part_head *b)
{
    char of_a[WEIR_SPEC_MAX], of_b[WEIR_SPEC_MAX];
    struct planned first, other;

    if (!part_spec(a, of_a) || !spec_restore(&filter_grammar, of_a, &first) ||
        !part_spec(b, of_b) || !spec_restore(&filter_grammar, of_b, &other))
        return false;
    return !filter_shards_differ(&first.config, &other.config, of_a, of_b);
}

/* Is this shard i, with the configuration of the first? */
static enum weir_status check_shard(const struct part_head *h, uint32_t i,
                                    const struct part_head *first, struct weir_error *error)
{
    if (h->kind != WEIR_PART_FILTER || h->shard != i || h->shards != first->shards)
        return bad_order(error);
    if (!same_spec(h, first) && !differ_only_in_size(h, first))
        return part_bad(error, WEIR_ERROR_BAD_SHARDS,
                        "the filter's shards have different configurations");
    return WEIR_OK;
}

/* Is this the first shard of a filter of at most `max` shards? */
static enum weir_status check_first(const struct part_head *h, uint32_t max,
                                    struct weir_error *error)
{
    if (h->kind != WEIR_PART_FILTER)
        return part_bad(error, WEIR_ERROR_WRONG_KIND, "this part is not a filter");
    if (h->shards > max)
        return part_bad(error, WEIR_ERROR_BAD_SHARDS,
                        "the filter has more shards than the caller allows");
    return WEIR_OK;
}

/* Where shards come from: memory or a stream. */
struct shard_input {
    bool in_memory;
    const uint8_t *at;
    size_t left;
    struct part_input stream;
    bool as_views;
    struct memory memory; /* of each shard */
    void (*divide)(struct memory *memory, uint32_t shards);
};

static enum weir_status read_head(const struct shard_input *in, uint32_t i, uint8_t *buffer,
                                  struct part_head *h, struct weir_error *error)
{
    if (!in->in_memory)
        return part_input_head(in->stream, buffer, h, error);
    return i > 0 && in->left == 0 ? bad_order(error) : part_find(in->at, in->left, h, error);
}

static enum weir_status load_shard(weir_filter **out, struct shard_input *in,
                                   const struct part_head *h, struct weir_error *error)
{
    struct part_memory body = {in->in_memory ? in->at + part_head_size(h) : NULL};
    struct part_input from =
        in->in_memory ? (struct part_input){part_from_memory, &body} : in->stream;
    struct handle *made = NULL;
    struct planned p;

    if (in->as_views)
        return view_part(out, in->at, h, &in->memory, error);
    enum weir_status status = handle_plan_saved(&filter_kind, h, &p, error);
    if (status == WEIR_OK)
        status = handle_load_planned(&filter_kind, &made, h, &p, from, &in->memory, error);
    *out = (weir_filter *)made;
    return status;
}

static enum weir_status load_shards(weir_filter **out, uint32_t max, uint32_t *n,
                                    struct shard_input *in, struct weir_error *error)
{
    uint8_t first_buffer[PART_HEAD_MAX], buffer[PART_HEAD_MAX];
    struct part_head first, h;
    enum weir_status status = read_head(in, 0, first_buffer, &first, error);

    *n = 0;
    if (status == WEIR_OK)
        status = check_first(&first, max, error);
    if (status != WEIR_OK)
        return status;
    if (in->divide)
        in->divide(&in->memory, first.shards);
    h = first;
    do {
        if (*n > 0)
            status = read_head(in, *n, buffer, &h, error);
        if (status == WEIR_OK)
            status = check_shard(&h, *n, &first, error);
        if (status == WEIR_OK)
            status = load_shard(&out[*n], in, &h, error);
        if (status != WEIR_OK)
            break;
        ++*n;
        if (in->in_memory) {
            in->at += part_size(&h);
            in->left -= (size_t)part_size(&h);
        }
    } while (*n < first.shards);
    while (status != WEIR_OK && *n > 0)
        weir_close(out[--*n]);
    return status;
}

static enum weir_status load_buffer(weir_filter **out, uint32_t max, uint32_t *n,
                                    struct shard_input *in, size_t *used,
                                    const struct weir_options *options, struct weir_error *error)
{
    size_t size = in->left;
    enum weir_status status = caller_memory(options, &in->memory, error);

    *n = 0;
    if (status == WEIR_OK)
        status = load_shards(out, max, n, in, error);
    if (status == WEIR_OK && used)
        *used = size - in->left;
    return status;
}

enum weir_status weir_load_shards(weir_filter **out, uint32_t max, uint32_t *n, const void *data,
                                  size_t size, size_t *used, const struct weir_options *options,
                                  struct weir_error *error)
{
    struct shard_input in = {.in_memory = true, .at = data, .left = size};

    return load_buffer(out, max, n, &in, used, options, error);
}

enum weir_status weir_view_shards(weir_filter **out, uint32_t max, uint32_t *n, const void *data,
                                  size_t size, size_t *used, const struct weir_options *options,
                                  struct weir_error *error)
{
    struct shard_input in = {.in_memory = true, .at = data, .left = size, .as_views = true};

    return load_buffer(out, max, n, &in, used, options, error);
}

enum weir_status filter_load_shards(weir_filter **out, uint32_t max, uint32_t *n,
                                    struct part_input stream, struct memory memory,
                                    void (*divide)(struct memory *memory, uint32_t shards),
                                    struct weir_error *error)
{
    struct shard_input in = {.stream = stream, .memory = memory, .divide = divide};

    return load_shards(out, max, n, &in, error);
}
