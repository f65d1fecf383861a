/* save.c - screen <-> bytes, in the frame of part.h:
 *
 *   screen = config checked asked unanswered members learned cells*
 *
 * Loading is total, as in filter/save.c: checksum, then configuration by the same
 * reader and planner as a person's, then the length that it implies, then the
 * state, looked at before it is believed. */
#include <string.h>

#include "screen/screen.h"

#define COUNTERS 5
#define CHECKED_MOST (UINT64_C(1) << 62)

static uint64_t cells_of(const struct screen_shape *shape, uint32_t i)
{
    return cells_size(shape->area[i].cells, (uint32_t)shape->area[i].width);
}

static uint64_t body_size(const struct screen_shape *shape, size_t config_length)
{
    uint64_t size = 4 + config_length + 8 * COUNTERS;

    for (uint32_t i = 0; i < shape->areas; i++)
        size += cells_of(shape, i);
    return size;
}

size_t weir_screen_saved_size(const weir_screen *s)
{
    char config[WEIR_SENTENCE];

    return (size_t)(PART_FRAME +
                    body_size(&s->config.shape,
                              sentence_write(&screen_grammar, &s->config, config, sizeof config)));
}

enum weir_status weir_screen_write(const weir_screen *s, weir_sink sink, void *context)
{
    const uint64_t counters[COUNTERS] = {s->checked, s->asked, s->unanswered, s->members,
                                         s->learned};
    struct part_writer out;
    char config[WEIR_SENTENCE];
    size_t length = sentence_write(&screen_grammar, &s->config, config, sizeof config);

    part_begin(&out, WEIR_PART_SCREEN, body_size(&s->config.shape, length), sink, context);
    part_put32(&out, (uint32_t)length);
    part_put(&out, config, length);
    for (int i = 0; i < COUNTERS; i++)
        part_put64(&out, counters[i]);
    for (uint32_t i = 0; i < s->config.shape.areas; i++)
        part_put(&out, s->area[i].bytes, (size_t)cells_of(&s->config.shape, i));
    return part_end(&out);
}

/* Everything after the configuration; its length has been checked. */
static bool get_state(weir_screen *s, struct part_reader *in)
{
    uint64_t *const counters[COUNTERS] = {&s->checked, &s->asked, &s->unanswered, &s->members,
                                          &s->learned};

    for (int i = 0; i < COUNTERS; i++)
        *counters[i] = bits_load64(part_get(in, 8));
    for (uint32_t i = 0; i < s->config.shape.areas; i++) {
        uint64_t size = cells_of(&s->config.shape, i);

        memcpy(s->area[i].bytes, part_get(in, size), (size_t)size);
    }
    return s->checked <= CHECKED_MOST && s->unanswered <= s->checked &&
           s->asked <= screen_records(s) && s->members <= screen_records(s) &&
           s->learned <= CHECKED_MOST && (screen_holds_set(s) || s->learned == 0) &&
           (!s->ops->check || s->ops->check(s));
}

static enum weir_status load_body(weir_screen **out, const struct weir_part *part,
                                  struct weir_error *error)
{
    struct part_reader in = {part->body, part->body_size};
    struct screen_config c;
    char text[WEIR_SENTENCE];

    if (!part_get_text(&in, text, sizeof text) || !sentence_restore(&screen_grammar, text, &c))
        return part_bad(error,
                        "the saved configuration is not one that this version of weir writes");
    if (part->body_size != body_size(&c.shape, strlen(text)))
        return part_bad(error,
                        "the saved screen is not of the size that its configuration asks for");
    *out = screen_make(&c);
    if (!*out)
        return error_no_memory(error, c.memory / 8);
    if (get_state(*out, &in))
        return WEIR_OK;
    weir_screen_close(*out);
    *out = NULL;
    return part_bad(error, "the saved screen is in a state that cannot be");
}

enum weir_status weir_screen_load(weir_screen **out, const void *data, size_t size, size_t *used,
                                  struct weir_error *error)
{
    struct weir_part part;
    enum weir_status status = weir_part_read(data, size, &part, error);

    *out = NULL;
    if (status != WEIR_OK)
        return status;
    if (part.kind != WEIR_PART_SCREEN)
        return part_bad(error, "this part is not a screen");
    status = load_body(out, &part, error);
    if (status == WEIR_OK && used)
        *used = part.size;
    return status;
}
