/* topk.c - the commands TOPK.* of RedisBloom: the k most frequent items. */
#include <stdio.h>

#include "server/reply.h"
#include "server/server.h"
#include "topk/top_value.h"
#include "value/value.h"

/* The default seed of all keys: clients expect that the same items are expelled each time, also
 * from a sketch so small that they share buckets. */
#define SEED 1
#define INCREMENT_MAX 100000
#define MISSING "TopK: key does not exist"
#define BAD_INCREMENT                                                                              \
    "TopK: increment must be an integer greater or equal to 0 and smaller or equal to 100,000"

/* ---- TOPK.RESERVE key k [width depth decay] ---- */

static bool is_count(const struct rm_string *arg, uint64_t *number, uint64_t most)
{
    return arg_u64(arg, number) && *number >= 1 && *number <= most;
}

static const char *parse(struct top_request *w, struct rm_string **argv, int argc)
{
    if (!is_count(argv[2], &w->k, UINT32_MAX))
        return "TopK: invalid k";
    if (argc == 3)
        return NULL;
    if (!is_count(argv[3], &w->width, UINT32_MAX))
        return "TopK: invalid width";
    if (!is_count(argv[4], &w->depth, TOP_DEPTH_MAX))
        return "TopK: invalid depth";
    if (rm.StringToDouble(argv[5], &w->decay) != RM_OK || !(w->decay > 0 && w->decay <= 1))
        return "TopK: invalid decay";
    if (argc == 8 && (!arg_is(argv[6], "SEED") || !arg_u64(argv[7], &w->seed)))
        return "TopK: invalid seed";
    return NULL;
}

static int topk_reserve(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct top_request request = {
        .width = 8, .depth = 7, .decay = 0.9, .seeded = true, .seed = SEED};
    struct weir_error error;
    char decay[32], seed[32];
    const char *why;
    struct top *t;

    if (argc != 3 && argc != 6 && argc != 8)
        return rm.WrongArity(ctx);
    struct opened o = key_open(ctx, argv[1], KEY_CHANGE, &family_top);
    if (o.busy)
        return key_refuse(ctx, &o);
    why = o.value || o.wrong ? "TopK: key already exists" : parse(&request, argv, argc);
    if (why)
        return rm.ReplyWithError(ctx, why);
    t = top_open(&request, server_limit(ctx), &error);
    if (!t)
        return rm.ReplyWithError(ctx, error.status == WEIR_BAD_CONFIG
                                          ? "TopK: invalid decay"
                                          : "TopK: Insufficient memory to create the key");
    value_put(ctx, argv[1], &t->is);
    snprintf(decay, sizeof decay, "%.17g", t->decay);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)top_seed(t));
    rm.Replicate(ctx, "TOPK.RESERVE", "slllccc", argv[1], (long long)t->k, (long long)t->width,
                 (long long)t->depth, decay, "SEED", seed);
    key_told(ctx, argv[1], &t->is, "topk.reserve");
    return reply_ok(ctx);
}

/* ---- items ---- */

/* Count one item and reply with the expelled one. After *short_of_memory nothing is counted. */
static void add(struct rm_ctx *ctx, struct top *t, struct rm_string *item, uint64_t amount,
                bool *short_of_memory)
{
    struct kept expelled = {0};

    if (!*short_of_memory)
        *short_of_memory = !top_add(t, arg_bytes(item), amount, &expelled);
    if (*short_of_memory)
        reply_code(ctx, WEIRMEMORY);
    else if (expelled.item && ++server_stats.evictions)
        rm.ReplyWithStringBuffer(ctx, expelled.item, expelled.size);
    else
        rm.ReplyWithNull(ctx);
    server_give(expelled.item);
}

/* `done` of the arguments were carried out. */
static int finish(struct rm_ctx *ctx, struct top *t, struct rm_string **argv, int argc, int done,
                  const char *command)
{
    if (done == argc - 2)
        rm.ReplicateVerbatim(ctx);
    else if (done > 0)
        rm.Replicate(ctx, command, "sv", argv[1], argv + 2, (size_t)done);
    key_told(ctx, argv[1], &t->is, "topk.add");
    return RM_OK;
}

static int topk_add(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    bool short_of_memory = false;
    int done = 0;

    struct top *t = key_value(ctx, argv[1], KEY_CHANGE, &family_top, MISSING);
    if (!t)
        return RM_OK;
    rm.ReplyWithArray(ctx, argc - 2);
    for (int i = 2; i < argc; i++) {
        add(ctx, t, argv[i], 1, &short_of_memory);
        done += !short_of_memory;
    }
    return finish(ctx, t, argv, argc, done, "TOPK.ADD");
}

