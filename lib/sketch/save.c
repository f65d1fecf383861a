/* save.c - sketch <-> bytes, in the frame of part.h:
 *
 *   words = total [clock origin base begun], the four where counts fade
 *   cells = count-min: counters
 *           top: floor too-long n (count error size key)* cells
 *           heavykeeper: arrivals, keys as top has them, buckets
 *
 * format/handle.c saves and loads; the state is checked piece by piece here. */
#include <string.h>

#include "sketch/half_life.h"
#include "sketch/sketch.h"

/* ---- writing ---- */

static void head_of(const struct handle *handle, struct part_head *h)
{
    const weir_sketch *s = (const weir_sketch *)handle;

    h->kind = s->ops->part;
    h->cells = s->ops->state_size(s);
    part_word(h, s->total);
    if (fades(s))
        fade_put(s, h);
}

static void put_cells(const void *handle, struct part_writer *out)
{
    const weir_sketch *s = handle;

    s->ops->put(s, out);
}

size_t weir_sketch_saved_size(const weir_sketch *s)
{
    return handle_saved_size(&s->handle);
}

enum weir_status weir_sketch_save_stream(const weir_sketch *s, weir_sink sink, void *context,
                                         struct weir_error *error)
{
    return handle_save(&s->handle, 0, 1, sink, context, error);
}

size_t weir_sketch_save_buffer(const weir_sketch *s, void *buffer, size_t size,
                               struct weir_error *error)
{
    return handle_save_buffer(&s->handle, buffer, size, error);
}

/* ---- reading ---- */

static bool is_part(const void *config, uint32_t part)
{
    const struct sketch_config *c = config;

    return c->ops->part == part;
}

static bool fits(const void *config, const struct part_head *h)
{
    const struct sketch_config *c = config;

    return h->words == 1 + (c->half_life.length ? FADE_WORDS : 0) &&
           (c->ops->fixed ? h->cells == c->bytes : h->cells <= c->bytes);
}

static bool take_state(weir_sketch *s, const struct part_head *h, const uint8_t *cells)
{
    struct part_reader in = {cells, (size_t)h->cells};

    s->total = h->word[0];
    return (!fades(s) || fade_get(s, h->word + 1)) && s->ops->get(s, &in) && in.left == 0;
}

/* Cells in memory are taken apart where they are. From a source, those of a fixed size are the
 * counters, and go to their place; others are read first and then taken apart. */
static enum weir_status take(struct handle *handle, const struct part_head *h, struct part_input in,
                             struct weir_error *error)
{
    weir_sketch *s = (weir_sketch *)handle;
    struct memory *memory = &handle->memory;
    void *allocation = NULL;
    const uint8_t *cells;
    enum weir_status status = part_input_in_place(in, h, &cells, error);

    if (status == WEIR_OK && !cells) {
        uint8_t *room = s->ops->fixed ? s->data : memory_open(memory, h->cells, &allocation);

        if (!room)
            return sketch_no_memory(&s->config, memory, error);
        status = part_input_cells(in, h, room, error);
        cells = room;
    }
    if (status == WEIR_OK && !take_state(s, h, cells))
        status = handle_impossible(&sketch_kind, error);
    if (allocation)
        memory_close(memory, allocation);
    return status;
}

enum weir_status weir_sketch_load_buffer(weir_sketch **out, const void *data, size_t size,
                                         size_t *used, const struct weir_options *options,
                                         struct weir_error *error)
{
    struct sketch_config c;
    struct handle_request r = {&sketch_kind, &c, options, NULL};
    enum weir_status status = handle_load_buffer(&r, (struct weir_bytes){data, size}, used, error);

    *out = (weir_sketch *)r.made;
    return status;
}

enum weir_status weir_sketch_load_stream(weir_sketch **out, weir_source source, void *context,
                                         const struct weir_options *options,
                                         struct weir_error *error)
{
    struct sketch_config c;
    struct handle_request r = {&sketch_kind, &c, options, NULL};
    enum weir_status status = handle_load_stream(&r, (struct part_input){source, context}, error);

    *out = (weir_sketch *)r.made;
    return status;
}

const struct handle_kind sketch_kind = {
    .grammar = &sketch_grammar,
    .parts = {WEIR_PART_COUNTS, WEIR_PART_TOP},
    .record = offsetof(weir_sketch, config),
    .make = sketch_make,
    .no_memory = sketch_no_memory,
    .head = head_of,
    .put = put_cells,
    .is_part = is_part,
    .fits = fits,
    .take = take,
};
