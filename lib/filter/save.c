/* save.c - filter <-> bytes, in the frame of part.h:
 *
 *   words = shown seen registers [sampled sample]
 *   cells = plane 0, plane 1 ... as they lie in memory, each padded to whole lines
 *
 * format/handle.c saves and loads; views and shards are here. */
#include <string.h>

#include "filter/filter.h"
#include "format/part.h"
#include "spec/caller_struct.h"

/* ---- writing ---- */

static bool is_sampled(const struct config *c)
{
    return c->ops->is.parameters & HAS(PARAMETER_IMPORTANCE) && importance_samples(&c->importance);
}

/* The room of a full sample is kept, so that the size never changes. Two values to a
 * word. */
static uint32_t words_of(const struct config *c, const struct shape *s)
{
    return 2 + s->registers + (is_sampled(c) ? 1 + SAMPLE_SIZE / 2 : 0);
}

static void put_sample(struct part_head *h, const struct sample *sample)
{
    part_word(h, sample->n);
    for (uint32_t i = 0; i < SAMPLE_SIZE; i += 2) {
        uint64_t low = i < sample->n ? sample->value[i] : 0;
        uint64_t high = i + 1 < sample->n ? sample->value[i + 1] : 0;

        part_word(h, low | high << 32);
    }
}

/* Arrivals have numbers: from this one on, the next would have none. In a file they stop there:
 * a filter that was loaded with as many can be saved. */
#define OBSERVED_MAX (UINT64_C(1) << 62)

/* Nobody has checked the cells of a view: their sums go with them. */
static const uint8_t *sums_of_view(const weir_filter *w)
{
    return w->is_view ? w->cells + part_lines(w->stride * w->shape.planes) : NULL;
}

static void head_of(const struct handle *handle, struct part_head *h)
{
    const weir_filter *w = (const weir_filter *)handle;
    uint64_t observed = w->observed < OBSERVED_MAX ? w->observed : OBSERVED_MAX;

    h->kind = WEIR_PART_FILTER;
    h->cells = w->stride * w->shape.planes;
    h->sums = sums_of_view(w);
    part_word(h, observed);
    part_word(h, w->seen < observed ? w->seen : observed);
    for (uint32_t i = 0; i < w->shape.registers; i++)
        part_word(h, w->reg[i]);
    if (is_sampled(&w->config))
        put_sample(h, &w->sample);
}

static void put_cells(const void *what, struct part_writer *out)
{
    const weir_filter *w = what;

    part_put(out, w->cells, (size_t)(w->stride * w->shape.planes));
}

enum weir_status weir_save_shard(const weir_filter *w, uint32_t shard, uint32_t shards,
                                 weir_sink sink, void *context, struct weir_error *error)
{
    if (shards > WEIR_SHARDS_MAX || shard >= shards)
        return error_say(error, WEIR_ERROR_UNSUPPORTED,
                         "there is no such shard: of n, at most 65536, they are 0 to n - 1", NULL);
    return handle_save(&w->handle, shard, shards, sink, context, error);
}

enum weir_status weir_save_stream(const weir_filter *w, weir_sink sink, void *context,
                                  struct weir_error *error)
{
    return handle_save(&w->handle, 0, 1, sink, context, error);
}

size_t weir_saved_size(const weir_filter *w)
{
    return handle_saved_size(&w->handle);
}

size_t weir_save_buffer(const weir_filter *w, void *buffer, size_t size, struct weir_error *error)
{
    return handle_save_buffer(&w->handle, buffer, size, error);
}

/* ---- reading ---- */

static bool fits(const void *planned, const struct part_head *h)
{
    const struct planned *p = planned;

    return h->words == words_of(&p->config, &p->shape) && h->cells == shape_bytes(&p->shape);
}

static void take_words(weir_filter *w, const struct part_head *h)
{
    const uint64_t *word = h->word;

    w->observed = *word++;
    w->seen = *word++;
    for (uint32_t i = 0; i < w->shape.registers; i++)
        w->reg[i] = *word++;
    if (!is_sampled(&w->config))
        return;
    w->sample.n = *word <= SAMPLE_SIZE ? (uint32_t)*word : UINT32_MAX;
    word++;
    for (uint32_t i = 0; i < SAMPLE_SIZE; i++)
        w->sample.value[i] = (uint32_t)(word[i / 2] >> 32 * (i % 2));
}

static bool words_possible(const weir_filter *w)
{
    return (!w->ops->check || w->ops->check(w)) && w->seen <= w->observed &&
           w->observed <= OBSERVED_MAX && w->sample.n <= SAMPLE_SIZE && sample_valid(&w->sample);
}

/* Behind the last cell of each plane there is nothing. */
static bool gaps_empty(const weir_filter *w)
{
    uint64_t size = cells_size(w->shape.cells, w->shape.width);

    for (uint32_t i = 0; i < w->shape.planes; i++)
        for (uint64_t at = size; at < w->stride; at++)
            if (plane(w, i).bytes[at])
                return false;
    return true;
}

