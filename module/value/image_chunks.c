/* image_chunks.c - an image in chunks for clients. */
#include <string.h>

#include "value/image.h"

struct window {
    uint64_t skip;
    uint8_t *data;
    size_t size, filled;
};

static bool window_sink(void *context, const void *data, size_t size)
{
    struct window *w = context;
    const uint8_t *from = data;

    if (size <= w->skip) {
        w->skip -= size;
        return true;
    }
    from += w->skip;
    size -= w->skip;
    w->skip = 0;
    size_t n = w->size - w->filled < size ? w->size - w->filled : size;
    memcpy(w->data + w->filled, from, n);
    w->filled += n;
    return w->filled < w->size;
}

size_t image_chunk(const struct value *v, uint64_t offset, size_t size, uint8_t **data)
{
    struct window w = {.skip = offset, .size = size, .data = rm.TryAlloc(size)};

    *data = w.data;
    if (w.data)
        v->family->write(v, window_sink, &w);
    return w.filled;
}

static bool count_sink(void *context, const void *data, size_t size)
{
    (void)data;
    *(uint64_t *)context += size;
    return true;
}

bool image_passes(weir_sink sink, void *context, uint64_t size)
{
    struct window *w = context;

    if (sink == count_sink)
        return count_sink(context, NULL, size);
    if (sink != window_sink || w->skip < size)
        return false;
    w->skip -= size;
    return true;
}

uint64_t image_size(const struct value *v)
{
    uint64_t size = 0;

    v->family->write(v, count_sink, &size);
    return size;
}
