/* chain_transfer.c - SCANDUMP and LOADCHUNK of BF.* and CF.*.
 *
 * Clients load each chunk with the iterator that was returned with it, and stop at iterator 0. The
 * first chunk of weir contains the total size, so that the last one can be recognized.
 *
 * A filter from RedisBloom uses RedisBloom's chunks. The first is a header with all numbers. The
 * others are pieces of the cells, of at most 4 MiB: iterator 1 + n follows the first n bytes. The
 * header creates the key, with cells of zero. */
#include <string.h>
#include <weir/hash.h>

#include "chain/chain.h"
#include "server/reply.h"
#include "server/server.h"
#include "value/loading.h"

#define INSUFFICIENT "ERR Insufficient memory to create filter"

/* 20 bits of a hash of the value's version. */
static uint64_t tag_of(const struct value *v)
{
    return weir_hash_bytes(WEIR_HASH_XXH3, 0, &v->changes, sizeof v->changes).lo & 0xfffff;
}

static int reply_chunk(struct rm_ctx *ctx, uint64_t iterator, const void *data, size_t size)
{
    rm.ReplyWithArray(ctx, 2);
    rm.ReplyWithLongLong(ctx, (long long)iterator);
    return rm.ReplyWithStringBuffer(ctx, data, size);
}

/* The end of CF.SCANDUMP. */
static int reply_nothing(struct rm_ctx *ctx)
{
    rm.ReplyWithArray(ctx, 2);
    rm.ReplyWithLongLong(ctx, 0);
    return rm.ReplyWithNull(ctx);
}

/* ---- headers of RedisBloom: packed, little-endian ---- */

#define BLOOM_HEAD 20
#define BLOOM_LINK 53
#define CUCKOO_HEAD 38

/* Read or write a number of some bytes; doubles are passed as their bits. */
struct packed {
    uint8_t *at;
    bool reading;
};

static uint64_t pass(struct packed *p, uint64_t number, int bytes)
{
    uint64_t found = 0;

    for (int i = 0; i < bytes; i++, p->at++) {
        if (!p->reading)
            *p->at = (uint8_t)(number >> 8 * i);
        found |= (uint64_t)*p->at << 8 * i;
    }
    return found;
}

static double pass_double(struct packed *p, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    bits = pass(p, bits, 8);
    memcpy(&number, &bits, sizeof bits);
    return number;
}

static void pass_link(struct packed *p, struct link *l)
{
    uint64_t bits;

    l->size = pass(p, l->size, 8);
    bits = pass(p, 8 * l->size, 8);
    l->items = pass(p, l->items, 8);
    l->error = pass_double(p, l->error);
    l->bits_per_item = pass_double(p, l->bits_per_item);
    l->hashes = pass(p, l->hashes, 4);
    l->capacity = pass(p, l->capacity, 8);
    l->exponent = pass(p, l->exponent, 1);
    if (!p->reading)
        return;
    l->places = l->exponent > 0 ? UINT64_C(1) << (l->exponent & 63) : bits;
    if (l->size > UINT64_MAX / 8 || bits != 8 * l->size)
        l->places = 0; /* rejected by import_check() */
}

static void pass_bloom(struct packed *p, struct chain *c, uint64_t *items, uint64_t *n)
{
    *items = pass(p, *items, 8);
    *n = pass(p, *n, 4);
    c->options = pass(p, c->options, 4);
    c->growth = pass(p, c->growth, 4);
}

static void pass_cuckoo(struct packed *p, struct chain *c, uint64_t *n)
{
    c->items = pass(p, c->items, 8);
    c->asked = pass(p, c->asked, 8);
    c->deleted = pass(p, c->deleted, 8);
    *n = pass(p, *n, 8);
    c->bucket_size = pass(p, c->bucket_size, 2);
    c->moves = pass(p, c->moves, 2);
    c->growth = pass(p, c->growth, 2);
}

/* Append filters with zeroed cells, at most `most` bytes together (0: no limit). */
static bool append(struct chain *c, struct link l, uint64_t most)
{
    return (most == 0 || (c->is.bytes < most && l.size <= most - c->is.bytes)) &&
           import_append(c, l);
}

/* Why it fails: bad data, or NULL for too little memory. */
static bool read_bloom_head(struct chain *c, struct weir_bytes data, uint64_t most, bool *bad)
{
    struct packed p = {(uint8_t *)data.data, true};
    uint64_t items = 0, n = 0;

    *bad = true;
    if (data.size < BLOOM_HEAD + BLOOM_LINK)
        return false;
    pass_bloom(&p, c, &items, &n);
    if (data.size - BLOOM_HEAD != n * BLOOM_LINK || c->options > 15)
        return false;
    c->expansion = c->options & 8 ? 0 : c->growth > 0 ? c->growth : 1;
    for (uint64_t i = 0; i < n; i++) {
        struct link l = {0};

        pass_link(&p, &l);
        if (!import_check(c, &l))
            return false;
        *bad = false;
        if (!append(c, l, most))
            return false;
        *bad = true;
    }
    return c->items == items;
}

