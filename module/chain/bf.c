/* bf.c - BF.ADD, BF.MADD, BF.EXISTS, BF.MEXISTS, BF.LOAD, error texts, and the list of all BF.*. */
#include "chain/chain.h"
#include "server/reply.h"
#include "server/server.h"
#include "value/image.h"

#include <string.h>

/* ---- error texts, as RedisBloom or as valkey-bloom has them ---- */

static const struct {
    const char *redis, *valkey;
} texts[] = {
    {"Bad error rate", "ERR bad error rate"},
    {"Bad capacity", "ERR bad capacity"},
    {"Bad expansion", "ERR bad expansion"},
    {"Unknown argument received", "ERR unknown argument received"},
    {"Invalid information value", "ERR invalid information value"},
    {"ERR error rate must be in the range (0.000000, 1.000000)", "ERR (0 < error rate range < 1)"},
    {"ERR capacity must be in the range [1, 1073741824]", "ERR bad capacity"},
    {"ERR expansion must be in the range [0, 32768]", "ERR bad expansion"},
    {"ERR tightening ratio should be in the range (0, 1)", "ERR (0 < tightening ratio range < 1)"},
    {"ERR Insufficient memory to create filter", "ERR operation exceeds bloom object memory limit"},
    {"ERR provided VALIDATESCALETO is larger than what a nonscaling filter can hold",
     "ERR cannot use NONSCALING and VALIDATESCALETO options together"},
};

int bf_refuse(struct rm_ctx *ctx, const char *text)
{
    for (size_t i = 0; settings_valkey() && i < sizeof texts / sizeof *texts; i++)
        if (strcmp(text, texts[i].redis) == 0)
            return rm.ReplyWithError(ctx, texts[i].valkey);
    return rm.ReplyWithError(ctx, text);
}

/* ---- items ---- */

static size_t hash(const struct chain *c, struct rm_string **items, size_t n, struct weir_key *keys)
{
    struct weir_bytes bytes[ITEMS_AT_ONCE];

    n = n < ITEMS_AT_ONCE ? n : ITEMS_AT_ONCE;
    for (size_t i = 0; i < n; i++)
        bytes[i] = arg_bytes(items[i]);
    chain_hash(c, bytes, n, keys);
    return n;
}

static const char *grow(struct rm_ctx *ctx, struct chain *c)
{
    struct chain_limits limits = chain_limits(ctx, false);

    if (c->expansion == 0)
        return "ERR non scaling filter is full";
    if (chain_grow(c, limits))
        return NULL;
    return c->n < limits.filters ? "ERR Insufficient memory to create filter"
                                 : "ERR the filter has its maximum of 1024 sub-filters; create one "
                                   "with a larger capacity or expansion";
}

/* Add keys until the filter is full; *why is then the error reply. */
static size_t add_keys(struct rm_ctx *ctx, struct chain *c, const struct weir_key *keys, size_t n,
                       uint8_t *verdicts, const char **why)
{
    size_t done = chain_add(c, keys, n, verdicts);

    while (done < n && !(*why = grow(ctx, c)))
        done += chain_add(c, keys + done, n - done, verdicts + done);
    return done;
}

size_t bf_add_items(struct rm_ctx *ctx, struct chain *c, struct rm_string **items, size_t n)
{
    struct weir_key keys[ITEMS_AT_ONCE];
    uint8_t verdicts[ITEMS_AT_ONCE];
    bool open = n > ITEMS_AT_ONCE; /* a length that is set later costs the server another block */
    const char *why = NULL;
    size_t added = 0, i = 0;
    uint64_t start = open ? stats_start() : 0;

    if (open)
        rm.ReplyWithArray(ctx, RM_ARRAY_OPEN);
    do {
        size_t m = hash(c, items + i, n - i, keys);
        size_t done = add_keys(ctx, c, keys, m, verdicts, &why);

        if (!open)
            rm.ReplyWithArray(ctx, (long)(done + (why != NULL)));
        for (size_t j = 0; j < done; j++)
            reply_bool(ctx, !verdicts[j]);
        i += m;
        added += done;
    } while (i < n && !why);
    if (why)
        bf_refuse(ctx, why);
    if (open) {
        rm.ReplySetArrayLength(ctx, (long)(added + (why != NULL)));
        stats_stop(start);
    }
    return added;
}

static size_t add_item(struct rm_ctx *ctx, struct chain *c, struct rm_string *item)
{
    const char *why = NULL;
    struct weir_key key;
    uint8_t seen = 0;

    hash(c, &item, 1, &key);
    add_keys(ctx, c, &key, 1, &seen, &why);
    if (why)
        bf_refuse(ctx, why);
    else
        reply_bool(ctx, !seen);
    return !why;
}

static int add(struct rm_ctx *ctx, struct rm_string **argv, int argc, bool many)
{
    struct opened o = key_open(ctx, argv[1], RM_READ | RM_WRITE, &family_bloom);
    struct chain *c = o.value;
    uint64_t before;

    if (o.wrong)
        return key_refuse(ctx, &o);
    if (!c) {
        struct chain_request request = bf_request();

        if (!(c = bf_create(ctx, argv[1], &o, &request)))
            return key_close(&o);
    }
    size_t n = (size_t)argc - 2;
    before = o.value ? c->items : UINT64_MAX; /* a new key is a change */
    size_t done = many ? bf_add_items(ctx, c, argv + 2, n) : add_item(ctx, c, argv[2]);
    if (done == n)
        rm.ReplicateVerbatim(ctx);
    else if (done > 0) /* a server with more memory must not add the others either */
        rm.Replicate(ctx, "BF.MADD", "sv", argv[1], argv + 2, done);
    if (c->items != before)
        key_told(ctx, argv[1], &c->is, "bf.add");
    return key_close(&o);
}

