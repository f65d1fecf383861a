/* part.c - see part.h. */
#include "format/part.h"

#include <string.h>

#define MAGIC "WEIR"
#define VERSION 1
#define HEAD 16 /* bytes before the body: magic, version, kind, length */
#define TAIL 8  /* after it: the checksum */
#define KIND_MOST 0xffff

/* ---- writing ---- */

void part_put(struct part_writer *out, const void *data, size_t size)
{
    XXH3_64bits_update(&out->sum, data, size);
    if (out->ok && size > 0)
        out->ok = out->sink(out->context, data, size);
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

void part_begin(struct part_writer *out, uint32_t kind, uint64_t length, weir_sink sink,
                void *context)
{
    out->sink = sink;
    out->context = context;
    out->ok = true;
    XXH3_64bits_reset(&out->sum);
    part_put(out, MAGIC, 4);
    part_put32(out, VERSION | kind << 16);
    part_put64(out, length);
}

enum weir_status part_end(struct part_writer *out)
{
    part_put64(out, XXH3_64bits_digest(&out->sum));
    return out->ok ? WEIR_OK : WEIR_WRITE_FAILED;
}

enum weir_status weir_part_write(uint32_t kind, const void *body, size_t size, weir_sink sink,
                                 void *context)
{
    struct part_writer out;

    if (kind > KIND_MOST)
        return WEIR_UNSUPPORTED;
    part_begin(&out, kind, size, sink, context);
    part_put(&out, body, size);
    return part_end(&out);
}

bool part_into_buffer(void *context, const void *data, size_t size)
{
    struct part_buffer *buffer = context;

    memcpy(buffer->at, data, size);
    buffer->at += size;
    return true;
}

/* ---- reading ---- */

enum weir_status part_bad(struct weir_error *error, const char *why)
{
    return error_say(error, WEIR_BAD_DATA, why, NULL);
}

enum weir_status weir_part_read(const void *data, size_t size, struct weir_part *part,
                                struct weir_error *error)
{
    const uint8_t *p = data;

    if (size < 4 || memcmp(p, MAGIC, 4) != 0)
        return part_bad(error, "this is not saved by weir: it does not begin with WEIR");
    if (size < HEAD + TAIL)
        return part_bad(error, "the data is cut off in its first bytes");
    if ((bits_load32(p + 4) & 0xffff) != VERSION)
        return part_bad(error,
                        "this was saved by another version of weir: only format 1 is known here");
    uint64_t length = bits_load64(p + 8);
    if (length > size - HEAD - TAIL)
        return part_bad(error, "the data is cut off: it says that it is longer than it is");
    if (XXH3_64bits(p, HEAD + (size_t)length) != bits_load64(p + HEAD + length))
        return part_bad(error, "the data is damaged: its checksum does not match");
    *part = (struct weir_part){bits_load32(p + 4) >> 16, p + HEAD, (size_t)length,
                               HEAD + (size_t)length + TAIL};
    return WEIR_OK;
}

const uint8_t *part_get(struct part_reader *in, uint64_t size)
{
    const uint8_t *at = in->at;

    if (size > in->left)
        return NULL;
    in->at += size;
    in->left -= (size_t)size;
    return at;
}

bool part_get_text(struct part_reader *in, char *text, size_t size)
{
    const uint8_t *p = part_get(in, 4);
    uint32_t length = p ? bits_load32(p) : UINT32_MAX;

    if (length >= size || !(p = part_get(in, length)))
        return false;
    memcpy(text, p, length);
    text[length] = '\0';
    return strlen(text) == length;
}