static bool read_cuckoo_head(struct chain *c, struct weir_bytes data, uint64_t most, bool *bad)
{
    struct packed p = {(uint8_t *)data.data, true};
    uint64_t n = 0;

    *bad = true;
    if (data.size != CUCKOO_HEAD)
        return false;
    pass_cuckoo(&p, c, &n);
    c->expansion = c->growth;
    if (!import_cuckoo_check(c, n))
        return false;
    *bad = false;
    for (uint64_t i = 0; i < n; i++) {
        struct link l = {0};

        if (!import_size(c, i, &l) || !append(c, l, most))
            return false;
    }
    return true;
}

static int dump_import_head(struct rm_ctx *ctx, struct chain *c)
{
    size_t size = c->cuckoo ? CUCKOO_HEAD : BLOOM_HEAD + (size_t)c->n * BLOOM_LINK;
    uint8_t *head = server_take(size);
    struct packed p = {head, false};
    uint64_t items = c->items, n = c->n;

    if (!head)
        return reply_code(ctx, WEIRMEMORY);
    if (c->cuckoo)
        pass_cuckoo(&p, c, &n);
    else
        pass_bloom(&p, c, &items, &n);
    for (uint32_t i = 0; !c->cuckoo && i < c->n; i++)
        pass_link(&p, &c->links[i]);
    reply_chunk(ctx, 1, head, size);
    server_give(head);
    return RM_OK;
}

/* The filter and the offset in it of a byte of all cells; NULL behind the last. */
static struct link *link_at(const struct chain *c, uint64_t *offset)
{
    for (uint32_t i = 0; i < c->n; i++) {
        if (*offset < c->links[i].size)
            return &c->links[i];
        *offset -= c->links[i].size;
    }
    return NULL;
}

static int dump_import_chunk(struct rm_ctx *ctx, const struct chain *c, uint64_t iterator)
{
    uint64_t offset = iterator - 1;
    const struct link *l = link_at(c, &offset);

    if (!l)
        return c->cuckoo ? reply_nothing(ctx) : reply_chunk(ctx, 0, "", 0);
    uint64_t left = l->size - offset, n = left < CHUNK_DEFAULT ? left : CHUNK_DEFAULT;
    return reply_chunk(ctx, iterator + n, l->cells + offset, n);
}

/* ---- SCANDUMP ---- */

static int dump_head(struct rm_ctx *ctx, struct chain *c)
{
    uint8_t head[HEAD_SIZE];

    if (c->imported)
        return dump_import_head(ctx, c);
    cursor_head(head, image_size(&c->is));
    return reply_chunk(ctx, tag_of(&c->is) << 32 | 1, head, sizeof head);
}

/* The number of a chunk follows from its offset. */
static void reply_own_chunk(struct rm_ctx *ctx, const struct value *v,
                            const struct image_chunk *chunk)
{
    uint64_t number = chunk->offset / CHUNK_DEFAULT + 1;

    if (!chunk->data)
        reply_code(ctx, WEIRMEMORY);
    else
        reply_chunk(ctx, chunk->filled > 0 ? tag_of(v) << 32 | (number + 1) : 0, chunk->data,
                    chunk->filled);
}

static int dump_chunk(struct rm_ctx *ctx, struct rm_string **argv, struct chain *c,
                      uint64_t iterator)
{
    uint64_t number = iterator & UINT32_MAX;

    if (c->imported)
        return dump_import_chunk(ctx, c, iterator);
    if (number == 0)
        return reply_chunk(ctx, 0, "", 0);
    if (iterator >> 32 != tag_of(&c->is))
        return reply_error(ctx, WEIRRESTART,
                           "the key has changed since the first chunk; restart at 0");
    return transfer_chunk(
        ctx, argv, 3, &c->is,
        (struct image_chunk){(number - 1) * CHUNK_DEFAULT, CHUNK_DEFAULT, NULL, 0},
        reply_own_chunk);
}

static int refuse_iterator(struct rm_ctx *ctx, bool cuckoo)
{
    return rm.ReplyWithError(ctx, cuckoo ? "Invalid position" : "Second argument must be numeric");
}

static int scandump(struct rm_ctx *ctx, struct rm_string **argv, int argc, bool cuckoo)
{
    long long iterator;
    struct chain *c;

    if (rm.StringToLongLong(argv[2], &iterator) != RM_OK || iterator < 0)
        return refuse_iterator(ctx, cuckoo);
    c = key_value(ctx, argv[1], KEY_READ, cuckoo ? &family_cuckoo : &family_bloom, "ERR not found");
    if (!c)
        return RM_OK;
    if (iterator == 0 && cuckoo && c->items == 0)
        return reply_nothing(ctx);
    return iterator == 0 ? dump_head(ctx, c) : dump_chunk(ctx, argv, c, (uint64_t)iterator);
}

