/* image.c - see image.h: images from pieces, chunks of images, bodies of parts. */
#include "value/image.h"
#include "server/server.h"
#include "value/job.h"

#include <stdio.h>
#include <string.h>

/* ---- reading ---- */

static size_t take_head(struct image_in *in, uint8_t *to, size_t size)
{
    size_t n = in->head_left < size ? in->head_left : size;

    memcpy(to, in->head + sizeof in->head - in->head_left, n);
    in->head_left -= n;
    return n;
}

bool image_get(void *from, void *data, size_t size)
{
    struct image_in *in = from;
    uint8_t *to = data;
    size_t got = take_head(in, to, size);

    while (got < size) {
        if (in->size == 0 && !in->next(in))
            return false;
        size_t n = in->size < size - got ? in->size : size - got;
        memcpy(to + got, in->data, n);
        in->data += n;
        in->size -= n;
        got += n;
    }
    return true;
}

uint32_t image_kind(struct image_in *in)
{
    if (in->head_left == 0) {
        while (in->size == 0)
            if (!in->next(in))
                return in->failed ? UINT32_MAX : 0;
        if (!image_get(in, in->head, sizeof in->head)) {
            in->failed = true; /* also in the next call */
            return UINT32_MAX;
        }
        in->head_left = sizeof in->head;
    }
    return memcmp(in->head, "WEIR", 4) == 0 ? (uint32_t)load_number(in->head + 6, 2) : UINT32_MAX;
}

uint32_t image_shards(const struct image_in *in)
{
    return (uint32_t)load_number(in->head + 36, 4);
}

void image_refuse(struct weir_error *error, const char *text)
{
    error->status = WEIR_BAD_DATA;
    error->code = WEIR_ERROR_BAD_DATA;
    snprintf(error->text, sizeof error->text, "%s", text);
}

void image_no_memory(struct weir_error *error)
{
    image_refuse(error, "not enough memory, or larger than LARGEST allows");
    error->status = WEIR_NO_MEMORY;
}

/* The length in a head may be forged, so memory is allocated as bytes arrive, at most twice as much
 * as has arrived. */
void *image_part(struct image_in *in, struct weir_part *part, struct weir_error *error)
{
    uint64_t length = load_number(in->head + 8, 8);
    uint64_t room = length < PIECE ? length : PIECE, got = 0;
    uint8_t *data = NULL;

    image_refuse(error, "the data is truncated");
    if (in->head_left != sizeof in->head || length < sizeof in->head)
        return NULL;
    while (got < length) {
        uint64_t next = got == 0 ? room : got < length - got ? 2 * got : length;
        uint8_t *more = (in->most > 0 && next > 2 * in->most) ? NULL : server_take(next);

        if (!more)
            image_no_memory(error);
        if (more && data)
            memcpy(more, data, got);
        server_give(data);
        data = more;
        if (!data || !image_get(in, data + got, next - got)) {
            server_give(data);
            return NULL;
        }
        got = next;
    }
    if (weir_part_read(data, length, part, sizeof *part, error) == WEIR_OK)
        return data;
    server_give(data);
    return NULL;
}

void *image_head(struct image_in *in, uint32_t kind, struct weir_bytes *body,
                 struct weir_error *error)
{
    struct weir_part part;
    void *data = image_kind(in) == kind ? image_part(in, &part, error) : NULL;

    if (data)
        *body = (struct weir_bytes){part.body, part.body_size};
    return data;
}

/* Bytes after a value make an image invalid. */
static bool at_end(struct image_in *in)
{
    return in->head_left == 0 && in->size == 0 && !in->next(in) && !in->failed;
}

struct value *image_read(const struct family *family, struct image_in *in, struct weir_error *error)
{
    struct value *v = family->read(family, in, error);

    if (!v || at_end(in))
        return v;
    image_refuse(error, "unexpected bytes after the data");
    family->free(v);
    return NULL;
}

/* ---- chunks for clients ---- */

struct window {
    uint64_t skip;
    struct image_chunk *chunk;
    bool quick, slow; /* slow: it would have read a whole large filter */
};

