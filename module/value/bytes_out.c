/* bytes_out.c - see bytes_out.h. */
#include "value/bytes_out.h"

#include <string.h>

#include "server/server.h"

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

    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
    put_bytes(out, bytes, sizeof bytes);
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
    *number = 0;
    for (int i = 7; i >= 0; i--)
        *number = *number << 8 | bytes[i];
    return true;
}
