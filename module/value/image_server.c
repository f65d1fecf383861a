/* image_server.c - an image in the server's own files: RDB, AOF, DEBUG DIGEST. */
#include <stdlib.h>
#include <string.h>

#include "server/server.h"
#include "value/image.h"

/* ---- RDB: strings of 1 MiB, then an empty one ---- */

/* Splits a stream of bytes into pieces of one size. */
struct pieces {
    void (*take)(void *to, const uint8_t *piece, size_t size);
    void *to;
    uint8_t *buffer;
    size_t filled;
};

static bool pieces_sink(void *context, const void *data, size_t size)
{
    struct pieces *out = context;
    const uint8_t *from = data;

    while (size > 0) {
        size_t n = PIECE - out->filled < size ? PIECE - out->filled : size;

        memcpy(out->buffer + out->filled, from, n);
        out->filled += n;
        from += n;
        size -= n;
        if (out->filled == PIECE) {
            out->take(out->to, out->buffer, PIECE);
            out->filled = 0;
        }
    }
    return true;
}

static void pieces_end(struct pieces *out)
{
    if (out->filled > 0)
        out->take(out->to, out->buffer, out->filled);
    rm.Free(out->buffer);
}

static void save_piece(void *io, const uint8_t *piece, size_t size)
{
    rm.SaveStringBuffer(io, (const char *)piece, size);
}

/* There was no memory for a head. A child process that saves is ended: no file is better than one
 * that cannot be loaded. */
static void give_up(struct rm_io *io, const struct value *v)
{
    rm.LogIOError(io, "warning", "not enough memory to save a value of type %s", v->family->type);
    if (rm.GetContextFlags(rm.GetContextFromIO(io)) & RM_CTX_CHILD)
        abort();
}

void image_save(const struct value *v, struct rm_io *io)
{
    struct pieces out = {.take = save_piece, .to = io, .buffer = rm.Alloc(PIECE)};

    if (!v->family->write(v, pieces_sink, &out))
        give_up(io, v);
    pieces_end(&out);
    rm.SaveStringBuffer(io, "", 0);
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

uint64_t image_limit(struct rm_io *io)
{
    int flags = rm.GetContextFlags(rm.GetContextFromIO(io));

    return flags & (RM_CTX_LOADING | RM_CTX_ASYNC_LOADING | RM_CTX_REPLICA) ? 0
                                                                            : settings_largest();
}

struct value *image_load(const struct family *family, struct rm_io *io)
{
    struct rdb_in from = {.io = io};
    struct image_in in = {.next = rdb_next, .context = &from};
    struct weir_error error = {.text = "the data is truncated"};
    struct value *v;

    in.most = image_limit(io);
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
    uint64_t emitted;
};

static void emit(struct aof_out *out, bool last)
{
    out->emitted += out->filled;
    rm.EmitAOF(out->io, "WEIR.LOAD", "slb", out->key, last ? 0LL : (long long)out->emitted,
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

    if (!v->family->write(v, aof_sink, &out))
        give_up(io, v);
    emit(&out, true);
    rm.Free(out.buffer);
}

static void digest_piece(void *digest, const uint8_t *piece, size_t size)
{
    rm.DigestAddStringBuffer(digest, (const char *)piece, size);
}

/* In pieces of one size, so that the digest does not depend on the chunks that were loaded. */
void image_digest(const struct value *v, struct rm_digest *digest)
{
    struct pieces out = {.take = digest_piece, .to = digest, .buffer = rm.Alloc(PIECE)};

    v->family->write(v, pieces_sink, &out);
    pieces_end(&out);
    rm.DigestEndSequence(digest);
}
