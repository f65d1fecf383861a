/* bf.c - BF.RESERVE, BF.ADD, BF.MADD, BF.INSERT, BF.LOAD, and error texts. */
#include <math.h>
#include <string.h>
#include <weir/hash.h>

#include "chain/chain.h"
#include "server/reply.h"
#include "server/server.h"
#include "value/image.h"

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

/* ---- arguments: NULL, or the error reply ---- */

struct bf_insertion {
    struct chain_request request;
    bool expands, fixed, no_create;
    uint64_t scale_to; /* items that it must be able to grow to; 0: not given */
    int items;         /* index of the first */
};

/* The parameters of a filter that BF.ADD creates. */
static struct chain_request default_request(void)
{
    const struct settings *now = settings_now();

    return (struct chain_request){.error = now->bf_error,
                                  .tightening = CHAIN_TIGHTENING,
                                  .capacity = (uint64_t)now->bf_capacity,
                                  .expansion = (uint64_t)now->bf_expansion};
}

static const char *take_error(const struct rm_string *arg, struct chain_request *request,
                              const char *bad)
{
    if (rm.StringToDouble(arg, &request->error) != RM_OK || isnan(request->error))
        return bad;
    return request->error > 0 && request->error < 1
               ? NULL
               : "ERR error rate must be in the range (0.000000, 1.000000)";
}

static const char *take_capacity(const struct rm_string *arg, struct chain_request *request,
                                 const char *bad)
{
    const char *why = chain_number(arg, &request->capacity, 1, 1073741824, bad,
                                   "ERR capacity must be in the range [1, 1073741824]");

    return why && why != bad && request->capacity == 0 && settings_valkey()
               ? "ERR (capacity should be larger than 0)"
               : why;
}

/* Any 32 bytes, as in valkey-bloom, or the integer that this module replicates. */
static const char *take_seed(const struct rm_string *arg, struct chain_request *request)
{
    struct weir_bytes bytes = arg_bytes(arg);
    long long number;

    request->seeded = true;
    if (bytes.size == 32)
        request->seed = weir_hash_bytes(WEIR_HASH_XXH3, 0, bytes.data, bytes.size).lo;
    else if (rm.StringToLongLong(arg, &number) == RM_OK)
        request->seed = (uint64_t)number;
    else if (!arg_u64(arg, &request->seed))
        return "ERR invalid seed";
    return NULL;
}

static const char *take_tightening(const struct rm_string *arg, struct chain_request *request)
{
    return rm.StringToDouble(arg, &request->tightening) == RM_OK && request->tightening > 0 &&
                   request->tightening < 1
               ? NULL
               : "ERR tightening ratio should be in the range (0, 1)";
}

/* Parse the option at argv[*i]. *i becomes the index of its value, if it has one. */
static const char *parse_option(struct bf_insertion *in, bool reserve, struct rm_string **argv,
                                int argc, int *i)
{
    const char *unknown = "Unknown argument received";
    const struct rm_string *option = argv[*i], *value;
    struct chain_request *request = &in->request;

    if (arg_is(option, "NONSCALING")) {
        in->fixed = true;
        return NULL;
    }
    if (!reserve && arg_is(option, "NOCREATE")) {
        in->no_create = true;
        return NULL;
    }
    in->expands = in->expands || arg_is(option, "EXPANSION");
    if (++*i == argc)
        return reserve && arg_is(option, "EXPANSION") ? "ERR no expansion" : unknown;
    value = argv[*i];
    if (arg_is(option, "EXPANSION"))
        return chain_number(value, &request->expansion, 0, 32768,
                            reserve ? "ERR bad expansion" : "Bad expansion",
                            "ERR expansion must be in the range [0, 32768]");
    if (arg_is(option, "SEED"))
        return take_seed(value, request);
    if (arg_is(option, "TIGHTENING"))
        return take_tightening(value, request);
    if (reserve)
        return unknown;
    if (arg_is(option, "CAPACITY"))
        return take_capacity(value, request, "Bad capacity");
    if (arg_is(option, "ERROR"))
        return take_error(value, request, "Bad error rate");
    if (arg_is(option, "VALIDATESCALETO"))
        return arg_u64(value, &in->scale_to) && in->scale_to > 0 ? NULL : "ERR bad validatescaleto";
    return unknown;
}

/* Options up to ITEMS. */
static const char *parse_options(struct bf_insertion *in, bool reserve, struct rm_string **argv,
                                 int argc, int i)
{
    const char *why = NULL;

    for (; i < argc && !why && (reserve || !arg_is(argv[i], "ITEMS")); i++)
        why = parse_option(in, reserve, argv, argc, &i);
    in->items = i + 1;
    if (!why && reserve && in->fixed && in->expands && in->request.expansion > 0)
        why = "Nonscaling filters cannot expand";
    if (in->fixed)
        in->request.expansion = 0;
    return why;
}

/* Does LARGEST allow the filter to grow to `scale_to` items? Estimates 1.44 log2(1/error) bits per
 * item. */
