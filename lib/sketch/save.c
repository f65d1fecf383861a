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

#include "sentence/given.h"
#include "sketch/half_life.h"
#include "sketch/sketch.h"

static void head_of(const weir_sketch *s, char sentence[WEIR_SENTENCE], struct part_head *h)
{
    size_t length = sentence_write(&sketch_grammar, &s->config, sentence, WEIR_SENTENCE);

    *h = (struct part_head){.kind = s->ops->part,
                            .shards = 1,
                            .sentence = sentence,
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
    char sentence[WEIR_SENTENCE];

    head_of(s, sentence, &h);
    return (size_t)part_size(&h);
}

enum weir_status weir_sketch_write(const weir_sketch *s, weir_sink sink, void *context)
{
    struct part_head h;
    char sentence[WEIR_SENTENCE];

    head_of(s, sentence, &h);
    return part_write(&h, put_cells, s, sink, context);
}

static bool take_state(weir_sketch *s, const struct part_head *h, struct part_reader *in)
{
    s->total = h->word[0];
    return (!fades(s) || fade_get(s, h->word + 1)) && s->ops->get(s, in) && in->left == 0;
}

static enum weir_status plan_saved(const struct part_head *h, struct sketch_config *c,
                                   struct weir_error *error)
{
    char text[WEIR_SENTENCE];

    if (h->kind != WEIR_PART_COUNTS && h->kind != WEIR_PART_TOP)
        return part_bad(error, "this part is not a sketch");
    if (!part_sentence(h, text) || !sentence_restore(&sketch_grammar, text, c) ||
        c->ops->part != h->kind)
        return part_bad(error,
                        "the saved configuration is not one that this version of weir writes");
    if (h->words != 1 + (c->half_life.length ? FADE_WORDS : 0) ||
        (c->ops->fixed && h->cells != c->bytes))
        return part_bad(error,
                        "the saved sketch is not of the size that its configuration asks for");
    return WEIR_OK;
}

static enum weir_status load_part(weir_sketch **out, const uint8_t *data, const struct part_head *h,
                                  const struct memory *memory, struct weir_error *error)
{
    struct part_reader in = {data + part_head_size(h), (size_t)h->cells};
    struct sketch_config c;
    enum weir_status status = plan_saved(h, &c, error);

    if (status != WEIR_OK)
        return status;
    *out = sketch_make(&c, memory);
    if (!*out)
        return sketch_no_memory(&c, memory, error);
    if (take_state(*out, h, &in))
        return WEIR_OK;
    weir_sketch_close(*out);
    *out = NULL;
    return part_bad(error, "the saved sketch is in a state that cannot be");
}

enum weir_status weir_sketch_load_with(weir_sketch **out, const void *data, size_t size,
                                       size_t *used, const struct weir_options *options,
                                       struct weir_error *error)
{
    struct part_head h;
    struct memory memory;
    enum weir_status status = given_memory(options, &memory, error);

    *out = NULL;
    if (status == WEIR_OK)
        status = part_find_sound(data, size, &h, error);
    if (status == WEIR_OK)
        status = part_is_whole(&h, error);
    if (status == WEIR_OK)
        status = load_part(out, data, &h, &memory, error);
    if (status == WEIR_OK && used)
        *used = (size_t)part_size(&h);
    return status;
}

enum weir_status weir_sketch_load(weir_sketch **out, const void *data, size_t size, size_t *used,
                                  struct weir_error *error)
{
    return weir_sketch_load_with(out, data, size, used, NULL, error);
}
