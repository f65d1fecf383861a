/* part_write.c - write parts to a sink: the head, the cells, then their sums. */
#include <string.h>

#include "base/text.h"
#include "format/part.h"

#define KIND_MAX 0xffff

static void send(struct part_writer *out, const void *data, size_t size)
{
    if (out->ok && size > 0)
        out->ok = out->sink(out->context, data, size);
}

static void send_sum(struct part_writer *out)
{
    uint8_t sum[8];

    bits_store64(sum, XXH3_64bits_digest(&out->sum));
    send(out, sum, sizeof sum);
    XXH3_64bits_reset_withSeed(&out->sum, ++out->block);
    out->in_block = 0;
}

static void sum(struct part_writer *out, const uint8_t *data, size_t size)
{
    while (size > 0) {
        uint64_t room = PART_BLOCK - out->in_block;
        size_t n = size < room ? size : (size_t)room;

        XXH3_64bits_update(&out->sum, data, n);
        out->in_block += n;
        if (out->in_block == PART_BLOCK)
            send_sum(out);
        data += n;
        size -= n;
    }
}

void part_put(struct part_writer *out, const void *data, size_t size)
{
    if (out->summing)
        sum(out, data, size);
    else
        send(out, data, size);
}

void part_put32(struct part_writer *out, uint32_t value)
{
    uint8_t bytes[4];

    bits_store32(bytes, value);
    part_put(out, bytes, sizeof bytes);
}

void part_put64(struct part_writer *out, uint64_t value)
{
    uint8_t bytes[8];

    bits_store64(bytes, value);
    part_put(out, bytes, sizeof bytes);
}

void part_put_numbers(struct part_writer *out, const void *numbers, uint64_t size, uint32_t width)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    (void)width;
    part_put(out, numbers, (size_t)size);
#else
    for (uint64_t at = 0; at < size; at += width) {
        uint64_t wide;
        uint32_t narrow;

        if (width == sizeof wide) {
            memcpy(&wide, (const uint8_t *)numbers + at, sizeof wide);
            part_put64(out, wide);
        } else {
            memcpy(&narrow, (const uint8_t *)numbers + at, sizeof narrow);
            part_put32(out, narrow);
        }
    }
#endif
}

/* Pad with zeros to a whole line after this many bytes. */
static void pad(struct part_writer *out, uint64_t after)
{
    static const uint8_t zeros[PART_LINE];

    send(out, zeros, (size_t)(part_lines(after) - after));
}

static void make_sums(void (*put)(const void *what, struct part_writer *out), const void *what,
                      struct part_writer *out)
{
    out->summing = true;
    XXH3_64bits_reset_withSeed(&out->sum, 0);
    put(what, out);
    if (out->in_block > 0)
        send_sum(out);
}

enum weir_status part_write(const struct part_head *h,
                            void (*put)(const void *what, struct part_writer *out),
                            const void *what, weir_sink sink, void *context,
                            struct weir_error *error)
{
    struct part_writer out = {.sink = sink, .context = context, .ok = true};
    uint8_t head[PART_HEAD_MAX];

    part_encode_head(h, head);
    send(&out, head, part_head_size(h));
    if (out.ok)
        put(what, &out);
    pad(&out, h->cells);
    if (h->sums)
        send(&out, h->sums, (size_t)(8 * part_blocks(h->cells)));
    else if (out.ok)
        make_sums(put, what, &out);
    pad(&out, 8 * part_blocks(h->cells));
    return out.ok ? WEIR_OK
                  : error_say(error, WEIR_ERROR_WRITE_FAILED, "the sink did not accept all bytes",
                              NULL);
}

static void put_bytes(const void *what, struct part_writer *out)
{
    const struct weir_bytes *bytes = what;

    part_put(out, bytes->data, bytes->size);
}

enum weir_status weir_part_write(uint32_t kind, const void *body, size_t size, weir_sink sink,
                                 void *context, struct weir_error *error)
{
    struct part_head h = {.kind = kind, .shards = 1, .cells = size};

    if (kind > KIND_MAX)
        return error_say(error, WEIR_ERROR_UNSUPPORTED,
                         "invalid kind of a part; use a number below 65536", NULL);
    return part_write(&h, put_bytes, &(struct weir_bytes){body, size}, sink, context, error);
}

bool part_fits(uint64_t needed, size_t size, struct weir_error *error)
{
    char bytes[24];
    struct text t = text_in(bytes, sizeof bytes);

    if (needed <= size)
        return true;
    text_add_u64(&t, needed);
    error_say(error, WEIR_ERROR_BUFFER_TOO_SMALL, "the buffer is too small: saving needs ", bytes,
              " bytes", NULL);
    return false;
}

bool part_into_buffer(void *context, const void *data, size_t size)
{
    struct part_buffer *buffer = context;

    memcpy(buffer->at, data, size);
    buffer->at += size;
    return true;
}