static bool window_sink(void *context, const void *data, size_t size)
{
    struct window *w = context;
    struct image_chunk *c = w->chunk;
    const uint8_t *from = data;

    if (size <= w->skip) {
        w->skip -= size;
        return true;
    }
    from += w->skip;
    size -= w->skip;
    w->skip = 0;
    size_t n = c->size - c->filled < size ? c->size - c->filled : size;
    memcpy(c->data + c->filled, from, n);
    c->filled += n;
    return c->filled < c->size;
}

bool image_fill(const struct value *v, struct image_chunk *chunk, bool quick)
{
    struct window w = {.skip = chunk->offset, .chunk = chunk, .quick = quick};

    chunk->filled = 0;
    chunk->data = rm.TryAlloc(chunk->size);
    if (chunk->data)
        v->family->write(v, window_sink, &w);
    if (!w.slow)
        return true;
    server_give(chunk->data);
    chunk->data = NULL;
    chunk->filled = 0;
    return false;
}

static bool count_sink(void *context, const void *data, size_t size)
{
    *(uint64_t *)context += size;
    return true;
}

bool image_passes(weir_sink sink, void *context, uint64_t size)
{
    struct window *w = context;

    if (sink == count_sink)
        return count_sink(context, NULL, size);
    if (sink != window_sink)
        return false;
    if (w->skip >= size) {
        w->skip -= size;
        return true;
    }
    /* 8 bytes of checksum per MiB, and the padding of body and checksums */
    uint64_t tail = size / PIECE * 8 + 128, end = w->skip + w->chunk->size - w->chunk->filled;
    w->slow = w->slow || (w->quick && size > JOB_SMALL && end > size - tail);
    return w->slow;
}

static uint64_t lines(uint64_t size)
{
    return (size + 63) / 64 * 64;
}

/* A head of 64 bytes, the body, and 8 bytes of checksum per MiB, each padded to 64 bytes. */
bool image_passes_part(weir_sink sink, void *context, uint64_t size)
{
    return image_passes(sink, context, 64 + lines(size) + lines((size + PIECE - 1) / PIECE * 8));
}

uint64_t image_size(const struct value *v)
{
    uint64_t size = 0;

    v->family->write(v, count_sink, &size);
    return size;
}

/* ---- the body of a part ---- */

static bool grow(struct bytes_out *out, size_t size)
{
    size_t room = 2 * (out->size + size) + 64;
    uint8_t *data;

    if (out->failed || out->room - out->size >= size)
        return !out->failed;
    data = server_take(room);
    if (data && out->size > 0)
        memcpy(data, out->data, out->size);
    server_give(out->data);
    *out = (struct bytes_out){data, out->size, room, !data};
    return data;
}

void put_bytes(struct bytes_out *out, const void *data, size_t size)
{
    if (size == 0 || !grow(out, size))
        return;
    memcpy(out->data + out->size, data, size);
    out->size += size;
}

void put_number(struct bytes_out *out, uint64_t number)
{
    uint8_t bytes[8];

    store_number(bytes, number, sizeof bytes);
    put_bytes(out, bytes, sizeof bytes);
}

void put_double(struct bytes_out *out, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    put_number(out, bits);
}

bool put_part(struct bytes_out *out, uint32_t kind, weir_sink sink, void *context)
{
    bool good =
        !out->failed && weir_part_write(kind, out->data, out->size, sink, context, NULL) == WEIR_OK;

    server_give(out->data);
    *out = (struct bytes_out){0};
    return good;
}

bool get_bytes(struct weir_bytes *in, void *to, size_t size)
{
    if (in->size < size)
        return false;
    if (to)
        memcpy(to, in->data, size);
    *in = (struct weir_bytes){(const uint8_t *)in->data + size, in->size - size};
    return true;
}

bool get_number(struct weir_bytes *in, uint64_t *number)
{
    uint8_t bytes[8];

    if (!get_bytes(in, bytes, sizeof bytes))
        return false;
    *number = load_number(bytes, sizeof bytes);
    return true;
}

bool get_double(struct weir_bytes *in, double *number)
{
    uint64_t bits;

    if (!get_number(in, &bits))
        return false;
    memcpy(number, &bits, sizeof bits);
    return true;
}
