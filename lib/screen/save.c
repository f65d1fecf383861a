/* save.c - screen <-> bytes, in the frame of part.h:
 *
 *   words = checked asked unanswered members learned, with span= the time too
 *   cells = area 0, area 1 ... as they lie in memory, each padded to whole lines
 *
 * format/handle.c saves and loads. */
#include "screen/screen.h"

#define COUNTERS 5
#define CHECKED_MOST (UINT64_C(1) << 62)

static uint64_t at_most(uint64_t n, uint64_t most)
{
    return n < most ? n : most;
}

static void head_of(const struct handle *handle, struct part_head *h)
{
    /* In a file counters stop at the limit: a screen that was loaded with them can be saved. */
    const weir_screen *s = (const weir_screen *)handle;
    uint64_t checked = at_most(s->count.checked, CHECKED_MOST);
    uint64_t unanswered = at_most(s->count.unanswered, checked), records = checked - unanswered;
    const uint64_t counters[COUNTERS] = {checked, at_most(s->count.asked, records), unanswered,
                                         at_most(s->count.members, records),
                                         at_most(s->count.learned, CHECKED_MOST)};

    h->kind = WEIR_PART_SCREEN;
    h->cells = screen_shape_bytes(&s->config.shape);
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
    return handle_saved_size(&s->handle);
}

enum weir_status weir_screen_save_stream(const weir_screen *s, weir_sink sink, void *context,
                                         struct weir_error *error)
{
    return handle_save(&s->handle, 0, 1, sink, context, error);
}

size_t weir_screen_save_buffer(const weir_screen *s, void *buffer, size_t size,
                               struct weir_error *error)
{
    return handle_save_buffer(&s->handle, buffer, size, error);
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

static bool fits(const void *config, const struct part_head *h)
{
    const struct screen_config *c = config;

    return h->words == COUNTERS + (c->span > 0) && h->cells == screen_shape_bytes(&c->shape);
}

static enum weir_status take(struct handle *handle, const struct part_head *h, struct part_input in,
                             struct weir_error *error)
{
    weir_screen *s = (weir_screen *)handle;

    take_words(s, h);
    enum weir_status status = part_input_cells(in, h, s->area[0].bytes, error);
    return status == WEIR_OK && !is_possible(s) ? handle_impossible(&screen_kind, error) : status;
}

enum weir_status weir_screen_load_buffer(weir_screen **out, const void *data, size_t size,
                                         size_t *used, const struct weir_options *options,
                                         struct weir_error *error)
{
    struct screen_config c;
    struct handle_request r = {&screen_kind, &c, options, NULL};
    enum weir_status status = handle_load_buffer(&r, (struct weir_bytes){data, size}, used, error);

    *out = (weir_screen *)r.made;
    return status;
}

enum weir_status weir_screen_load_stream(weir_screen **out, weir_source source, void *context,
                                         const struct weir_options *options,
                                         struct weir_error *error)
{
    struct screen_config c;
    struct handle_request r = {&screen_kind, &c, options, NULL};
    enum weir_status status = handle_load_stream(&r, (struct part_input){source, context}, error);

    *out = (weir_screen *)r.made;
    return status;
}

const struct handle_kind screen_kind = {
    .grammar = &screen_grammar,
    .parts = {WEIR_PART_SCREEN, WEIR_PART_SCREEN},
    .record = offsetof(weir_screen, config),
    .make = screen_make,
    .no_memory = screen_no_memory,
    .head = head_of,
    .put = put_cells,
    .fits = fits,
    .take = take,
};
