/* cf.c - CF.EXISTS, CF.MEXISTS, CF.COUNT, CF.DEL, CF.INFO, CF.DEBUG, CF.COMPACT, and the list of
 * all CF.*. */
#include "chain/chain.h"
#include "server/reply.h"
#include "server/server.h"

#include <stdio.h>

LOCAL_COMMAND(cf_exists, chain_exists, true, false)
LOCAL_COMMAND(cf_mexists, chain_exists, true, true)

/* As in RedisBloom, a key of another type counts as missing in CF.COUNT, CF.DEL and CF.COMPACT.
 * NULL after an error reply. */
static struct chain *open_to_change(struct rm_ctx *ctx, struct rm_string *name, const char *missing)
{
    struct opened o = key_open(ctx, name, KEY_CHANGE, &family_cuckoo);

    if (o.busy)
        key_refuse(ctx, &o);
    else if (!o.value)
        rm.ReplyWithError(ctx, missing);
    return o.value;
}

static int cf_count(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct opened o = key_open(ctx, argv[1], KEY_READ, &family_cuckoo);
    struct weir_key key;

    if (o.busy)
        return key_refuse(ctx, &o);
    if (!o.value)
        return rm.ReplyWithLongLong(ctx, 0);
    chain_hash_items(o.value, argv + 2, 1, &key);
    return rm.ReplyWithLongLong(ctx, (long long)chain_count(o.value, key));
}

static int cf_del(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct chain *c = open_to_change(ctx, argv[1], "Not found");
    struct weir_key key;

    if (!c)
        return RM_OK;
    chain_hash_items(c, argv + 2, 1, &key);
    bool there = chain_remove(c, key);
    reply_bool(ctx, there);
    if (there)
        key_changed(ctx, argv[1], &c->is, "cf.del");
    return RM_OK;
}

static int cf_info(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    const struct chain *c = key_value(ctx, argv[1], KEY_READ, &family_cuckoo, "ERR not found");

    if (!c)
        return RM_OK;
    rm.ReplyWithMap(ctx, 8);
    reply_field(ctx, "Size", (long long)(c->imported ? import_bytes(c) : c->is.bytes));
    reply_field(ctx, "Number of buckets", (long long)chain_buckets(c));
    reply_field(ctx, "Number of filters", c->n);
    reply_field(ctx, "Number of items inserted", (long long)c->items);
    reply_field(ctx, "Number of items deleted", (long long)c->deleted);
    reply_field(ctx, "Bucket size", (long long)c->bucket_size);
    reply_field(ctx, "Expansion rate", (long long)c->expansion);
    reply_field(ctx, "Max iterations", (long long)c->moves);
    return RM_OK;
}

static int cf_debug(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    const struct chain *c = key_value(ctx, argv[1], KEY_READ, &family_cuckoo, "ERR not found");
    char text[256];

    if (!c)
        return RM_OK;
    snprintf(text, sizeof text,
             "bktsize:%llu buckets:%llu items:%llu deletes:%llu filters:%u max_iterations:%llu "
             "expansion:%llu",
             (unsigned long long)c->bucket_size, (unsigned long long)chain_buckets(c),
             (unsigned long long)c->items, (unsigned long long)c->deleted, c->n,
             (unsigned long long)c->moves, (unsigned long long)c->expansion);
    reply_text(ctx, text);
    return RM_OK;
}

static int cf_compact(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct chain *c = open_to_change(ctx, argv[1], "Cuckoo filter was not found");

    if (!c)
        return RM_OK;
    if (chain_compact(c))
        key_changed(ctx, argv[1], &c->is, "cf.compact");
    return reply_ok(ctx);
}

/* clang-format off */
const struct module_command commands_cf[] = {
    {"cf.reserve", cf_reserve, "write deny-oom", -3, KEY_CHANGE,
     "Creates a cuckoo filter with a capacity", "O(capacity)",
     "#capacity BUCKETSIZE=#size? MAXITERATIONS=#iterations? EXPANSION=#expansion? SEED=#seed?"},
    {"cf.add", cf_add, "write deny-oom fast", 3, KEY_CHANGE,
     "Adds an item to a cuckoo filter", "O(filters of the chain)", "item"},
    {"cf.addnx", cf_addnx, "write deny-oom fast", 3, KEY_CHANGE,
     "Adds an item to a cuckoo filter unless it is in it", "O(filters of the chain)", "item"},
    {"cf.insert", cf_insert, "write deny-oom fast", -4, KEY_CHANGE,
     "Adds items to a cuckoo filter; creates it if it does not exist", "O(items * filters of the chain)",
     "CAPACITY=#capacity? !NOCREATE? !ITEMS item+"},
    {"cf.insertnx", cf_insertnx, "write deny-oom fast", -4, KEY_CHANGE,
     "Adds those items to a cuckoo filter that are not in it", "O(items * filters of the chain)",
     "CAPACITY=#capacity? !NOCREATE? !ITEMS item+"},
    {"cf.exists", cf_exists, "readonly fast", 3, KEY_READ,
     "Returns 1 if the item is in the filter, else 0", "O(filters of the chain)", "item"},
    {"cf.mexists", cf_mexists, "readonly fast", -3, KEY_READ,
     "Returns 1 for each item in the filter, else 0", "O(items * filters of the chain)", "item+"},
    {"cf.count", cf_count, "readonly fast", 3, KEY_READ,
     "Returns how many times an item is in the filter", "O(filters of the chain)", "item"},
    {"cf.del", cf_del, "write fast", 3, KEY_CHANGE,
     "Removes one occurrence of an item", "O(filters of the chain)", "item"},
    {"cf.info", cf_info, "readonly fast", 2, KEY_READ,
     "Describes a cuckoo filter", "O(filters of the chain)", ""},
    {"cf.debug", cf_debug, "readonly fast", 2, KEY_READ,
     "Describes a cuckoo filter in one line", "O(filters of the chain)", ""},
    {"cf.compact", cf_compact, "write", 2, KEY_CHANGE,
     "Frees the empty filters of the chain", "O(filters of the chain)", ""},
    {"cf.scandump", cf_scandump, "readonly", 3, KEY_READ,
     "Returns a cuckoo filter in chunks", "O(capacity)", "#iterator"},
    {"cf.loadchunk", cf_loadchunk, "write deny-oom", 4, KEY_CHANGE,
     "Creates a cuckoo filter from the chunks of CF.SCANDUMP", "O(chunk), O(capacity) for the last",
     "#iterator data"},
    {0},
};
/* clang-format on */
