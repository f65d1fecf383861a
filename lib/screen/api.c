/* api.c - the public calls of weir/screen.h. What checks keys is in check_batch.c,
 * what saves in save.c. One allocation each:
 *
 *   [struct weir_screen | struct scratch | pad][area 0 | pad][area 1 | pad] ... [a line] */
#include "screen/screen.h"

#include "base/hand_out.h"
#include "base/memory.h"

/* ---- open and close ---- */

weir_screen *screen_make(const struct screen_config *c)
{
    const struct screen_shape *shape = &c->shape;
    uint64_t head = memory_lines(sizeof(weir_screen) + sizeof(struct scratch));
    uint64_t bytes = head + screen_shape_bytes(shape) + CACHE_LINE; /* read beyond the last cell */
    void *allocation;
    weir_screen *s = memory_open(bytes, &allocation);
    if (!s)
        return NULL;
    s->ops = c->ops;
    s->config = *c;
    s->allocation = allocation;
    s->bytes = bytes;
    s->scratch = (struct scratch *)(s + 1);
    uint8_t *at = (uint8_t *)s + head;
    for (uint32_t i = 0; i < shape->areas; at += screen_area_bytes(shape, i++))
        s->area[i] = (struct cells){at, shape->area[i].cells, (uint32_t)shape->area[i].width};
    return s;
}

enum weir_status weir_screen_open(weir_screen **out, const char *config, struct weir_error *error)
{
    struct screen_config c;
    enum weir_status status = sentence_complete(&screen_grammar, config, &c, error);

    *out = status == WEIR_OK ? screen_make(&c) : NULL;
    if (status != WEIR_OK)
        return status;
    return *out ? WEIR_OK : error_no_memory(error, c.memory / 8);
}

void weir_screen_close(weir_screen *s)
{
    if (s)
        memory_close(s->allocation);
}

/* ---- what it knows of itself ---- */

void weir_screen_measure(const weir_screen *s, struct weir_screen_stats *out, size_t size)
{
    struct weir_screen_stats stats = {
        .bytes = s->bytes,
        .checked = s->checked,
        .asked = s->asked,
        .saved = s->checked - s->asked - s->unanswered,
        .unanswered = s->unanswered,
        .members = s->members,
        .fill = s->ops->fill ? s->ops->fill(s) : 0,
        .error = s->ops->error ? s->ops->error(s) : 0,
    };

    for (uint32_t i = 0; i < s->config.shape.areas; i++)
        stats.memory += cells_size(s->area[i].n, s->area[i].width);
    hand_out(out, size, &stats, sizeof stats);
}

size_t weir_screen_config(const weir_screen *s, char *buffer, size_t size)
{
    return sentence_write(&screen_grammar, &s->config, buffer, size);
}
