/* cf_insert.c - CF.RESERVE, CF.ADD, CF.ADDNX, CF.INSERT, CF.INSERTNX. */
#include "chain/chain.h"
#include "server/reply.h"
#include "server/server.h"

#include <stdio.h>

/* Of all filters of a chain. CF.DEL removes an item from the newest filter that seems to have it.
 * If that is a false positive, another item is lost; a low rate makes that rare. */
#define CF_ERROR 0.001
#define CAPACITY_MAX (1LL << 40)
#define BUCKET_SIZE_MAX 255
#define MOVES_MAX 65535
#define EXPANSION_MAX 32768

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

/* Create the filter of a missing key, and replicate its parameters and seed. NULL after an error
 * reply. */
static struct chain *create(struct rm_ctx *ctx, struct rm_string *name, struct opened *o,
                            const struct chain_request *request)
{
    struct weir_error error;
    struct chain *c = chain_open(request, server_limit(ctx), &error);
    char seed[32];

    if (!c) {
        rm.ReplyWithError(ctx, "ERR Insufficient memory to create filter");
        return NULL;
    }
    value_put(o->key, &c->is);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)c->seed);
    rm.Replicate(ctx, "CF.RESERVE", "slclclclcc", name, (long long)request->capacity, "BUCKETSIZE",
                 (long long)c->bucket_size, "MAXITERATIONS", (long long)c->moves, "EXPANSION",
                 (long long)c->expansion, "SEED", seed);
    return c;
}

/* The argument CAPACITY: NULL, or what is wrong with it. */
static const char *take_capacity(const struct rm_string *arg, struct chain_request *request)
{
    long long value;

    if (rm.StringToLongLong(arg, &value) != RM_OK || value < 1 || value > CAPACITY_MAX)
        return "Bad capacity";
    request->capacity = (uint64_t)value;
    return NULL;
}

/* ---- CF.RESERVE ---- */

struct option {
    const char *word, *no_number, *out_of_range;
    long long min, max;
};

static const struct option options[] = {
    {"BUCKETSIZE", "Couldn't parse BUCKETSIZE",
     "BUCKETSIZE: value must be an integer between 1 and 255, inclusive.", 1, BUCKET_SIZE_MAX},
    {"MAXITERATIONS", "Couldn't parse MAXITERATIONS",
     "MAXITERATIONS: value must be an integer between 1 and 65535, inclusive.", 1, MOVES_MAX},
    {"EXPANSION", "Couldn't parse EXPANSION",
     "EXPANSION: value must be an integer between 0 and 32768, inclusive.", 0, EXPANSION_MAX},
};

static const char *parse_option(const struct option *option, const struct rm_string *arg,
                                uint64_t *number)
{
    long long value;

    if (rm.StringToLongLong(arg, &value) != RM_OK)
        return option->no_number;
    if (value < option->min || value > option->max)
        return option->out_of_range;
    *number = (uint64_t)value;
    return NULL;
}

static const char *parse_pair(struct chain_request *request, struct rm_string **argv)
{
    uint64_t *const numbers[] = {&request->bucket_size, &request->moves, &request->expansion};

    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (arg_is(argv[0], options[i].word))
            return parse_option(&options[i], argv[1], numbers[i]);
    if (!arg_is(argv[0], "SEED"))
        return "Unknown argument received";
    request->seeded = true;
    return arg_u64(argv[1], &request->seed) ? NULL : "Couldn't parse SEED";
}

static const char *parse_reserve(struct chain_request *request, struct rm_string **argv, int argc)
{
    const char *why = take_capacity(argv[2], request);

    for (int i = 3; i + 1 < argc && !why; i += 2)
        why = parse_pair(request, argv + i);
    if (!why && request->capacity < 2 * request->bucket_size)
        why = "Capacity must be at least (BucketSize * 2)";
    return why;
}

int cf_reserve(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct chain_request request = default_request();
    const char *why;
    struct chain *c;

    if (argc % 2 == 0)
        return rm.WrongArity(ctx);
    why = parse_reserve(&request, argv, argc);
    if (why)
        return rm.ReplyWithError(ctx, why);
    struct opened o = key_open(ctx, argv[1], RM_READ | RM_WRITE, &family_cuckoo);
    if (o.wrong)
        return key_refuse(ctx, &o);
    if (o.value) {
        rm.ReplyWithError(ctx, "ERR item exists");
    } else if ((c = create(ctx, argv[1], &o, &request))) {
        key_told(ctx, argv[1], &c->is, "cf.reserve");
        reply_ok(ctx);
    }
    return key_close(&o);
}

/* ---- CF.ADD, CF.ADDNX, CF.INSERT, CF.INSERTNX ---- */

struct cf_insertion {
    uint64_t capacity; /* of a new filter; 0: the default */
    uint32_t filters;  /* maximum number in the chain; 0: the default */
    bool creates, unless_there, many;
    int items; /* index of the first */
};

