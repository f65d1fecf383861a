/* image.c - see image.h. */
#include "value/image.h"

#include <stdio.h>
#include <string.h>

#include "server/server.h"

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

static uint64_t little_endian(const uint8_t *at, int bytes)
{
    uint64_t value = 0;

    while (bytes-- > 0)
        value = value << 8 | at[bytes];
    return value;
}

uint32_t image_kind(struct image_in *in)
{
    if (in->head_left == 0) {
        while (in->size == 0)
            if (!in->next(in))
                return in->failed ? UINT32_MAX : 0;
        if (!image_get(in, in->head, sizeof in->head)) {
            in->failed = true; /* also when it is asked again */
            return UINT32_MAX;
        }
        in->head_left = sizeof in->head;
    }
    return memcmp(in->head, "WEIR", 4) == 0 ? (uint32_t)little_endian(in->head + 6, 2) : UINT32_MAX;
}

uint32_t image_shards(const struct image_in *in)
{
    return (uint32_t)little_endian(in->head + 36, 4);
}

void image_refuse(struct weir_error *error, const char *text)
{
    error->status = WEIR_BAD_DATA;
    snprintf(error->text, sizeof error->text, "%s", text);
}

void image_no_memory(struct weir_error *error)
{
    image_refuse(error, "not enough memory, or larger than LARGEST allows");
    error->status = WEIR_NO_MEMORY;
}

/* Bytes come before memory is asked for: what a head says may be a lie, so that a part
 * grows with what has arrived, at most doubling. */
void *image_part(struct image_in *in, struct weir_part *part, struct weir_error *error)
{
    uint64_t length = little_endian(in->head + 8, 8);
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

/* A value that ends before its image does was written by something else. */
static bool at_end(struct image_in *in)
{
    return in->head_left == 0 && in->size == 0 && !in->next(in) && !in->failed;
}

struct value *image_read(const struct family *family, struct image_in *in, struct weir_error *error)
{
    struct value *v = family->read(in, error);

    if (!v || at_end(in)) {
        if (v)
            value_changed(v);
        return v;
    }
    image_refuse(error, "unexpected bytes after the data");
    family->free(v);
    return NULL;
}
