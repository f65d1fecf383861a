/* cf_insert.c - CF.RESERVE, CF.ADD, CF.ADDNX, CF.INSERT, CF.INSERTNX. */
#include "chain/chain.h"
#include "server/reply.h"
#include "server/server.h"

/* Of all filters of a chain. CF.DEL removes an item from the newest filter that seems to have it.
 * If that is a false positive, another item is lost; a low rate makes that rare. */
#define CF_ERROR 0.001

/* ---- arguments: NULL, or the error reply ---- */

static struct chain_request default_request(void)
{
    const struct settings *now = settings_now();

    return (struct chain_request){.cuckoo = true,
                                  .error = CF_ERROR,
                                  .tightening = CHAIN_TIGHTENING,
                                  .capacity = (uint64_t)now->cf_capacity,
                                  .expansion = (uint64_t)now->cf_expansion,
                                  .bucket_size = (uint64_t)now->cf_bucket_size,
                                  .moves = (uint64_t)now->cf_moves};
}

static const char *take_capacity(const struct rm_string *arg, struct chain_request *request)
{
    return chain_number(arg, &request->capacity, 1, 1LL << 40, "Bad capacity", "Bad capacity");
}

static const char *check_capacity(const struct chain_request *request)
{
    return request->capacity < 2 * request->bucket_size
               ? "Capacity must be at least (BucketSize * 2)"
               : NULL;
}

static const char *take_option(struct chain_request *request, struct rm_string **argv)
{
    if (arg_is(argv[0], "BUCKETSIZE"))
        return chain_number(argv[1], &request->bucket_size, 1, 255, "Couldn't parse BUCKETSIZE",
                            "BUCKETSIZE: value must be an integer between 1 and 255, inclusive.");
    if (arg_is(argv[0], "MAXITERATIONS"))
        return chain_number(
            argv[1], &request->moves, 1, 65535, "Couldn't parse MAXITERATIONS",
            "MAXITERATIONS: value must be an integer between 1 and 65535, inclusive.");
    if (arg_is(argv[0], "EXPANSION"))
        return chain_number(argv[1], &request->expansion, 0, 32768, "Couldn't parse EXPANSION",
                            "EXPANSION: value must be an integer between 0 and 32768, inclusive.");
    if (!arg_is(argv[0], "SEED"))
        return "Unknown argument received";
    request->seeded = true;
    return arg_u64(argv[1], &request->seed) ? NULL : "Couldn't parse SEED";
}

int cf_reserve(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct chain_request request = default_request();
    const char *why;

    if (argc % 2 == 0)
        return rm.WrongArity(ctx);
    why = take_capacity(argv[2], &request);
    for (int i = 3; i < argc && !why; i += 2)
        why = take_option(&request, argv + i);
    if (!why)
        why = check_capacity(&request);
    return why ? rm.ReplyWithError(ctx, why) : chain_reserve(ctx, argv[1], &request);
}

/* ---- CF.ADD, CF.ADDNX, CF.INSERT, CF.INSERTNX ---- */

struct cf_insertion {
    struct chain_request request; /* of a new filter */
    uint32_t filters;             /* maximum number in the chain; 0: the default */
    bool no_create, unless_there, many;
    int items; /* index of the first */
};

/* Add a copy, in a new filter if the others are full. *why is the error if that is not possible. */
static enum cuckoo_reply add_copy(struct rm_ctx *ctx, struct chain *c, struct weir_key key,
                                  const struct cf_insertion *in, bool *changed, const char **why)
{
    enum cuckoo_reply is = chain_insert(c, key, changed);
    struct chain_limits limits;
    bool again;

    *why = "Filter is full";
    if (is != CUCKOO_FULL || c->expansion == 0)
        return is;
    limits = chain_limits(ctx, true);
    if (in->filters > 0 && in->filters < limits.filters)
        limits.filters = in->filters;
    if (chain_grow(c, limits)) {
        is = chain_insert(c, key, &again);
        *changed = true;
    } else if (c->n >= limits.filters) {
        *why = "Maximum expansions reached";
    }
    return is;
}

/* CF.INSERTNX replies with integers in RESP3 too, because clients look for -1. */
static void answer(struct rm_ctx *ctx, enum cuckoo_reply is, const char *why,
                   const struct cf_insertion *in)
{
    if (in->many && (is == CUCKOO_FULL || in->unless_there))
        rm.ReplyWithLongLong(ctx, is);
    else if (is == CUCKOO_FULL)
        rm.ReplyWithError(ctx, why);
    else
        reply_bool(ctx, is == CUCKOO_ADDED);
}

/* Replicate n consecutive items that were added: without those that were not, which a replica might
 * be able to add. */
static void replicate_added(struct rm_ctx *ctx, struct rm_string *name, struct rm_string **items,
                            size_t n, bool many)
{
    if (n > 0 && many)
        rm.Replicate(ctx, "CF.INSERT", "scv", name, "ITEMS", items, n);
    else if (n > 0)
        rm.ReplicateVerbatim(ctx);
}

