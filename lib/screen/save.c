/* save.c - screen <-> bytes, in the frame of part.h:
 *
 *   words = checked asked unanswered members learned, with span= the time too
 *   cells = area 0, area 1 ... as they lie in memory, each padded to whole lines
 *
 * Loading is total, as in filter/save.c: the head with all that follows from it, then
 * memory, then the cells and their sums, then the state, looked at before it is
 * believed. */
#include <string.h>

#include "screen/screen.h"
#include "spec/caller_struct.h"

#define COUNTERS 5
#define CHECKED_MOST (UINT64_C(1) << 62)

static uint64_t at_most(uint64_t n, uint64_t most)
{
    return n < most ? n : most;
}

static void head_of(const weir_screen *s, char spec[WEIR_SPEC_MAX], struct part_head *h)
{
    /* In a file counters stop at the limit: a screen that was loaded with them can be saved. */
    uint64_t checked = at_most(s->count.checked, CHECKED_MOST);
    uint64_t unanswered = at_most(s->count.unanswered, checked), records = checked - unanswered;
    const uint64_t counters[COUNTERS] = {checked, at_most(s->count.asked, records), unanswered,
                                         at_most(s->count.members, records),
                                         at_most(s->count.learned, CHECKED_MOST)};
    size_t length = spec_write(&screen_grammar, &s->config, spec, WEIR_SPEC_MAX);

    *h = (struct part_head){.kind = WEIR_PART_SCREEN,
                            .shards = 1,
                            .spec = spec,
                            .length = (uint32_t)length,
                            .cells = screen_shape_bytes(&s->config.shape)};
    for (int i = 0; i < COUNTERS; i++)
        part_word(h, counters[i]);
    if (s->config.span)
        part_word(h, s->now);
}

static void put_cells(const void *what, struct part_writer *out)
{
    const weir_screen *s = what;
    uint64_t bytes = screen_shape_bytes(&s->config.shape);

    if (bytes > 0)
        part_put(out, s->area[0].bytes, (size_t)bytes);
}

size_t weir_screen_saved_size(const weir_screen *s)
{
    struct part_head h;
    char spec[WEIR_SPEC_MAX];

    head_of(s, spec, &h);
    return (size_t)part_size(&h);
}

enum weir_status weir_screen_save_stream(const weir_screen *s, weir_sink sink, void *context,
                                         struct weir_error *error)
{
    struct part_head h;
    char spec[WEIR_SPEC_MAX];

    head_of(s, spec, &h);
    return part_write(&h, put_cells, s, sink, context, error);
}

size_t weir_screen_save_buffer(const weir_screen *s, void *buffer, size_t size,
                               struct weir_error *error)
{
    struct part_buffer out = {buffer};
    size_t needed = weir_screen_saved_size(s);

    if (!part_fits(needed, size, error) ||
        weir_screen_save_stream(s, part_into_buffer, &out, error) != WEIR_OK)
        return 0;
    return needed;
}

/* ---- reading ---- */

static void take_words(weir_screen *s, const struct part_head *h)
{
    uint64_t *const counters[COUNTERS] = {&s->count.checked, &s->count.asked, &s->count.unanswered,
                                          &s->count.members, &s->count.learned};

    for (int i = 0; i < COUNTERS; i++)
        *counters[i] = h->word[i];
    s->now = s->config.span ? h->word[COUNTERS] : 0;
}

/* Behind the last cell of each area there is nothing. */
static bool gaps_empty(const weir_screen *s)
{
    for (uint32_t i = 0; i < s->config.shape.areas; i++) {
        const struct cells *area = &s->area[i];

        for (uint64_t at = cells_size(area->n, area->width);
             at < screen_area_bytes(&s->config.shape, i); at++)
            if (area->bytes[at])
                return false;
    }
    return true;
}

static bool is_possible(const weir_screen *s)
{
    return s->count.checked <= CHECKED_MOST && s->count.unanswered <= s->count.checked &&
           s->count.asked <= screen_records(s) && s->count.members <= screen_records(s) &&
           s->count.learned <= CHECKED_MOST && (screen_holds_set(s) || s->count.learned == 0) &&
           gaps_empty(s) && (!s->ops->check || s->ops->check(s));
}

static enum weir_status plan_saved(const struct part_head *h, struct screen_config *c,
                                   struct weir_error *error)
{
    char text[WEIR_SPEC_MAX];

    if (h->kind != WEIR_PART_SCREEN)
        return part_bad(error, WEIR_ERROR_WRONG_KIND, "this part is not a screen");
    if (!part_spec(h, text) || !spec_restore(&screen_grammar, text, c))
        return part_bad(error, WEIR_ERROR_BAD_DATA,
                        "the saved configuration is not one that this version of weir writes");
    if (h->words != COUNTERS + (c->span > 0) || h->cells != screen_shape_bytes(&c->shape))
        return part_bad(error, WEIR_ERROR_CONTRADICTORY,
                        "the saved screen is not of the size that its configuration asks for");
    return WEIR_OK;
}

static enum weir_status load_part(weir_screen **out, const struct part_head *h,
                                  struct part_input in, const struct memory *memory,
                                  struct weir_error *error)
{
    struct screen_config c;
    enum weir_status status = part_is_whole(h, error);

    if (status == WEIR_OK)
        status = plan_saved(h, &c, error);
    if (status != WEIR_OK)
        return status;
    weir_screen *s = screen_make(&c, memory);
    if (!s)
        return screen_no_memory(&c, memory, error);
    take_words(s, h);
    status = part_input_cells(in, h, s->area[0].bytes, error);
    if (status == WEIR_OK && !is_possible(s))
        status = part_bad(error, WEIR_ERROR_CONTRADICTORY,
                          "the saved screen is in a state that cannot be");
    if (status == WEIR_OK)
        *out = s;
    else
        weir_screen_close(s);
    return status;
}

enum weir_status weir_screen_load_buffer(weir_screen **out, const void *data, size_t size,
                                         size_t *used, const struct weir_options *options,
                                         struct weir_error *error)
{
    struct part_memory rest;
    struct part_head h;
    struct memory memory;
    enum weir_status status = caller_memory(options, &memory, error);

    *out = NULL;
    if (status == WEIR_OK)
        status = part_find(data, size, &h, error);
    if (status == WEIR_OK) {
        rest.at = (const uint8_t *)data + part_head_size(&h);
        status = load_part(out, &h, (struct part_input){part_from_memory, &rest}, &memory, error);
    }
    if (status == WEIR_OK && used)
        *used = (size_t)part_size(&h);
    return status;
}

enum weir_status weir_screen_load_stream(weir_screen **out, weir_source source, void *context,
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
    return status == WEIR_OK ? load_part(out, &h, in, &memory, error) : status;
}
