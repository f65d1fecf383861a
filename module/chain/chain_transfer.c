/* chain_transfer.c - BF.SCANDUMP and BF.LOADCHUNK, and those of CF.*.
 *
 * Clients load each chunk with the iterator that came with it, and stop at 0, which comes
 * with nothing. The first chunk says how many bytes will follow, so that the last is known. */
#include <weir/hash.h>

#include "chain/chain.h"
#include "server/reply.h"
#include "server/server.h"
#include "value/loading.h"

/* See loading.h. */
static uint64_t tag_of(const struct value *v)
{
    return weir_hash_bytes(WEIR_HASH_XXH3, 0, &v->changes, sizeof v->changes).lo & 0xfffff;
}

static void reply_chunk(struct rm_ctx *ctx, uint64_t iterator, const void *data, size_t size)
{
    rm.ReplyWithArray(ctx, 2);
    rm.ReplyWithLongLong(ctx, (long long)iterator);
    rm.ReplyWithStringBuffer(ctx, data, size);
}

/* An empty filter of CF.* has no chunks, as clients expect it. */
static void reply_nothing(struct rm_ctx *ctx)
{
    rm.ReplyWithArray(ctx, 2);
    rm.ReplyWithLongLong(ctx, 0);
    rm.ReplyWithNull(ctx);
}

static void dump_head(struct rm_ctx *ctx, const struct value *v)
{
    uint8_t head[HEAD_SIZE];

    cursor_head(head, image_size(v));
    reply_chunk(ctx, tag_of(v) << 32 | 1, head, sizeof head);
}

static void dump_chunk(struct rm_ctx *ctx, const struct value *v, uint64_t iterator)
{
    uint64_t number = iterator & UINT32_MAX;
    uint8_t *data;
    size_t n;

    if (iterator >> 32 != tag_of(v)) {
        reply_error(ctx, WEIRRESTART, "the key has changed since the first chunk; restart at 0");
        return;
    }
    n = image_chunk(v, (number - 1) * CHUNK_DEFAULT, CHUNK_DEFAULT, &data);
    if (!data)
        reply_code(ctx, WEIRMEMORY);
    else if (n == 0)
        reply_chunk(ctx, 0, "", 0);
    else
        reply_chunk(ctx, iterator + 1, data, n);
    server_give(data);
}

static int refuse_iterator(struct rm_ctx *ctx, const struct family *family)
{
    return rm.ReplyWithError(ctx, family == &family_cuckoo ? "Invalid position"
                                                           : "Second argument must be numeric");
}

static int scandump(struct rm_ctx *ctx, struct rm_string **argv, int argc,
                    const struct family *family)
{
    long long iterator;

    if (argc != 3)
        return rm.WrongArity(ctx);
    if (rm.StringToLongLong(argv[2], &iterator) != RM_OK || iterator < 0)
        return refuse_iterator(ctx, family);
    struct opened o = key_open(ctx, argv[1], RM_READ, family);
    if (o.wrong)
        return key_refuse(ctx, &o);
    if (!o.value)
        rm.ReplyWithError(ctx, "ERR not found");
    else if (iterator == 0 && family == &family_cuckoo && chain_items(o.value) == 0)
        reply_nothing(ctx);
    else if (iterator == 0)
        dump_head(ctx, o.value);
    else if ((iterator & UINT32_MAX) == 0)
        reply_chunk(ctx, 0, "", 0);
    else
        dump_chunk(ctx, o.value, (uint64_t)iterator);
    return key_close(&o);
}

/* ---- BF.LOADCHUNK ---- */

static void load_head(struct rm_ctx *ctx, struct rm_string **argv, struct opened *o,
                      uint64_t version)
{
    struct weir_bytes head = arg_bytes(argv[3]);
    struct value_loading *l = NULL;
    uint64_t total;

    if (!cursor_is_head(head.data, head.size, &total)) {
        rm.ReplyWithError(ctx, "received bad data");
        return;
    }
    if (transfer_fits(ctx, total))
        l = loading_begin(version, total);
    if (!l) {
        rm.ReplyWithError(ctx, "ERR Insufficient memory to create filter");
        return;
    }
    value_put(o->key, &l->is);
    key_changed(ctx, argv[1], &l->is, "bf.loadchunk");
    reply_ok(ctx);
}

/* The chunk of this number; the first after the head has 2. */
static void load_chunk(struct rm_ctx *ctx, struct rm_string **argv, struct opened *o,
                       uint64_t version, uint64_t number)
{
    struct value_loading *l = o->loading ? rm.ModuleTypeGetValue(o->key) : NULL;
    struct weir_bytes chunk = arg_bytes(argv[3]);

    if (!l || l->total == 0 || l->version != version || number != l->chunks + 2 ||
        chunk.size == 0 || chunk.size > l->total - l->have) {
        rm.ReplyWithError(ctx, "received bad data");
        return;
    }
    if (!loading_add(l, chunk.data, chunk.size)) {
        rm.ReplyWithError(ctx, "ERR Insufficient memory to create filter");
        return;
    }
    if (l->have == l->total) {
        transfer_finish(ctx, argv[1], o, l);
        return;
    }
    key_changed(ctx, argv[1], &l->is, "bf.loadchunk");
    reply_ok(ctx);
}

static int loadchunk(struct rm_ctx *ctx, struct rm_string **argv, int argc,
                     const struct family *family)
{
    long long iterator;

    if (argc != 4)
        return rm.WrongArity(ctx);
    if (rm.StringToLongLong(argv[2], &iterator) != RM_OK)
        return refuse_iterator(ctx, family);
    struct opened o = key_open(ctx, argv[1], RM_READ | RM_WRITE, family);
    uint64_t version = (uint64_t)iterator >> 32, number = (uint64_t)iterator & UINT32_MAX;
    if (o.wrong && !o.loading)
        return key_refuse(ctx, &o);
    if (o.value)
        rm.ReplyWithError(ctx, "ERR item exists");
    else if (number == 1)
        load_head(ctx, argv, &o, version);
    else
        load_chunk(ctx, argv, &o, version, number);
    return key_close(&o);
}

/* ---- by the names of both families ---- */

int bf_scandump(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return scandump(ctx, argv, argc, &family_bloom);
}

int bf_loadchunk(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return loadchunk(ctx, argv, argc, &family_bloom);
}

int cf_scandump(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return scandump(ctx, argv, argc, &family_cuckoo);
}

int cf_loadchunk(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return loadchunk(ctx, argv, argc, &family_cuckoo);
}
