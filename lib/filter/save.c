/* save.c - filter <-> bytes. docs/format.md draws the body of the part:
 *
 *   filter  = config shown seen registers sample planes
 *
 * Loading is total. Nothing is believed before its checksum holds; then the
 * configuration goes through the same reader and planner as a person's, and the
 * body must have exactly the length that it implies, before memory is asked
 * for. */
#include <string.h>

#include "base/text.h"
#include "filter/filter.h"
#include "format/part.h"

/* ---- writing ---- */

static uint64_t plane_size(const struct shape *s)
{
    return cells_size(s->cells, s->width);
}

static uint64_t body_size(size_t config_length, uint32_t sampled, const struct shape *s)
{
    return 4 + config_length + 16 + UINT64_C(8) * s->registers + 4 + UINT64_C(4) * sampled +
           s->planes * plane_size(s);
}

/* The room of a full sample is kept, so that the size never changes. */
static uint32_t sample_room(const struct config *c)
{
    bool used = c->ops->is.knobs & HAS(KNOB_IMPORTANCE) && importance_samples(&c->importance);

    return used ? SAMPLE_SIZE : 0;
}

static void put_body(struct part_writer *out, const weir *w, const char *config, size_t length)
{
    uint32_t room = sample_room(&w->config);

    part_put32(out, (uint32_t)length);
    part_put(out, config, length);
    part_put64(out, w->shown);
    part_put64(out, w->seen);
    for (uint32_t i = 0; i < w->shape.registers; i++)
        part_put64(out, w->reg[i]);
    part_put32(out, w->sample.n);
    for (uint32_t i = 0; i < room; i++)
        part_put32(out, i < w->sample.n ? w->sample.value[i] : 0);
    for (uint32_t i = 0; i < w->shape.planes; i++)
        part_put(out, plane(w, i).bytes, (size_t)plane_size(&w->shape));
}

enum weir_status weir_write(const weir *w, weir_sink sink, void *context)
{
    struct part_writer out;
    char config[WEIR_SENTENCE];
    size_t length = sentence_write(&filter_grammar, &w->config, config, sizeof config);

    part_begin(&out, WEIR_PART_FILTER, body_size(length, sample_room(&w->config), &w->shape), sink,
               context);
    put_body(&out, w, config, length);
    return part_end(&out);
}

size_t weir_saved_size(const weir *w)
{
    char config[WEIR_SENTENCE];
    size_t length = sentence_write(&filter_grammar, &w->config, config, sizeof config);

    return (size_t)(PART_FRAME + body_size(length, sample_room(&w->config), &w->shape));
}

size_t weir_save(const weir *w, void *buffer, size_t size)
{
    struct part_buffer out = {buffer};
    size_t needed = weir_saved_size(w);

    if (size < needed)
        return 0;
    weir_write(w, part_into_buffer, &out);
    return needed;
}

/* ---- reading ---- */

/* Everything after the configuration; its length has been checked. */
static void get_state(struct part_reader *in, weir *w, uint32_t room)
{
    w->shown = bits_load64(part_get(in, 8));
    w->seen = bits_load64(part_get(in, 8));
    for (uint32_t i = 0; i < w->shape.registers; i++)
        w->reg[i] = bits_load64(part_get(in, 8));
    w->sample.n = bits_load32(part_get(in, 4));
    for (uint32_t i = 0; i < room; i++)
        w->sample.value[i] = bits_load32(part_get(in, 4));
    for (uint32_t i = 0; i < w->shape.planes; i++) {
        uint64_t size = plane_size(&w->shape);

        memcpy(plane(w, i).bytes, part_get(in, size), (size_t)size);
    }
}

/* Arrivals have numbers: from this one on, the next would have none. */
#define SHOWN_MOST (UINT64_C(1) << 62)

static bool state_valid(const weir *w)
{
    return w->seen <= w->shown && w->shown <= SHOWN_MOST &&
           w->sample.n <= sample_room(&w->config) && sample_valid(&w->sample) &&
           (!w->ops->check || w->ops->check(w));
}

static enum weir_status load_body(weir **out, const struct weir_part *part,
                                  struct weir_error *error)
{
    struct part_reader in = {part->body, part->body_size};
    struct planned p;
    char text[WEIR_SENTENCE];

    if (!part_get_text(&in, text, sizeof text) || !sentence_restore(&filter_grammar, text, &p))
        return part_bad(error,
                        "the saved configuration is not one that this version of weir writes");
    if (part->body_size != body_size(strlen(text), sample_room(&p.config), &p.shape))
        return part_bad(error,
                        "the saved filter is not of the size that its configuration asks for");
    *out = handle_open(&p.config, &p.shape);
    if (!*out)
        return error_no_memory(error, p.config.memory / 8);
    get_state(&in, *out, sample_room(&p.config));
    if (state_valid(*out))
        return WEIR_OK;
    weir_close(*out);
    *out = NULL;
    return part_bad(error, "the saved filter is in a state that cannot be");
}

enum weir_status weir_load(weir **out, const void *data, size_t size, size_t *used,
                           struct weir_error *error)
{
    struct weir_part part;
    enum weir_status status = weir_part_read(data, size, &part, error);

    *out = NULL;
    if (status != WEIR_OK)
        return status;
    if (part.kind != WEIR_PART_FILTER)
        return part_bad(error, "this part is not a filter");
    status = load_body(out, &part, error);
    if (status == WEIR_OK && used)
        *used = part.size;
    return status;
}
