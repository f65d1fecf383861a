/* save_load.c - WEIR.SAVE and WEIR.LOAD. */
#include "filter/weir_commands.h"
#include "server/reply.h"
#include "server/server.h"
#include "value/loading.h"

#define CHUNK_MAX (UINT64_C(256) << 20)

/* ---- WEIR.SAVE ---- */

/* The chunk has one byte more than was requested if it is not the last. */
static void reply_chunk(struct rm_ctx *ctx, const struct value *v, const struct image_chunk *chunk)
{
    char next[CURSOR_SIZE] = "0";
    bool last = chunk->filled < chunk->size;

    if (!chunk->data) {
        reply_error(ctx, WEIRMEMORY, "not enough memory; use a smaller CHUNK");
        return;
    }
    if (!last)
        cursor_write(next, chunk->offset + chunk->size - 1, v->changes, 0, 0);
    rm.ReplyWithArray(ctx, 2);
    reply_text(ctx, next);
    rm.ReplyWithStringBuffer(ctx, (const char *)chunk->data, chunk->filled - !last);
}

int command_save(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    uint64_t size = CHUNK_DEFAULT;
    struct cursor c;

    if (argc != 3 && argc != 5)
        return rm.WrongArity(ctx);
    if (!cursor_read(argv[2], &c))
        return reply_error(ctx, ERR,
                           "invalid cursor; use 0, then the cursor of the previous reply");
    if (argc == 5 &&
        (!arg_is(argv[3], "CHUNK") || !arg_u64(argv[4], &size) || size == 0 || size > CHUNK_MAX))
        return reply_error(ctx, ERR, "invalid CHUNK; expected 1 to 268435456 bytes");
    struct opened o = key_open(ctx, argv[1], KEY_READ, NULL);
    if (o.wrong)
        return key_refuse(ctx, &o);
    struct value *v = o.value;
    if (!v)
        return reply_code(ctx, WEIRNOKEY);
    if (c.offset > 0 && c.version != v->changes)
        return reply_error(ctx, WEIRRESTART,
                           "the key has changed since the first chunk; restart at 0");
    return transfer_chunk(ctx, argv, argc, v, (struct image_chunk){c.offset, size + 1, NULL, 0},
                          reply_chunk);
}

/* ---- WEIR.LOAD ---- */

/* The chunks that this one follows; a first one starts the transfer again. NULL after an error
 * reply. */
static struct value_loading *chunks_before(struct rm_ctx *ctx, struct rm_string *name,
                                           struct value_loading *l, const struct cursor *c,
                                           size_t size)
{
    bool first = !l || (c->offset > 0 && c->offset == size);

    if (!first && c->offset > 0 && c->offset != l->have + size) {
        reply_error(ctx, WEIRRESTART,
                    "this chunk does not follow the %llu bytes that were loaded; restart at the "
                    "first chunk",
                    (unsigned long long)l->have);
        return NULL;
    }
    if (!first && c->offset > 0 && c->version != l->version) {
        reply_error(ctx, WEIRRESTART,
                    "this chunk belongs to another transfer; restart at the first chunk");
        return NULL;
    }
    if (first && c->offset != size && c->offset > 0) {
        reply_error(ctx, WEIRRESTART, "no chunk was loaded before this one; restart at the first");
        return NULL;
    }
    if (!first)
        return l;
    l = loading_begin(c->version, c->total);
    if (l)
        value_put(ctx, name, &l->is);
    else
        reply_code(ctx, WEIRMEMORY);
    return l;
}

static int load(struct rm_ctx *ctx, struct rm_string **argv, struct value_loading *before,
                const struct cursor *c)
{
    struct weir_bytes chunk = arg_bytes(argv[3]);
    struct value_loading *l = chunks_before(ctx, argv[1], before, c, chunk.size);

    if (!l)
        return RM_OK;
    bool fits = transfer_fits(ctx, l->have + chunk.size);
    if (fits && c->offset == 0)
        return transfer_finish(ctx, argv, l);
    if (!fits || !loading_add(l, chunk.data, chunk.size)) {
        key_delete(ctx, argv[1]);
        return reply_error(ctx, WEIRMEMORY, "not enough memory, or larger than LARGEST allows");
    }
    l->chunks = c->total > 0 ? c->chunks : l->chunks;
    key_changed(ctx, argv[1], &l->is, "weir.load");
    return reply_ok(ctx);
}

int command_load(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct cursor c;

    if (!cursor_read(argv[2], &c))
        return reply_error(ctx, ERR,
                           "invalid cursor; use the bytes up to the end of the chunk, and 0 for "
                           "the last chunk");
    struct opened o = key_open(ctx, argv[1], KEY_CHANGE, &family_filter);
    if (o.busy && !o.loading)
        return key_refuse(ctx, &o);
    if (o.value || (o.wrong && !o.loading))
        return reply_code(ctx, WEIREXISTS);
    return load(ctx, argv, o.loading, &c);
}
