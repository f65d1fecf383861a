/* redisbloom.c - see redisbloom.h. */
#include "value/redisbloom.h"

#include <string.h>

#include "server/server.h"

/* ---- hash functions ---- */

static uint64_t word64(const uint8_t *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? word : __builtin_bswap64(word);
}

uint32_t murmur32(const void *data, size_t size, uint32_t seed)
{
    const uint32_t m = 0x5bd1e995;
    const uint8_t *at = data;
    uint32_t h = seed ^ (uint32_t)size;

    for (; size >= 4; at += 4, size -= 4) {
        uint32_t k = (uint32_t)load_number(at, 4) * m;

        h = h * m ^ (k ^ k >> 24) * m;
    }
    if (size > 0)
        h = (h ^ (uint32_t)load_number(at, size)) * m;
    h = (h ^ h >> 13) * m;
    return h ^ h >> 15;
}

uint64_t murmur64(const void *data, size_t size, uint64_t seed)
{
    const uint64_t m = UINT64_C(0xc6a4a7935bd1e995);
    const uint8_t *at = data;
    uint64_t h = seed ^ (uint64_t)(int64_t)(int32_t)(uint32_t)size * m;

    for (; size >= 8; at += 8, size -= 8) {
        uint64_t k = word64(at) * m;

        h = (h ^ (k ^ k >> 47) * m) * m;
    }
    if (size > 0)
        h = (h ^ load_number(at, size)) * m;
    h = (h ^ h >> 47) * m;
    return h ^ h >> 47;
}

/* ---- fields ---- */

static bool fail(struct archive *a)
{
    a->failed = true;
    return false;
}

static bool passed(struct archive *a, bool good)
{
    return good && !(a->reading && a->io && rm.IsIOError(a->io)) ? true : fail(a);
}

bool archive_number(struct archive *a, uint64_t *number)
{
    if (a->failed)
        return false;
    if (a->io && a->reading)
        *number = rm.LoadUnsigned(a->io);
    else if (a->io)
        rm.SaveUnsigned(a->io, *number);
    else if (a->reading)
        return passed(a, get_number(&a->numbers, number));
    else if (a->out)
        put_number(a->out, *number);
    return passed(a, true);
}

bool archive_double(struct archive *a, double *number)
{
    uint64_t bits;

    if (a->failed)
        return false;
    if (a->io && a->reading) {
        *number = rm.LoadDouble(a->io);
    } else if (a->io) {
        rm.SaveDouble(a->io, *number);
    } else {
        memcpy(&bits, number, sizeof bits);
        archive_number(a, &bits);
        memcpy(number, &bits, sizeof bits);
    }
    return passed(a, !a->failed);
}

/* A block of an image: its part has a head before the bytes and checksums after them. */
static uint8_t *read_part(struct archive *a, uint64_t size)
{
    struct weir_error error;
    struct weir_part part;
    uint8_t *data = NULL;
    void *whole = image_kind(a->in) == PART_BLOCK ? image_part(a->in, &part, &error) : NULL;

    if (whole && part.body_size == size && (data = server_take(size)))
        memcpy(data, part.body, size);
    server_give(whole);
    return data;
}

static bool read_block(struct archive *a, uint8_t **data, uint64_t size)
{
    size_t found = size;

    if (a->most > 0 && (size > a->most || a->used > a->most - size))
        return fail(a);
    a->used += size;
    *data = a->io ? (uint8_t *)rm.LoadStringBuffer(a->io, &found) : read_part(a, size);
    return passed(a, *data && found == size);
}

bool archive_block(struct archive *a, uint8_t **data, uint64_t size)
{
    struct weir_error error;

    if (a->failed)
        return false;
    if (a->reading)
        return read_block(a, data, size);
    if (a->io)
        rm.SaveStringBuffer(a->io, (const char *)*data, size);
    else if (a->sink && !image_passes_part(a->sink, a->context, size))
        return passed(a, weir_part_write(PART_BLOCK, *data, size, a->sink, a->context, &error) ==
                             WEIR_OK);
    return true;
}

bool archive_text(struct archive *a, char **data, uint64_t *size)
{
    size_t found = 0;

    if (a->failed)
        return false;
    if (a->io && a->reading) {
        *data = rm.LoadStringBuffer(a->io, &found);
        *size = found;
        return passed(a, *data);
    }
    if (a->io) {
        rm.SaveStringBuffer(a->io, *data, *size);
        return true;
    }
    if (!archive_number(a, size))
        return false;
    if (a->out)
        put_bytes(a->out, *data, *size);
    if (!a->reading)
        return true;
    if (*size > a->numbers.size || !(*data = server_take(*size > 0 ? *size : 1)))
        return fail(a);
    return passed(a, get_bytes(&a->numbers, *data, *size));
}

/* ---- values ---- */

bool archive_write(const struct value *v, weir_sink sink, void *context)
{
    const struct family *f = v->family;
    struct bytes_out numbers = {0};
    struct archive head = {.out = &numbers}, blocks = {.sink = sink, .context = context};

    f->pass(&head, (struct value *)v);
    return put_part(&numbers, f->part, sink, context) && f->pass(&blocks, (struct value *)v);
}

static struct value *read_value(const struct family *f, struct archive *a)
{
    struct value *v = server_take(f->size);

    if (!v)
        return NULL;
    v->family = f;
    v->bytes = server_bytes(v);
    if (f->pass(a, v) && a->numbers.size == 0) {
        if (f->complete)
            f->complete(v);
        return v;
    }
    f->free(v);
    return NULL;
}

struct value *archive_read(const struct family *family, struct image_in *in,
                           struct weir_error *error)
{
    struct archive a = {.reading = true, .in = in, .most = in->most};
    void *head = image_head(in, family->part, &a.numbers, error);
    struct value *v = head ? read_value(family, &a) : NULL;

    server_give(head);
    if (!v)
        image_refuse(error, "not a valid value of RedisBloom, or larger than LARGEST allows");
    return v;
}

void archive_save(const struct value *v, struct rm_io *io)
{
    v->family->pass(&(struct archive){.io = io}, (struct value *)v);
}

struct value *archive_load(const struct family *family, struct rm_io *io)
{
    struct archive a = {.reading = true, .io = io, .most = image_limit(io)};
    struct value *v = read_value(family, &a);

    if (!v)
        rm.LogIOError(io, "warning",
                      "cannot load a value of type %s: the data is invalid or larger than LARGEST "
                      "allows",
                      family->type);
    return v;
}