static struct chain_limits limits_of(struct rm_ctx *ctx, const struct cf_insertion *in)
{
    struct chain_limits limits = chain_limits(ctx, true);

    if (in->filters > 0 && in->filters < limits.filters)
        limits.filters = in->filters;
    return limits;
}

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
    limits = limits_of(ctx, in);
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

/* Replicate an item that changed the filter. One that was not added because of a limit may have
 * moved others; with the current number of filters as limit, a replica does the same. */
static void replicate(struct rm_ctx *ctx, struct rm_string **argv, struct rm_string *item,
                      const struct chain *c, bool added, bool many)
{
    if (!added)
        rm.Replicate(ctx, "CF.INSERT", "sclcs", argv[1], "FILTERS", (long long)c->n, "ITEMS", item);
    else if (many)
        rm.Replicate(ctx, "CF.ADD", "ss", argv[1], item);
    else
        rm.ReplicateVerbatim(ctx);
}

/* True if the filter changed. */
static bool insert_items(struct rm_ctx *ctx, struct chain *c, const struct cf_insertion *in,
                         struct rm_string **argv, int argc)
{
    bool any = false;
    uint64_t start = in->many ? stats_start() : 0;

    if (in->many)
        rm.ReplyWithArray(ctx, argc - in->items);
    for (int i = in->items; i < argc; i++) {
        struct weir_key key = cf_hash(c, argv[i]);
        enum cuckoo_reply is = CUCKOO_EXISTS;
        const char *why = NULL;
        bool changed = false;

        if (!in->unless_there || !cf_has(c, key))
            is = add_copy(ctx, c, key, in, &changed, &why);
        answer(ctx, is, why, in);
        if (is == CUCKOO_ADDED || changed) {
            replicate(ctx, argv, argv[i], c, is == CUCKOO_ADDED, in->many);
            any = true;
        }
    }
    if (in->many)
        stats_stop(start);
    return any;
}

static struct chain *create_missing(struct rm_ctx *ctx, struct rm_string *name, struct opened *o,
                                    const struct cf_insertion *in)
{
    struct chain_request request = default_request();

    if (in->capacity > 0)
        request.capacity = in->capacity;
    return create(ctx, name, o, &request);
}

static int insert(struct rm_ctx *ctx, struct rm_string **argv, int argc,
                  const struct cf_insertion *in)
{
    struct opened o = key_open(ctx, argv[1], RM_READ | RM_WRITE, &family_cuckoo);
    struct chain *c = o.value;

    if (o.wrong)
        return key_refuse(ctx, &o);
    if (!c && !in->creates)
        return key_end(&o, rm.ReplyWithError(ctx, "ERR not found"));
    if (!c && !(c = create_missing(ctx, argv[1], &o, in)))
        return key_close(&o);
    if (insert_items(ctx, c, in, argv, argc) || !o.value)
        key_told(ctx, argv[1], &c->is, "cf.add");
    return key_close(&o);
}

static int add_one(struct rm_ctx *ctx, struct rm_string **argv, int argc, bool unless_there)
{
    struct cf_insertion in = {.creates = true, .unless_there = unless_there, .items = 2};

    return insert(ctx, argv, argc, &in);
}

int cf_add(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return add_one(ctx, argv, argc, false);
}

int cf_addnx(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return add_one(ctx, argv, argc, true);
}

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
    struct chain_request request = default_request();
    const char *why = NULL;

    for (; !why && in->items < argc && !arg_is(argv[in->items], "ITEMS"); in->items++) {
        struct rm_string *option = argv[in->items];

        if (arg_is(option, "NOCREATE"))
            in->creates = false;
        else if (!arg_is(option, "CAPACITY") && !arg_is(option, "FILTERS"))
            why = "Unknown argument received";
        else if (++in->items == argc)
            why = "Bad capacity";
        else
            why = arg_is(option, "CAPACITY") ? take_capacity(argv[in->items], &request)
                                             : take_filters(argv[in->items], &in->filters);
    }
    if (!why && request.capacity < 2 * request.bucket_size)
        why = "Capacity must be at least (BucketSize * 2)";
    in->capacity = request.capacity;
    in->items++;
    return why;
}

static int insert_many(struct rm_ctx *ctx, struct rm_string **argv, int argc, bool unless_there)
{
    struct cf_insertion in = {
        .creates = true, .unless_there = unless_there, .many = true, .items = 2};
    const char *why = parse_insert(&in, argv, argc);

    if (why)
        return rm.ReplyWithError(ctx, why);
    return in.items < argc ? insert(ctx, argv, argc, &in) : rm.WrongArity(ctx);
}

int cf_insert(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return insert_many(ctx, argv, argc, false);
}

int cf_insertnx(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return insert_many(ctx, argv, argc, true);
}