static bool is_increment(const struct rm_string *arg, uint64_t *amount)
{
    return arg_u64(arg, amount) && *amount <= INCREMENT_MAX;
}

static int topk_incrby(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    bool short_of_memory = false;
    uint64_t amount;
    int good = 2, done = 0;

    if (argc % 2 != 0)
        return rm.WrongArity(ctx);
    struct top *t = key_value(ctx, argv[1], KEY_CHANGE, &family_top, MISSING);
    if (!t)
        return RM_OK;
    while (good < argc && is_increment(argv[good + 1], &amount))
        good += 2;
    rm.ReplyWithArray(ctx, (good - 2) / 2 + (good < argc));
    for (int i = 2; i < good; i += 2) {
        is_increment(argv[i + 1], &amount);
        add(ctx, t, argv[i], amount, &short_of_memory);
        done += short_of_memory ? 0 : 2;
    }
    if (good < argc) /* and nothing after it */
        rm.ReplyWithError(ctx, BAD_INCREMENT);
    return finish(ctx, t, argv, argc, done, "TOPK.INCRBY");
}

static int ask(struct rm_ctx *ctx, struct rm_string **argv, int argc, bool count)
{
    const struct top *t = key_value(ctx, argv[1], KEY_READ, &family_top, MISSING);
    if (!t)
        return RM_OK;
    rm.ReplyWithArray(ctx, argc - 2);
    for (int i = 2; i < argc; i++)
        if (count)
            rm.ReplyWithLongLong(ctx, (long long)top_count(t, arg_bytes(argv[i])));
        else
            reply_bool(ctx, top_has(t, arg_bytes(argv[i])));
    return RM_OK;
}

LOCAL_COMMAND(topk_query, ask, false)
LOCAL_COMMAND(topk_count, ask, true)

/* ---- lists ---- */

static int topk_list(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct kept *list;
    size_t n;

    if (argc > 3)
        return rm.WrongArity(ctx);
    const struct top *t = key_value(ctx, argv[1], KEY_READ, &family_top, MISSING);
    if (!t)
        return RM_OK;
    if (argc == 3 && !arg_is(argv[2], "WITHCOUNT"))
        return rm.ReplyWithError(ctx, "WITHCOUNT keyword expected");
    list = top_sorted(t, &n);
    if (!list)
        return reply_code(ctx, WEIRMEMORY);
    rm.ReplyWithArray(ctx, (long)(argc == 3 ? 2 * n : n));
    for (size_t i = 0; i < n; i++) {
        rm.ReplyWithStringBuffer(ctx, list[i].item, list[i].size);
        if (argc == 3)
            rm.ReplyWithLongLong(ctx, list[i].count);
    }
    server_give(list);
    return RM_OK;
}

static int topk_info(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    const struct top *t = key_value(ctx, argv[1], KEY_READ, &family_top, MISSING);
    if (!t)
        return RM_OK;
    rm.ReplyWithMap(ctx, 4);
    reply_field(ctx, "k", (long long)t->k);
    reply_field(ctx, "width", (long long)t->width);
    reply_field(ctx, "depth", (long long)t->depth);
    rm.ReplyWithSimpleString(ctx, "decay");
    rm.ReplyWithDouble(ctx, t->decay);
    return RM_OK;
}

/* clang-format off */
const struct module_command commands_topk[] = {
    {"topk.reserve", topk_reserve, "write deny-oom", -3, KEY_CHANGE,
     "Creates a list of the k most frequent items", "O(width * depth)",
     "#k #width,#depth,%decay? SEED=#seed?"},
    {"topk.add", topk_add, "write deny-oom fast", -3, KEY_CHANGE,
     "Counts items; returns those expelled from the list", "O(items * (depth + log k))", "item+"},
    {"topk.incrby", topk_incrby, "write deny-oom fast", -4, KEY_CHANGE,
     "Adds to the counts of items; returns those expelled", "O(items * (depth + log k))",
     "item,#increment+"},
    {"topk.query", topk_query, "readonly fast", -3, KEY_READ,
     "Returns 1 for each item in the list, else 0", "O(items)", "item+"},
    {"topk.count", topk_count, "readonly fast", -3, KEY_READ,
     "Returns the estimated counts of items", "O(items * depth)", "item+"},
    {"topk.list", topk_list, "readonly fast", -2, KEY_READ,
     "Lists the most frequent items", "O(k log k)", "!WITHCOUNT?"},
    {"topk.info", topk_info, "readonly fast", 2, KEY_READ,
     "Returns k, width, depth and decay", "O(1)", ""},
    {0},
};
/* clang-format on */
