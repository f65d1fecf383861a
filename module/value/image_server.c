/* image_server.c - an image in the server's own files: RDB, AOF, DEBUG DIGEST. */
#include <stdlib.h>
#include <string.h>

#include "server/server.h"
#include "value/image.h"

/* ---- writing: pieces of 1 MiB ---- */

struct pieces {
    void (*take)(struct pieces *out, bool last);
    void *to;              /* an RDB, an AOF or a digest */
    struct rm_string *key; /* in an AOF */
    uint8_t *buffer;
    size_t filled;
    uint64_t taken; /* bytes before the buffer */
};

static void take(struct pieces *out, bool last)
{
    out->take(out, last);
    out->taken += out->filled;
    out->filled = 0;
}

static bool pieces_sink(void *context, const void *data, size_t size)
{
    struct pieces *out = context;
    const uint8_t *from = data;

    while (size > 0) {
        if (out->filled == PIECE)
            take(out, false);
        size_t n = PIECE - out->filled < size ? PIECE - out->filled : size;

        memcpy(out->buffer + out->filled, from, n);
        out->filled += n;
        from += n;
        size -= n;
    }
    return true;
}

/* There was no memory for a head. A child process that saves is ended: no file is better than one
 * that cannot be loaded. */
static void give_up(struct rm_io *io, const struct value *v)
{
    rm.LogIOError(io, "warning", "not enough memory to save a value of type %s", v->family->type);
    if (rm.GetContextFlags(rm.GetContextFromIO(io)) & RM_CTX_CHILD)
        abort();
}

static void write_pieces(const struct value *v, struct rm_io *io, struct pieces out)
{
    out.buffer = rm.Alloc(PIECE);
    if (!v->family->write(v, pieces_sink, &out) && io)
        give_up(io, v);
    take(&out, true);
    rm.Free(out.buffer);
}

/* ---- RDB: strings of 1 MiB, then an empty one ---- */

static void save_piece(struct pieces *out, bool last)
{
    rm.SaveStringBuffer(out->to, (const char *)out->buffer, out->filled);
    if (last)
        rm.SaveStringBuffer(out->to, "", 0);
}

void image_save(const struct value *v, struct rm_io *io)
{
    write_pieces(v, io, (struct pieces){.take = save_piece, .to = io});
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

static void emit_piece(struct pieces *out, bool last)
{
    rm.EmitAOF(out->to, "WEIR.LOAD", "slb", out->key,
               last ? 0LL : (long long)(out->taken + out->filled), (const char *)out->buffer,
               out->filled);
}

void image_rewrite(const struct value *v, struct rm_io *io, struct rm_string *key)
{
    write_pieces(v, io, (struct pieces){.take = emit_piece, .to = io, .key = key});
}

/* ---- DEBUG DIGEST: in pieces of one size, so that it does not depend on the chunks that were
 * loaded ---- */

static void digest_piece(struct pieces *out, bool last)
{
    rm.DigestAddStringBuffer(out->to, (const char *)out->buffer, out->filled);
}

void image_digest(const struct value *v, struct rm_digest *digest)
{
    write_pieces(v, NULL, (struct pieces){.take = digest_piece, .to = digest});
    rm.DigestEndSequence(digest);
}