static const char *check_scale(struct rm_ctx *ctx, const struct bf_insertion *in)
{
    const struct chain_request *w = &in->request;
    double capacity = (double)w->capacity, error = w->error * w->tightening, all = capacity, bits;
    uint64_t most = server_limit(ctx);

    if (in->scale_to == 0)
        return NULL;
    if (w->expansion == 0 && in->scale_to > w->capacity)
        return "ERR provided VALIDATESCALETO is larger than what a nonscaling filter can hold";
    bits = capacity * 1.44 * log2(1 / error);
    for (int i = 0; i < 1000 && all < (double)in->scale_to; i++) {
        capacity *= (double)w->expansion;
        error *= w->tightening;
        all += capacity;
        bits += capacity * 1.44 * log2(1 / error);
    }
    return most > 0 && bits / 8 > (double)most
               ? "ERR provided VALIDATESCALETO causes bloom object to exceed memory limit"
               : NULL;
}

/* BF.RESERVE key error capacity [EXPANSION n] [NONSCALING] */
static int bf_reserve(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct bf_insertion in = {.request = default_request()};
    const char *why = take_error(argv[2], &in.request, "ERR bad error rate");

    if (!why)
        why = take_capacity(argv[3], &in.request, "ERR bad capacity");
    if (!why)
        why = parse_options(&in, true, argv, argc, 4);
    return why ? bf_refuse(ctx, why) : chain_reserve(ctx, argv[1], &in.request);
}

/* ---- adding ---- */

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

/* Add n items and reply with an array of them, which ends at the first that cannot be added.
 * Returns the number of items processed. */
static size_t add_items(struct rm_ctx *ctx, struct chain *c, struct rm_string **items, size_t n)
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
        size_t m = chain_hash_items(c, items + i, n - i, keys);
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

    chain_hash_items(c, &item, 1, &key);
    add_keys(ctx, c, &key, 1, &seen, &why);
    if (why)
        bf_refuse(ctx, why);
    else
        reply_bool(ctx, !seen);
    return !why;
}

/* The commands that add. BF.ADD has one item, and its reply is not an array. */
enum adding { ADD, MADD, INSERT };

static int add(struct rm_ctx *ctx, struct rm_string **argv, int argc, enum adding command,
               const struct bf_insertion *in)
{
    struct opened o = key_open(ctx, argv[1], KEY_CHANGE, &family_bloom);
    struct rm_string **items = argv + in->items;
    size_t n = in->items < argc ? (size_t)(argc - in->items) : 0, done;
    struct chain *c = o.value;
    uint64_t before;

    if (o.wrong)
        return key_refuse(ctx, &o);
    if (!c && in->no_create)
        return rm.ReplyWithError(ctx, "ERR not found");
    if (!c && !(c = chain_create(ctx, argv[1], &in->request)))
        return RM_OK;
    before = o.value ? c->items : UINT64_MAX; /* a new key is a change */
    done = command == ADD ? add_item(ctx, c, items[0]) : add_items(ctx, c, items, n);
    if (done == n && command != INSERT)
        rm.ReplicateVerbatim(ctx);
    else if (done > 0) /* a server with more memory must not add the others either */
        rm.Replicate(ctx, "BF.MADD", "sv", argv[1], items, done);
    if (c->items != before)
        key_told(ctx, argv[1], &c->is, command == INSERT ? "bf.insert" : "bf.add");
    return RM_OK;
}

static int add_items_only(struct rm_ctx *ctx, struct rm_string **argv, int argc,
                          enum adding command)
{
    struct bf_insertion in = {.request = default_request(), .items = 2};

    return add(ctx, argv, argc, command, &in);
}

LOCAL_COMMAND(bf_add, add_items_only, ADD)
LOCAL_COMMAND(bf_madd, add_items_only, MADD)

static int bf_insert(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct bf_insertion in = {.request = default_request()};
    const char *why = parse_options(&in, false, argv, argc, 2);

    if ((argc < 4 && !settings_valkey()) || (!why && in.items == argc) ||
        (!why && in.items > argc && !settings_valkey()))
        return rm.WrongArity(ctx);
    if (!why)
        why = check_scale(ctx, &in);
    return why ? bf_refuse(ctx, why) : add(ctx, argv, argc, INSERT, &in);
}

/* ---- asking ---- */

LOCAL_COMMAND(bf_exists, chain_exists, false, false)
LOCAL_COMMAND(bf_mexists, chain_exists, false, true)

/* ---- BF.LOAD of valkey-bloom: a whole filter in one argument, here from WEIR.SAVE ---- */

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
    struct opened o = key_open(ctx, argv[1], KEY_CHANGE, &family_bloom);
    struct value *v;
    if (o.wrong)
        return key_refuse(ctx, &o);
    if (o.value) {
        rm.ReplyWithError(ctx, "BUSYKEY Target key name already exists.");
    } else if ((v = read_bytes(ctx, arg_bytes(argv[2])))) {
        value_put(ctx, argv[1], v);
        key_changed(ctx, argv[1], v, "bf.load");
        reply_ok(ctx);
    } else {
        rm.ReplyWithError(ctx, "ERR bloom object decoding failed");
    }
    return RM_OK;
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
