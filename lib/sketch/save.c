/* save.c - sketch <-> bytes, in the frame of part.h:
 *
 *   words = total [clock origin base begun], the four where counts fade
 *   cells = count-min: counters
 *           top: floor too-long n (count error size key)* cells
 *           heavykeeper: arrivals, keys as top has them, buckets
 *
 * Loading is total, as in filter/save.c: checksums, then configuration by the same
 * reader and planner as a person's, then the state, each piece looked at before
 * it is believed. */
#include <string.h>

#include "spec/caller_struct.h"
#include "sketch/half_life.h"
#include "sketch/sketch.h"

static void head_of(const weir_sketch *s, char spec[WEIR_SPEC_MAX], struct part_head *h)
{
    size_t length = spec_write(&sketch_grammar, &s->config, spec, WEIR_SPEC_MAX);

    *h = (struct part_head){.kind = s->ops->part,
                            .shards = 1,
                            .spec = spec,
                            .length = (uint32_t)length,
                            .cells = s->ops->state_size(s)};
    part_word(h, s->total);
    if (fades(s))
        fade_put(s, h);
}

static void put_cells(const void *what, struct part_writer *out)
{
    const weir_sketch *s = what;

    s->ops->put(s, out);
}

size_t weir_sketch_saved_size(const weir_sketch *s)
{
    struct part_head h;
    char spec[WEIR_SPEC_MAX];

    head_of(s, spec, &h);
    return (size_t)part_size(&h);
}

enum weir_status weir_sketch_save_stream(const weir_sketch *s, weir_sink sink, void *context,
                                         struct weir_error *error)
{
    struct part_head h;
    char spec[WEIR_SPEC_MAX];

    head_of(s, spec, &h);
    return part_write(&h, put_cells, s, sink, context, error);
}

size_t weir_sketch_save_buffer(const weir_sketch *s, void *buffer, size_t size,
                               struct weir_error *error)
{
    struct part_buffer out = {buffer};
    size_t needed = weir_sketch_saved_size(s);

    if (!part_fits(needed, size, error) ||
        weir_sketch_save_stream(s, part_into_buffer, &out, error) != WEIR_OK)
        return 0;
    return needed;
}

/* ---- reading ---- */

static bool take_state(weir_sketch *s, const struct part_head *h, struct part_reader *in)
{
    s->total = h->word[0];
    return (!fades(s) || fade_get(s, h->word + 1)) && s->ops->get(s, in) && in->left == 0;
}

static enum weir_status plan_saved(const struct part_head *h, struct sketch_config *c,
                                   struct weir_error *error)
{
    char text[WEIR_SPEC_MAX];

    if (h->kind != WEIR_PART_COUNTS && h->kind != WEIR_PART_TOP)
        return part_bad(error, WEIR_ERROR_WRONG_KIND, "this part is not a sketch");
    if (!part_spec(h, text) || !spec_restore(&sketch_grammar, text, c) || c->ops->part != h->kind)
        return part_bad(error, WEIR_ERROR_BAD_DATA,
                        "the saved configuration is not one that this version of weir writes");
    if (h->words != 1 + (c->half_life.length ? FADE_WORDS : 0) ||
        (c->ops->fixed ? h->cells != c->bytes : h->cells > c->bytes))
        return part_bad(error, WEIR_ERROR_CONTRADICTORY,
                        "the saved sketch is not of the size that its configuration asks for");
    return WEIR_OK;
}

/* The state of a sketch that was made for it. */
static enum weir_status take_cells(weir_sketch *s, const struct part_head *h, const uint8_t *cells,
                                   struct weir_error *error)
{
    struct part_reader in = {cells, (size_t)h->cells};

    if (take_state(s, h, &in))
        return WEIR_OK;
    return part_bad(error, WEIR_ERROR_CONTRADICTORY,
                    "the saved sketch is in a state that cannot be");
}

/* Cells of a fixed size are the counters, and go to their place; others are read first
 * and then taken apart. */
static enum weir_status take_input(weir_sketch *s, const struct part_head *h, struct part_input in,
                                   const struct memory *memory, struct weir_error *error)
{
    void *allocation = NULL;
    uint8_t *cells = s->ops->fixed ? s->data : memory_open(memory, h->cells, &allocation);

    if (!cells)
        return sketch_no_memory(&s->config, memory, error);
    enum weir_status status = part_input_cells(in, h, cells, error);
    if (status == WEIR_OK)
        status = take_cells(s, h, cells, error);
    if (allocation)
        memory_close(memory, allocation);
    return status;
}

/* An empty one for what a head says. */
static enum weir_status make_saved(weir_sketch **out, const struct part_head *h,
                                   const struct memory *memory, struct weir_error *error)
{
    struct sketch_config c;
    enum weir_status status = part_is_whole(h, error);

    if (status == WEIR_OK)
        status = plan_saved(h, &c, error);
    if (status != WEIR_OK)
        return status;
    *out = sketch_make(&c, memory);
    return *out ? WEIR_OK : sketch_no_memory(&c, memory, error);
}

static enum weir_status finish(weir_sketch **out, enum weir_status status)
{
    if (status == WEIR_OK)
        return status;
    weir_sketch_close(*out);
    *out = NULL;
    return status;
}

enum weir_status weir_sketch_load_buffer(weir_sketch **out, const void *data, size_t size,
                                         size_t *used, const struct weir_options *options,
                                         struct weir_error *error)
{
    struct part_head h;
    struct memory memory;
    enum weir_status status = caller_memory(options, &memory, error);

    *out = NULL;
    if (status == WEIR_OK)
        status = part_find_sound(data, size, &h, error);
    if (status == WEIR_OK)
        status = make_saved(out, &h, &memory, error);
    if (status == WEIR_OK)
        status = take_cells(*out, &h, (const uint8_t *)data + part_head_size(&h), error);
    if (status == WEIR_OK && used)
        *used = (size_t)part_size(&h);
    return finish(out, status);
}

enum weir_status weir_sketch_load_stream(weir_sketch **out, weir_source source, void *context,
                                         const struct weir_options *options,
                                         struct weir_error *error)
{
    struct part_input in = {source, context};
    uint8_t head[PART_HEAD_MOST];
    struct part_head h;
    struct memory memory;
    enum weir_status status = caller_memory(options, &memory, error);

    *out = NULL;
    if (status == WEIR_OK)
        status = part_input_head(in, head, &h, error);
    if (status == WEIR_OK)
        status = make_saved(out, &h, &memory, error);
    if (status == WEIR_OK)
        status = take_input(*out, &h, in, &memory, error);
    return finish(out, status);
}
