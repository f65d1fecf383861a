/* api.c - the public calls of weir/screen.h. What checks keys is in check_batch.c,
 * what saves in save.c. One allocation each:
 *
 *   [struct weir_screen | struct scratch | pad][area 0 | pad][area 1 | pad] ... [a line] */
#include "screen/screen.h"

#include <string.h>

#include "base/hand_out.h"
#include "base/memory.h"

/* ---- open and close ---- */

#define HEAD_BYTES memory_lines(sizeof(weir_screen) + sizeof(struct scratch))

/* A line follows the last area: cells are read some bytes at a time. */
static uint64_t block_bytes(const struct screen_shape *shape)
{
    return HEAD_BYTES + screen_shape_bytes(shape) + CACHE_LINE;
}

enum weir_status screen_no_memory(const void *config, const struct memory *memory,
                                  struct weir_error *error)
{
    const struct screen_config *c = config;

    return error_no_memory(error, c->memory / 8, memory_taken(block_bytes(&c->shape)), memory);
}

struct handle *screen_make(const void *config, const struct memory *memory, bool sparse)
{
    const struct screen_config *c = config;
    const struct screen_shape *shape = &c->shape;
    void *allocation;
    weir_screen *s = memory_open(memory, block_bytes(shape), &allocation);

    (void)sparse;
    if (!s)
        return NULL;
    s->handle = (struct handle){&screen_kind, allocation, (size_t)memory_taken(block_bytes(shape)),
                                *memory};
    s->ops = c->ops;
    s->config = *c;
    s->scratch = (struct scratch *)(s + 1);
    uint8_t *at = (uint8_t *)s + HEAD_BYTES;
    for (uint32_t i = 0; i < shape->areas; at += screen_area_bytes(shape, i++))
        s->area[i] = (struct cells){at, shape->area[i].cells, (uint32_t)shape->area[i].width};
    return &s->handle;
}

enum weir_status weir_screen_open_with(weir_screen **out, const char *config,
                                       const struct weir_options *options, struct weir_error *error)
{
    struct screen_config c;
    struct handle_request r = {&screen_kind, &c, options, NULL};
    enum weir_status status = handle_make(&r, config, error);

    *out = (weir_screen *)r.made;
    return status;
}

enum weir_status weir_screen_open(weir_screen **out, const char *config, struct weir_error *error)
{
    return weir_screen_open_with(out, config, NULL, error);
}

void weir_screen_close(weir_screen *s)
{
    handle_close((struct handle *)s);
}

static uint64_t cell_bytes(const weir_screen *s)
{
    return screen_shape_bytes(&s->config.shape);
}

weir_screen *weir_screen_clone(const weir_screen *s, struct weir_error *error)
{
    weir_screen *twin = (weir_screen *)screen_make(&s->config, &s->handle.memory, false);

    if (!twin) {
        screen_no_memory(&s->config, &s->handle.memory, error);
        return NULL;
    }
    twin->count = s->count;
    twin->now = s->now;
    if (cell_bytes(s) > 0)
        memory_copy(twin->area[0].bytes, s->area[0].bytes, cell_bytes(s));
    return twin;
}

void weir_screen_clear(weir_screen *s)
{
    s->count = (struct screen_counts){0};
    s->now = 0;
    s->lent = NULL;
    if (cell_bytes(s) > 0)
        memset(s->area[0].bytes, 0, (size_t)cell_bytes(s));
}

enum weir_status weir_screen_merge(weir_screen *into, const weir_screen *from,
                                   struct weir_error *error)
{
    const char *why = into->ops->unmergeable ? into->ops->unmergeable(&into->config) : NULL;
    char a[64], b[64];

    if (why)
        return error_say(error, WEIR_ERROR_UNSUPPORTED, why, NULL);
    if (into->lent || from->lent)
        return error_say(error, WEIR_ERROR_UNSUPPORTED,
                         "a set that is lent to a screen is not merged", NULL);
    if (spec_differ(&screen_grammar, &into->config, &from->config, a, b))
        return error_say(error, spec_mismatch(a), "the screens differ: ", a, " and ", b,
                         "; only screens of one configuration and seed can be merged", NULL);
    for (uint32_t i = 0; i < into->config.shape.areas; i++)
        cells_raise_all(&into->area[i], &from->area[i]);
    into->count.checked += from->count.checked;
    into->count.asked += from->count.asked;
    into->count.unanswered += from->count.unanswered;
    into->count.members += from->count.members;
    into->count.learned += from->count.learned;
    return WEIR_OK;
}

/* ---- time ---- */

/* A verdict is swept away at the next turn of its part of the memory, which comes round within a
 * span: none is older, and time passes in steps, so that most batches are of one of them. */
void weir_screen_advance(weir_screen *s, uint64_t now)
{
    uint64_t step = s->config.span / SPAN_STEPS;

    if (!s->config.span || now <= s->now)
        return;
    uint64_t from = s->now ? s->now / step : now / step, steps = now / step - from;
    for (uint64_t i = 1; i <= steps && i <= SPAN_STEPS; i++)
        s->ops->sweep(s, from + i);
    s->now = now;
}

/* ---- what it knows of itself ---- */

void weir_screen_measure(const weir_screen *s, struct weir_screen_stats *out, size_t size)
{
    struct weir_screen_stats stats = {
        .bytes = s->handle.bytes,
        .checked = s->count.checked,
        .asked = s->count.asked,
        .saved = s->count.checked - s->count.asked - s->count.unanswered,
        .unanswered = s->count.unanswered,
        .members = s->count.members,
        .fill = s->ops->fill ? s->ops->fill(s) : 0,
        .error = s->ops->error ? s->ops->error(s) : 0,
    };

    for (uint32_t i = 0; i < s->config.shape.areas; i++)
        stats.memory += cells_size(s->area[i].n, s->area[i].width);
    hand_out(out, size, &stats, sizeof stats);
}

size_t weir_screen_config(const weir_screen *s, char *buffer, size_t size)
{
    return spec_write(&screen_grammar, &s->config, buffer, size);
}