static enum weir_status take(struct handle *handle, const struct part_head *h, struct part_input in,
                             struct weir_error *error)
{
    weir_filter *w = (weir_filter *)handle;

    take_words(w, h);
    enum weir_status status = part_input_cells(in, h, w->cells, error);
    if (status != WEIR_OK)
        return status;
    bool possible =
        words_possible(w) && gaps_empty(w) && (!w->ops->check_cells || w->ops->check_cells(w));
    return possible ? WEIR_OK : handle_impossible(&filter_kind, error);
}

const struct handle_kind filter_kind = {
    .grammar = &filter_grammar,
    .parts = {WEIR_PART_FILTER, WEIR_PART_FILTER},
    .record = offsetof(weir_filter, config),
    .make = handle_of_plan,
    .no_memory = handle_no_memory,
    .check_open = handle_check_open,
    .head = head_of,
    .put = put_cells,
    .fits = fits,
    .take = take,
};

static enum weir_status load_planned(weir_filter **out, const struct part_head *h,
                                     const struct planned *p, struct part_input in,
                                     const struct memory *memory, struct weir_error *error)
{
    struct handle *made;
    enum weir_status status = handle_load_planned(&filter_kind, &made, h, p, in, memory, error);

    *out = (weir_filter *)made;
    return status;
}

/* A filter of which every byte is there, whichever shard it is. */
static enum weir_status load_part(weir_filter **out, const uint8_t *data, const struct part_head *h,
                                  const struct memory *memory, struct weir_error *error)
{
    struct part_memory rest = {data + part_head_size(h)};
    struct planned p;
    enum weir_status status = handle_plan_saved(&filter_kind, h, &p, error);

    if (status != WEIR_OK)
        return status;
    return load_planned(out, h, &p, (struct part_input){part_from_memory, &rest}, memory, error);
}

/* The same, its cells left where they are. */
static enum weir_status view_part(weir_filter **out, const uint8_t *data, const struct part_head *h,
                                  const struct memory *memory, struct weir_error *error)
{
    struct planned p;
    enum weir_status status = handle_plan_saved(&filter_kind, h, &p, error);

    if (status != WEIR_OK)
        return status;
    weir_filter *w = handle_view(&p, data + part_head_size(h), memory);
    if (!w)
        return error_no_memory(error, handle_view_bytes(), handle_view_bytes(), memory);
    take_words(w, h);
    if (words_possible(w)) {
        *out = w;
        return WEIR_OK;
    }
    weir_close(w);
    return handle_impossible(&filter_kind, error);
}

/* What becomes of a part of which every byte is there. */
typedef enum weir_status (*taker)(weir_filter **out, const uint8_t *data, const struct part_head *h,
                                  const struct memory *memory, struct weir_error *error);

enum weir_status weir_load_buffer(weir_filter **out, const void *data, size_t size, size_t *used,
                                  const struct weir_options *options, struct weir_error *error)
{
    struct planned p;
    struct handle_request r = {&filter_kind, &p, options, NULL};
    enum weir_status status = handle_load_buffer(&r, (struct weir_bytes){data, size}, used, error);

    *out = (weir_filter *)r.made;
    return status;
}

