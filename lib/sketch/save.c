/* save.c - sketch <-> bytes, in the frame of part.h:
 *
 *   count-min = config total [fade] counters
 *   top       = config total [fade] floor too-long n (count error size key)* cells
 *   heavykeeper = config total arrivals, keys as top has them, buckets
 *   fade      = clock origin base begun, where counts fade
 *
 * Loading is total, as in filter/save.c: checksum, then configuration by the same
 * reader and planner as a person's, then the state, each piece looked at before
 * it is believed. */
#include <string.h>

#include "sketch/half_life.h"
#include "sketch/sketch.h"

static uint64_t body_size(const weir_sketch *s, size_t config_length)
{
    return 4 + config_length + 8 + (fades(s) ? FADE_SAVED : 0) + s->ops->state_size(s);
}

size_t weir_sketch_saved_size(const weir_sketch *s)
{
    char config[WEIR_SENTENCE];

    return (size_t)(PART_FRAME + body_size(s, sentence_write(&sketch_grammar, &s->config, config,
                                                             sizeof config)));
}

enum weir_status weir_sketch_write(const weir_sketch *s, weir_sink sink, void *context)
{
    struct part_writer out;
    char config[WEIR_SENTENCE];
    size_t length = sentence_write(&sketch_grammar, &s->config, config, sizeof config);

    part_begin(&out, s->ops->part, body_size(s, length), sink, context);
    part_put32(&out, (uint32_t)length);
    part_put(&out, config, length);
    part_put64(&out, s->total);
    if (fades(s))
        fade_put(s, &out);
    s->ops->put(s, &out);
    return part_end(&out);
}

static bool get_state(weir_sketch *s, struct part_reader *in)
{
    const uint8_t *total = part_get(in, 8);

    if (!total)
        return false;
    s->total = bits_load64(total);
    return (!fades(s) || fade_get(s, in)) && s->ops->get(s, in) && in->left == 0;
}

static enum weir_status load_body(weir_sketch **out, const struct weir_part *part,
                                  struct weir_error *error)
{
    struct part_reader in = {part->body, part->body_size};
    struct sketch_config c;
    char text[WEIR_SENTENCE];

    if (!part_get_text(&in, text, sizeof text) || !sentence_restore(&sketch_grammar, text, &c) ||
        c.ops->part != part->kind)
        return part_bad(error,
                        "the saved configuration is not one that this version of weir writes");
    if (c.ops->fixed && in.left != 8 + (c.half_life.length ? FADE_SAVED : 0) + c.bytes)
        return part_bad(error,
                        "the saved sketch is not of the size that its configuration asks for");
    *out = sketch_make(&c);
    if (!*out)
        return error_no_memory(error, c.bytes);
    if (get_state(*out, &in))
        return WEIR_OK;
    weir_sketch_close(*out);
    *out = NULL;
    return part_bad(error, "the saved sketch is in a state that cannot be");
}

enum weir_status weir_sketch_load(weir_sketch **out, const void *data, size_t size, size_t *used,
                                  struct weir_error *error)
{
    struct weir_part part;
    enum weir_status status = weir_part_read(data, size, &part, error);

    *out = NULL;
    if (status != WEIR_OK)
        return status;
    if (part.kind != WEIR_PART_COUNTS && part.kind != WEIR_PART_TOP)
        return part_bad(error, "this part is not a sketch");
    status = load_body(out, &part, error);
    if (status == WEIR_OK && used)
        *used = part.size;
    return status;
}