/* Replicate an item that was not added because of a limit, but may have moved others. With the
 * current number of filters as limit, a replica does the same. */
static void replicate_moves(struct rm_ctx *ctx, struct rm_string *name, struct rm_string *item,
                            const struct chain *c)
{
    rm.Replicate(ctx, "CF.INSERT", "sclcs", name, "FILTERS", (long long)c->n, "ITEMS", item);
}

/* True if the filter changed. */
static bool insert_items(struct rm_ctx *ctx, struct chain *c, const struct cf_insertion *in,
                         struct rm_string *name, struct rm_string **items, size_t n)
{
    struct weir_key keys[ITEMS_AT_ONCE];
    size_t added = 0; /* items in a row before the current one */
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        size_t j = i % ITEMS_AT_ONCE;
        enum cuckoo_reply is = CUCKOO_EXISTS;
        const char *why = NULL;
        bool changed = false;
        uint8_t there = 0;

        if (j == 0)
            chain_hash_items(c, items + i, n - i, keys);
        if (j + PREFETCH < ITEMS_AT_ONCE && i + PREFETCH < n)
            chain_prefetch(c, keys[j + PREFETCH]);
        if (in->unless_there)
            chain_ask(c, &keys[j], 1, &there);
        if (!there)
            is = add_copy(ctx, c, keys[j], in, &changed, &why);
        answer(ctx, is, why, in);
        any = any || changed || is == CUCKOO_ADDED;
        if (is == CUCKOO_ADDED) {
            added++;
            continue;
        }
        replicate_added(ctx, name, items + i - added, added, in->many);
        added = 0;
        if (changed)
            replicate_moves(ctx, name, items[i], c);
    }
    replicate_added(ctx, name, items + n - added, added, in->many);
    return any;
}

static int insert(struct rm_ctx *ctx, struct rm_string **argv, int argc,
                  const struct cf_insertion *in)
{
    struct opened o = key_open(ctx, argv[1], KEY_CHANGE, &family_cuckoo);
    struct chain *c = o.value;
    size_t n = (size_t)(argc - in->items);
    uint64_t start = in->many ? stats_start() : 0;

    if (o.wrong)
        return key_refuse(ctx, &o);
    if (!c && in->no_create)
        return rm.ReplyWithError(ctx, "ERR not found");
    if (!c && !(c = chain_create(ctx, argv[1], &in->request)))
        return RM_OK;
    if (in->many)
        rm.ReplyWithArray(ctx, (long)n);
    if (insert_items(ctx, c, in, argv[1], argv + in->items, n) || !o.value)
        key_told(ctx, argv[1], &c->is, "cf.add");
    if (in->many)
        stats_stop(start);
    return RM_OK;
}

static int add_one(struct rm_ctx *ctx, struct rm_string **argv, int argc, bool unless_there)
{
    struct cf_insertion in = {
        .request = default_request(), .unless_there = unless_there, .items = 2};

    return insert(ctx, argv, argc, &in);
}

COMMAND(cf_add, add_one, false)
COMMAND(cf_addnx, add_one, true)

static const char *take_filters(const struct rm_string *arg, uint32_t *filters)
{
    uint64_t n;

    if (!arg_u64(arg, &n) || n < 1 || n > UINT32_MAX)
        return "Couldn't parse FILTERS";
    *filters = (uint32_t)n;
    return NULL;
}

/* key [CAPACITY c] [FILTERS n] [NOCREATE] ITEMS item ... */
static const char *parse_insert(struct cf_insertion *in, struct rm_string **argv, int argc)
{
    const char *why = NULL;

    for (; !why && in->items < argc && !arg_is(argv[in->items], "ITEMS"); in->items++) {
        struct rm_string *option = argv[in->items];

        if (arg_is(option, "NOCREATE"))
            in->no_create = true;
        else if (!arg_is(option, "CAPACITY") && !arg_is(option, "FILTERS"))
            why = "Unknown argument received";
        else if (++in->items == argc)
            why = "Bad capacity";
        else
            why = arg_is(option, "CAPACITY") ? take_capacity(argv[in->items], &in->request)
                                             : take_filters(argv[in->items], &in->filters);
    }
    in->items++;
    return why ? why : check_capacity(&in->request);
}

static int insert_many(struct rm_ctx *ctx, struct rm_string **argv, int argc, bool unless_there)
{
    struct cf_insertion in = {
        .request = default_request(), .unless_there = unless_there, .many = true, .items = 2};
    const char *why = parse_insert(&in, argv, argc);

    if (why)
        return rm.ReplyWithError(ctx, why);
    return in.items < argc ? insert(ctx, argv, argc, &in) : rm.WrongArity(ctx);
}

COMMAND(cf_insert, insert_many, false)
COMMAND(cf_insertnx, insert_many, true)