/* ---- LOADCHUNK ---- */

static int loaded(struct rm_ctx *ctx, struct rm_string *name, struct value *v)
{
    key_changed(ctx, name, v, "bf.loadchunk");
    return reply_ok(ctx);
}

static int load_import_head(struct rm_ctx *ctx, struct rm_string **argv, bool cuckoo)
{
    struct weir_bytes head = arg_bytes(argv[3]);
    struct chain *c = server_take(sizeof *c);
    bool bad = false;

    if (c) {
        c->is.family = cuckoo ? &family_imported_cuckoo : &family_imported_bloom;
        c->is.bytes = server_bytes(c);
        import_begin(c, cuckoo);
    }
    if (c && (cuckoo ? read_cuckoo_head : read_bloom_head)(c, head, server_limit(ctx), &bad) &&
        type_of(c->is.family)) {
        value_put(ctx, argv[1], &c->is);
        return loaded(ctx, argv[1], &c->is);
    }
    if (c)
        chain_close(c);
    return rm.ReplyWithError(ctx, bad ? "received bad data" : INSUFFICIENT);
}

static int load_import_chunk(struct rm_ctx *ctx, struct rm_string **argv, struct chain *c,
                             uint64_t iterator)
{
    struct weir_bytes chunk = arg_bytes(argv[3]);
    uint64_t offset = iterator - 1 - chunk.size;
    struct link *l = iterator > chunk.size && chunk.size > 0 ? link_at(c, &offset) : NULL;

    if (!l || chunk.size > l->size - offset)
        return rm.ReplyWithError(ctx, "received bad data");
    memcpy(l->cells + offset, chunk.data, chunk.size);
    return loaded(ctx, argv[1], &c->is);
}

static int load_head(struct rm_ctx *ctx, struct rm_string **argv, uint64_t version, bool cuckoo)
{
    struct weir_bytes head = arg_bytes(argv[3]);
    struct value_loading *l = NULL;
    uint64_t total;

    if (!cursor_is_head(head.data, head.size, &total))
        return version > 0 ? rm.ReplyWithError(ctx, "received bad data")
                           : load_import_head(ctx, argv, cuckoo);
    if (transfer_fits(ctx, total))
        l = loading_begin(version, total);
    if (!l)
        return rm.ReplyWithError(ctx, INSUFFICIENT);
    value_put(ctx, argv[1], &l->is);
    return loaded(ctx, argv[1], &l->is);
}

/* The chunk with this number; the first one after the head has number 2. */
static int load_chunk(struct rm_ctx *ctx, struct rm_string **argv, struct value_loading *l,
                      uint64_t version, uint64_t number)
{
    struct weir_bytes chunk = arg_bytes(argv[3]);

    if (!l || l->total == 0 || l->version != version || number != l->chunks + 2 ||
        chunk.size == 0 || chunk.size > l->total - l->have)
        return rm.ReplyWithError(ctx, "received bad data");
    if (l->have + chunk.size == l->total)
        return transfer_finish(ctx, argv, l);
    if (!loading_add(l, chunk.data, chunk.size))
        return rm.ReplyWithError(ctx, INSUFFICIENT);
    return loaded(ctx, argv[1], &l->is);
}

static int loadchunk(struct rm_ctx *ctx, struct rm_string **argv, int argc, bool cuckoo)
{
    long long iterator;
    struct chain *c;

    if (rm.StringToLongLong(argv[2], &iterator) != RM_OK)
        return refuse_iterator(ctx, cuckoo);
    struct opened o = key_open(ctx, argv[1], KEY_CHANGE, cuckoo ? &family_cuckoo : &family_bloom);
    uint64_t version = (uint64_t)iterator >> 32, number = (uint64_t)iterator & UINT32_MAX;
    if (o.wrong && !o.loading)
        return key_refuse(ctx, &o);
    c = o.value;
    if (c && c->imported && iterator != 1)
        load_import_chunk(ctx, argv, c, (uint64_t)iterator);
    else if (c)
        rm.ReplyWithError(ctx, "ERR item exists");
    else if (number == 1)
        load_head(ctx, argv, version, cuckoo);
    else
        load_chunk(ctx, argv, o.loading, version, number);
    return RM_OK;
}

/* ---- the commands ---- */

COMMAND(bf_scandump, scandump, false)
COMMAND(bf_loadchunk, loadchunk, false)
COMMAND(cf_scandump, scandump, true)
COMMAND(cf_loadchunk, loadchunk, true)
