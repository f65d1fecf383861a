/* image.c - see image.h. */
#include "image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "settings.h"

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

void image_refuse(struct weir_error *error, const char *text)
{
    error->status = WEIR_BAD_DATA;
    snprintf(error->text, sizeof error->text, "%s", text);
}

/* Bytes come before memory is asked for: what a head says may be a lie, so that a part
 * grows with what has arrived, at most doubling. */
void *image_part(struct image_in *in, struct weir_part *part, struct weir_error *error)
{
    uint64_t length = little_endian(in->head + 8, 8);
    uint64_t room = length < PIECE ? length : PIECE, got = 0;
    uint8_t *data = NULL;

    image_refuse(error, "the data ends in the middle");
    if (in->head_left != sizeof in->head || length < sizeof in->head)
        return NULL;
    while (got < length) {
        uint64_t next = got == 0 ? room : got < length - got ? 2 * got : length;
        uint8_t *more = (in->most > 0 && next > 2 * in->most) ? NULL : server_take(next);

        if (!more)
            image_refuse(error, "memory is short, or it is larger than allowed here");
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

/* ---- RDB: strings of 1 MiB, then an empty one ---- */

struct rdb_out {
    struct rm_io *io;
    uint8_t *buffer;
    size_t filled;
};

static bool rdb_sink(void *context, const void *data, size_t size)
{
    struct rdb_out *out = context;
    const char *from = data;

    while (size > 0) {
        size_t n = PIECE - out->filled < size ? PIECE - out->filled : size;

        memcpy(out->buffer + out->filled, from, n);
        out->filled += n;
        from += n;
        size -= n;
        if (out->filled == PIECE) {
            rm.SaveStringBuffer(out->io, (const char *)out->buffer, PIECE);
            out->filled = 0;
        }
    }
    return true;
}

/* Memory was short for a head. A server that saves in a child goes on without this file; better
 * none than one that cannot be loaded. */
static void give_up(struct rm_io *io, const struct value *v)
{
    rm.LogIOError(io, "warning", "memory is short to save a value of type %s", v->family->type);
    if (rm.GetContextFlags(rm.GetContextFromIO(io)) & RM_CTX_CHILD)
        abort();
}

void image_save(const struct value *v, struct rm_io *io)
{
    struct rdb_out out = {.io = io, .buffer = rm.Alloc(PIECE)};

    if (!v->family->write(v, rdb_sink, &out))
        give_up(io, v);
    if (out.filled > 0)
        rm.SaveStringBuffer(io, (const char *)out.buffer, out.filled);
    rm.SaveStringBuffer(io, "", 0);
    rm.Free(out.buffer);
}

struct rdb_in {
    struct rm_io *io;
    char *piece;
    bool ended;
};

static bool rdb_next(struct image_in *in)
{
    struct rdb_in *from = in->context;
    size_t size = 0;

    server_give(from->piece);
    from->piece = NULL;
    if (from->ended || in->failed)
        return false;
    from->piece = rm.LoadStringBuffer(from->io, &size);
    in->failed = !from->piece || rm.IsIOError(from->io);
    from->ended = size == 0;
    in->data = (const uint8_t *)from->piece;
    in->size = in->failed ? 0 : size;
    return in->size > 0;
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
    image_refuse(error, "bytes follow its data");
    family->free(v);
    return NULL;
}

struct value *image_load(const struct family *family, struct rm_io *io)
{
    struct rdb_in from = {.io = io};
    struct image_in in = {.next = rdb_next, .context = &from};
    struct weir_error error = {.text = "its data is cut off"};
    struct rm_ctx *ctx = rm.GetContextFromIO(io);
    struct value *v;

    in.most = rm.GetContextFlags(ctx) & (RM_CTX_LOADING | RM_CTX_ASYNC_LOADING | RM_CTX_REPLICA)
                  ? 0
                  : settings_largest();
    v = image_read(family, &in, &error);
    if (!v)
        rm.LogIOError(io, "warning", "a value of type %s was refused: %s", family->type,
                      error.text);
    server_give(from.piece);
    return v;
}

/* ---- AOF: WEIR.LOAD ---- */

struct aof_out {
    struct rm_io *io;
    struct rm_string *key;
    uint8_t *buffer;
    size_t filled;
    uint64_t told;
};

static void emit(struct aof_out *out, bool last)
{
    out->told += out->filled;
    rm.EmitAOF(out->io, "WEIR.LOAD", "slb", out->key, last ? 0LL : (long long)out->told,
               (const char *)out->buffer, out->filled);
    out->filled = 0;
}

static bool aof_sink(void *context, const void *data, size_t size)
{
    struct aof_out *out = context;
    const char *from = data;

    while (size > 0) {
        if (out->filled == PIECE)
            emit(out, false);
        size_t n = PIECE - out->filled < size ? PIECE - out->filled : size;

        memcpy(out->buffer + out->filled, from, n);
        out->filled += n;
        from += n;
        size -= n;
    }
    return true;
}

void image_rewrite(const struct value *v, struct rm_io *io, struct rm_string *key)
{
    struct aof_out out = {.io = io, .key = key, .buffer = rm.Alloc(PIECE)};

    v->family->write(v, aof_sink, &out);
    emit(&out, true);
    rm.Free(out.buffer);
}

static bool digest_sink(void *context, const void *data, size_t size)
{
    rm.DigestAddStringBuffer(context, data, size);
    return true;
}

void image_digest(const struct value *v, struct rm_digest *digest)
{
    v->family->write(v, digest_sink, digest);
    rm.DigestEndSequence(digest);
}

/* ---- chunks ---- */

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

uint64_t image_size(const struct value *v)
{
    uint64_t size = 0;

    v->family->write(v, count_sink, &size);
    return size;
}
