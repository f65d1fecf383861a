/* cf_info.c - CF.INFO, CF.DEBUG, CF.COMPACT. */
#include <stdio.h>

#include "cf/cf.h"
#include "server/reply.h"

/* Of the first filter, as clients know them: a power of two, with a place for each item. */
static uint64_t buckets(const struct chain *c)
{
    return chain_buckets(c->asked, c->bucket_size);
}

/* The filter of a key, or NULL after an error reply: then the key is closed. */
static struct chain *open_chain(struct rm_ctx *ctx, struct rm_string *name, int mode,
                                const char *missing, struct opened *o)
{
    *o = key_open(ctx, name, mode, &family_cuckoo);
    if (o->wrong) {
        key_refuse(ctx, o);
    } else if (!o->value) {
        rm.ReplyWithError(ctx, missing);
        key_close(o);
    }
    return o->value;
}

int cf_info(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    const struct chain *c;
    struct opened o;

    if (argc != 2)
        return rm.WrongArity(ctx);
    if (!(c = open_chain(ctx, argv[1], RM_READ, "ERR not found", &o)))
        return RM_OK;
    rm.ReplyWithMap(ctx, 8);
    reply_field(ctx, "Size", (long long)chain_bytes(c));
    reply_field(ctx, "Number of buckets", (long long)buckets(c));
    reply_field(ctx, "Number of filters", c->n);
    reply_field(ctx, "Number of items inserted", (long long)chain_items(c));
    reply_field(ctx, "Number of items deleted", (long long)c->deleted);
    reply_field(ctx, "Bucket size", (long long)c->bucket_size);
    reply_field(ctx, "Expansion rate", (long long)c->expansion);
    reply_field(ctx, "Max iterations", (long long)c->moves);
    return key_close(&o);
}

int cf_debug(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    const struct chain *c;
    struct opened o;
    char text[256];

    if (argc != 2)
        return rm.WrongArity(ctx);
    if (!(c = open_chain(ctx, argv[1], RM_READ, "ERR not found", &o)))
        return RM_OK;
    snprintf(text, sizeof text,
             "bktsize:%llu buckets:%llu items:%llu deletes:%llu filters:%u max_iterations:%llu "
             "expansion:%llu",
             (unsigned long long)c->bucket_size, (unsigned long long)buckets(c),
             (unsigned long long)chain_items(c), (unsigned long long)c->deleted, c->n,
             (unsigned long long)c->moves, (unsigned long long)c->expansion);
    reply_text(ctx, text);
    return key_close(&o);
}

/* Fingerprints are not moved from one filter to another, whose buckets are others. */
int cf_compact(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct opened o;
    struct chain *c;

    if (argc != 2)
        return rm.WrongArity(ctx);
    if (!(c = open_chain(ctx, argv[1], RM_READ | RM_WRITE, "Cuckoo filter was not found", &o)))
        return RM_OK;
    if (chain_drop_empty(c))
        key_changed(ctx, argv[1], &c->is, "cf.compact");
    reply_ok(ctx);
    return key_close(&o);
}