static int bf_add(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return add(ctx, argv, argc, false);
}

static int bf_madd(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return add(ctx, argv, argc, true);
}

/* A missing key, or one of another type, contains no item. */
static void ask(struct rm_ctx *ctx, const struct chain *c, struct rm_string **items, size_t n)
{
    struct weir_key keys[ITEMS_AT_ONCE];
    uint8_t verdicts[ITEMS_AT_ONCE] = {0};

    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < ITEMS_AT_ONCE ? n - i : ITEMS_AT_ONCE;
        if (c)
            chain_ask(c, keys, hash(c, items + i, m, keys), verdicts);
        for (size_t j = 0; j < m; j++)
            reply_bool(ctx, verdicts[j]);
    }
}

static int exists(struct rm_ctx *ctx, struct rm_string **argv, int argc, bool many)
{
    struct opened o = key_open(ctx, argv[1], RM_READ, &family_bloom);

    if (o.wrong && (settings_valkey() || o.loading))
        return key_refuse(ctx, &o);
    if (many)
        rm.ReplyWithArray(ctx, argc - 2);
    ask(ctx, o.value, argv + 2, (size_t)argc - 2);
    return key_close(&o);
}

static int bf_exists(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return exists(ctx, argv, argc, false);
}

static int bf_mexists(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return exists(ctx, argv, argc, true);
}

/* ---- BF.LOAD of valkey-bloom: a whole filter in one argument, here the output of WEIR.SAVE ----
 */

static bool nothing_follows(struct image_in *in)
{
    return false;
}

static struct value *read_bytes(struct rm_ctx *ctx, struct weir_bytes bytes)
{
    struct image_in in = {
        .next = nothing_follows, .data = bytes.data, .size = bytes.size, .most = server_limit(ctx)};
    struct weir_error error;

    return image_read(&family_bloom, &in, &error);
}

static int bf_load(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct opened o = key_open(ctx, argv[1], RM_READ | RM_WRITE, &family_bloom);
    struct value *v;
    if (o.wrong)
        return key_refuse(ctx, &o);
    if (o.value) {
        rm.ReplyWithError(ctx, "BUSYKEY Target key name already exists.");
    } else if ((v = read_bytes(ctx, arg_bytes(argv[2])))) {
        value_put(o.key, v);
        key_changed(ctx, argv[1], v, "bf.load");
        reply_ok(ctx);
    } else {
        rm.ReplyWithError(ctx, "ERR bloom object decoding failed");
    }
    return key_close(&o);
}

/* clang-format off */
const struct module_command commands_bf[] = {
    {"bf.reserve", bf_reserve, "write deny-oom", -4, KEY_CHANGE,
     "Creates a Bloom filter with an error rate and a capacity", "O(capacity)",
     "%error_rate #capacity EXPANSION=#expansion? !NONSCALING? SEED=#seed?"},
    {"bf.add", bf_add, "write deny-oom fast", 3, KEY_CHANGE,
     "Adds an item to a Bloom filter", "O(filters of the chain)", "item"},
    {"bf.madd", bf_madd, "write deny-oom fast", -3, KEY_CHANGE,
     "Adds items to a Bloom filter", "O(items * filters of the chain)", "item+"},
    {"bf.insert", bf_insert, "write deny-oom fast", -2, KEY_CHANGE,
     "Adds items to a Bloom filter; creates it if it does not exist", "O(items * filters of the chain)",
     "CAPACITY=#capacity? ERROR=%error_rate? EXPANSION=#expansion? SEED=seed? TIGHTENING=%ratio? VALIDATESCALETO=#capacity? !NOCREATE? !NONSCALING? !ITEMS item+"},
    {"bf.exists", bf_exists, "readonly fast", 3, KEY_READ,
     "Returns 1 if the item was added, else 0", "O(filters of the chain)", "item"},
    {"bf.mexists", bf_mexists, "readonly fast", -3, KEY_READ,
     "Returns 1 for each item that was added, else 0", "O(items * filters of the chain)", "item+"},
    {"bf.card", bf_card, "readonly fast", 2, KEY_READ,
     "Returns the number of items added", "O(filters of the chain)", ""},
    {"bf.info", bf_info, "readonly fast", -2, KEY_READ,
     "Describes a Bloom filter", "O(filters of the chain)", "field?"},
    {"bf.debug", bf_debug, "readonly fast", 2, KEY_READ,
     "Describes each filter of the chain", "O(filters of the chain)", ""},
    {"bf.scandump", bf_scandump, "readonly", 3, KEY_READ,
     "Returns a Bloom filter in chunks", "O(capacity)", "#iterator"},
    {"bf.loadchunk", bf_loadchunk, "write deny-oom", 4, KEY_CHANGE,
     "Creates a Bloom filter from the chunks of BF.SCANDUMP", "O(chunk), O(capacity) for the last",
     "#iterator data"},
    {"bf.load", bf_load, "write deny-oom", 3, KEY_CHANGE,
     "Creates a Bloom filter from the output of WEIR.SAVE", "O(capacity)", "data"},
    {0},
};
/* clang-format on */