enum weir_status weir_load_stream(weir_filter **out, weir_source source, void *context,
                                  const struct weir_options *options, struct weir_error *error)
{
    struct planned p;
    struct handle_request r = {&filter_kind, &p, options, NULL};
    enum weir_status status = handle_load_stream(&r, (struct part_input){source, context}, error);

    *out = (weir_filter *)r.made;
    return status;
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

static enum weir_status bad_order(struct weir_error *error)
{
    return part_bad(error, WEIR_ERROR_BAD_SHARDS,
                    "the shards of the filter are not all there, in their order");
}

static bool same_spec(const struct part_head *a, const struct part_head *b)
{
    return a->length == b->length && memcmp(a->spec, b->spec, a->length) == 0;
}

bool handle_shards_differ(const struct config *a, const struct config *b, char *of_a, char *of_b)
{
    struct config other = *b;

    if (a->ops->fixed) {
        other.memory = a->memory;
        other.capacity = a->capacity;
    }
    return spec_differ(&filter_grammar, a, &other, of_a, of_b);
}

static bool same_but_for_size(const struct part_head *a, const struct part_head *b)
{
    char of_a[WEIR_SPEC_MAX], of_b[WEIR_SPEC_MAX];
    struct planned first, other;

    if (!part_spec(a, of_a) || !spec_restore(&filter_grammar, of_a, &first) ||
        !part_spec(b, of_b) || !spec_restore(&filter_grammar, of_b, &other))
        return false;
    return !handle_shards_differ(&first.config, &other.config, of_a, of_b);
}

/* Shard i, of as many and of the same configuration as the first. */
static enum weir_status check_shard(const struct part_head *h, uint32_t i,
                                    const struct part_head *first, struct weir_error *error)
{
    if (h->kind != WEIR_PART_FILTER || h->shard != i || h->shards != first->shards)
        return bad_order(error);
    if (!same_spec(h, first) && !same_but_for_size(h, first))
        return part_bad(error, WEIR_ERROR_BAD_SHARDS,
                        "the shards of the filter are not of one configuration");
    return WEIR_OK;
}

/* How shards are taken: what becomes of each, and the first of them. */
struct taking {
    taker take;
    struct memory memory;
    struct part_head first;
};

static enum weir_status take_shard(weir_filter **out, const struct taking *t, uint32_t i,
                                   struct weir_bytes from, size_t *used, struct weir_error *error)
{
    struct part_head h;
    enum weir_status status =
        from.size > 0 ? part_find(from.data, from.size, &h, error) : bad_order(error);

    if (status == WEIR_OK)
        status = check_shard(&h, i, &t->first, error);
    if (status == WEIR_OK)
        status = t->take(out, from.data, &h, &t->memory, error);
    if (status == WEIR_OK)
        *used += (size_t)part_size(&h);
    return status;
}

/* The first shard of a filter that has room in an array of `most`. */
static enum weir_status check_first(const struct part_head *h, uint32_t most,
                                    struct weir_error *error)
{
    if (h->kind != WEIR_PART_FILTER)
        return part_bad(error, WEIR_ERROR_WRONG_KIND, "this part is not a filter");
    if (h->shards > most)
        return part_bad(error, WEIR_ERROR_BAD_SHARDS,
                        "the filter has more shards than there is room for");
    return WEIR_OK;
}

static enum weir_status begin_taking(struct taking *t, uint32_t most, struct weir_bytes from,
                                     const struct weir_options *options, struct weir_error *error)
{
    enum weir_status status = caller_memory(options, &t->memory, error);

    if (status == WEIR_OK)
        status = part_find(from.data, from.size, &t->first, error);
    if (status == WEIR_OK)
        status = check_first(&t->first, most, error);
    return status;
}

static enum weir_status take_all(weir_filter **out, taker taker_of_one, uint32_t most, uint32_t *n,
                                 struct weir_bytes from, size_t *used,
                                 const struct weir_options *options, struct weir_error *error)
{
    struct taking t = {.take = taker_of_one};
    size_t at = 0;
    enum weir_status status = begin_taking(&t, most, from, options, error);

    *n = 0;
    while (status == WEIR_OK && *n < t.first.shards) {
        struct weir_bytes rest = {(const uint8_t *)from.data + at, from.size - at};

        status = take_shard(&out[*n], &t, *n, rest, &at, error);
        *n += status == WEIR_OK;
    }
    if (status == WEIR_OK && used)
        *used = at;
    while (status != WEIR_OK && *n > 0)
        weir_close(out[--*n]);
    return status;
}

enum weir_status weir_load_shards(weir_filter **out, uint32_t most, uint32_t *n, const void *data,
                                  size_t size, size_t *used, const struct weir_options *options,
                                  struct weir_error *error)
{
    struct weir_bytes from = {data, size};

    return take_all(out, load_part, most, n, from, used, options, error);
}

enum weir_status weir_view_shards(weir_filter **out, uint32_t most, uint32_t *n, const void *data,
                                  size_t size, size_t *used, const struct weir_options *options,
                                  struct weir_error *error)
{
    struct weir_bytes from = {data, size};

    return take_all(out, view_part, most, n, from, used, options, error);
}

enum weir_status handle_load_shards(weir_filter **out, uint32_t most, uint32_t *n,
                                    weir_source source, void *context, struct memory memory,
                                    void (*divide)(struct memory *memory, uint32_t shards),
                                    struct weir_error *error)
{
    struct part_input in = {source, context};
    uint8_t of_first[PART_HEAD_MOST], of_next[PART_HEAD_MOST];
    struct part_head first, h;
    struct planned p;
    enum weir_status status = part_input_head(in, of_first, &first, error);

    *n = 0;
    if (status == WEIR_OK)
        status = check_first(&first, most, error);
    if (status != WEIR_OK)
        return status;
    divide(&memory, first.shards);
    h = first;
    do {
        if (*n > 0)
            status = part_input_head(in, of_next, &h, error);
        if (status == WEIR_OK)
            status = check_shard(&h, *n, &first, error);
        if (status == WEIR_OK)
            status = handle_plan_saved(&filter_kind, &h, &p, error);
        if (status == WEIR_OK)
            status = load_planned(&out[*n], &h, &p, in, &memory, error);
        *n += status == WEIR_OK;
    } while (status == WEIR_OK && *n < first.shards);
    while (status != WEIR_OK && *n > 0)
        weir_close(out[--*n]);
    return status;
}
