/* commands.c - what BF.* and CF.* have in common: creating a key, and EXISTS and MEXISTS. */
#include <stdio.h>

#include "chain/chain.h"
#include "server/reply.h"
#include "server/server.h"

const char *chain_number(const struct rm_string *arg, uint64_t *number, long long min,
                         long long max, const char *no_number, const char *out_of_range)
{
    long long value;

    if (rm.StringToLongLong(arg, &value) != RM_OK)
        return no_number;
    *number = (uint64_t)value;
    return value >= min && value <= max ? NULL : out_of_range;
}

/* ---- creating ---- */

static void replicate_bloom(struct rm_ctx *ctx, struct rm_string *name, const struct chain *c)
{
    char rate[32], tightening[32];

    snprintf(rate, sizeof rate, "%.17g", c->error);
    snprintf(tightening, sizeof tightening, "%.17g", c->tightening);
    rm.Replicate(ctx, "BF.RESERVE", "sclclclcc", name, rate, (long long)c->asked, "EXPANSION",
                 (long long)c->expansion, "SEED", (long long)c->seed, "TIGHTENING", tightening);
}

static void replicate_cuckoo(struct rm_ctx *ctx, struct rm_string *name, const struct chain *c)
{
    char seed[32];

    snprintf(seed, sizeof seed, "%llu", (unsigned long long)c->seed);
    rm.Replicate(ctx, "CF.RESERVE", "slclclclcc", name, (long long)c->asked, "BUCKETSIZE",
                 (long long)c->bucket_size, "MAXITERATIONS", (long long)c->moves, "EXPANSION",
                 (long long)c->expansion, "SEED", seed);
}

struct chain *chain_create(struct rm_ctx *ctx, struct rm_string *name,
                           const struct chain_request *request)
{
    const char *no_memory = "ERR Insufficient memory to create filter";
    struct weir_error error;
    struct chain *c = chain_open(request, server_limit(ctx), &error);

    if (!c) {
        request->cuckoo ? rm.ReplyWithError(ctx, no_memory) : bf_refuse(ctx, no_memory);
        return NULL;
    }
    value_put(ctx, name, &c->is);
    (c->cuckoo ? replicate_cuckoo : replicate_bloom)(ctx, name, c);
    return c;
}

int chain_reserve(struct rm_ctx *ctx, struct rm_string *name, const struct chain_request *request)
{
    struct opened o =
        key_open(ctx, name, KEY_CHANGE, request->cuckoo ? &family_cuckoo : &family_bloom);
    struct chain *c;

    if (o.wrong)
        return key_refuse(ctx, &o);
    if (o.value)
        return rm.ReplyWithError(ctx, "ERR item exists");
    if (!(c = chain_create(ctx, name, request)))
        return RM_OK;
    key_told(ctx, name, &c->is, c->cuckoo ? "cf.reserve" : "bf.reserve");
    return reply_ok(ctx);
}

/* ---- items ---- */

size_t chain_hash_items(const struct chain *c, struct rm_string **items, size_t n,
                        struct weir_key *keys)
{
    struct weir_bytes bytes[ITEMS_AT_ONCE];

    n = n < ITEMS_AT_ONCE ? n : ITEMS_AT_ONCE;
    for (size_t i = 0; i < n; i++)
        bytes[i] = arg_bytes(items[i]);
    chain_hash(c, bytes, n, keys);
    return n;
}

/* A missing key contains no item. Nor does one of another type, as in RedisBloom. */
int chain_exists(struct rm_ctx *ctx, struct rm_string **argv, int argc, bool cuckoo, bool many)
{
    struct opened o = key_open(ctx, argv[1], KEY_READ, cuckoo ? &family_cuckoo : &family_bloom);
    struct weir_key keys[ITEMS_AT_ONCE];
    uint8_t verdicts[ITEMS_AT_ONCE] = {0};
    size_t n = (size_t)argc - 2, m;

    if (o.busy || (o.wrong && !cuckoo && settings_valkey()))
        return key_refuse(ctx, &o);
    if (many)
        rm.ReplyWithArray(ctx, (long)n);
    for (size_t i = 0; i < n; i += m) {
        m = n - i < ITEMS_AT_ONCE ? n - i : ITEMS_AT_ONCE;
        if (o.value)
            chain_ask(o.value, keys, chain_hash_items(o.value, argv + 2 + i, m, keys), verdicts);
        for (size_t j = 0; j < m; j++)
            reply_bool(ctx, verdicts[j]);
    }
    return RM_OK;
}
