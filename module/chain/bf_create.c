/* bf_create.c - BF.RESERVE and BF.INSERT. */
#include <math.h>
#include <stdio.h>
#include <weir/hash.h>

#include "chain/chain.h"
#include "server/reply.h"
#include "server/server.h"

#define CAPACITY_MAX 1073741824
#define EXPANSION_MAX 32768

struct chain_request bf_request(void)
{
    const struct settings *now = settings_now();

    return (struct chain_request){.error = now->bf_error,
                                  .tightening = CHAIN_TIGHTENING,
                                  .capacity = (uint64_t)now->bf_capacity,
                                  .expansion = (uint64_t)now->bf_expansion};
}

struct chain *bf_create(struct rm_ctx *ctx, struct rm_string *name, struct opened *o,
                        const struct chain_request *request)
{
    struct weir_error error;
    struct chain *c = chain_open(request, server_limit(ctx), &error);
    char rate[32], tightening[32];

    if (!c) {
        bf_refuse(ctx, "ERR Insufficient memory to create filter");
        return NULL;
    }
    value_put(o->key, &c->is);
    snprintf(rate, sizeof rate, "%.17g", c->error);
    snprintf(tightening, sizeof tightening, "%.17g", c->tightening);
    rm.Replicate(ctx, "BF.RESERVE", "sclclclcc", name, rate, (long long)request->capacity,
                 "EXPANSION", (long long)c->expansion, "SEED", (long long)c->seed, "TIGHTENING",
                 tightening);
    return c;
}

/* ---- values of options: NULL, or the error reply ---- */

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
    long long number;

    if (rm.StringToLongLong(arg, &number) != RM_OK)
        return bad;
    request->capacity = (uint64_t)number;
    if (number == 0 && settings_valkey())
        return "ERR (capacity should be larger than 0)";
    return number >= 1 && number <= CAPACITY_MAX
               ? NULL
               : "ERR capacity must be in the range [1, 1073741824]";
}

static const char *take_expansion(const struct rm_string *arg, struct chain_request *request,
                                  const char *bad)
{
    long long number;

    if (rm.StringToLongLong(arg, &number) != RM_OK)
        return bad;
    request->expansion = (uint64_t)number;
    return number >= 0 && number <= EXPANSION_MAX ? NULL
                                                  : "ERR expansion must be in the range [0, 32768]";
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

/* ---- BF.RESERVE key error capacity [EXPANSION n] [NONSCALING] ---- */

static const char *parse_reserve(struct chain_request *request, struct rm_string **argv, int argc)
{
    bool expands = false, fixed = false;
    const char *why = take_error(argv[2], request, "ERR bad error rate");

    if (!why)
        why = take_capacity(argv[3], request, "ERR bad capacity");
    for (int i = 4; i < argc && !why; i++) {
        bool last = i + 1 == argc;

        if (arg_is(argv[i], "NONSCALING")) {
            fixed = true;
        } else if (arg_is(argv[i], "EXPANSION")) {
            why =
                last ? "ERR no expansion" : take_expansion(argv[++i], request, "ERR bad expansion");
            expands = true;
        } else if (arg_is(argv[i], "SEED") && !last) {
            why = take_seed(argv[++i], request);
        } else if (arg_is(argv[i], "TIGHTENING") && !last) {
            why = take_tightening(argv[++i], request);
        } else {
            why = "Unknown argument received";
        }
    }
    if (!why && fixed && expands && request->expansion > 0)
        why = "Nonscaling filters cannot expand";
    if (fixed)
        request->expansion = 0;
    return why;
}

int bf_reserve(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct chain_request request = bf_request();
    const char *why;

    why = parse_reserve(&request, argv, argc);
    if (why)
        return bf_refuse(ctx, why);
    struct opened o = key_open(ctx, argv[1], RM_READ | RM_WRITE, &family_bloom);
    struct chain *c;
    if (o.wrong)
        return key_refuse(ctx, &o);
    if (o.value) {
        rm.ReplyWithError(ctx, "ERR item exists");
    } else if ((c = bf_create(ctx, argv[1], &o, &request))) {
        key_told(ctx, argv[1], &c->is, "bf.reserve");
        reply_ok(ctx);
    }
    return key_close(&o);
}

/* ---- BF.INSERT ---- */

struct bf_insertion {
    struct chain_request request;
    bool expands, fixed, creates;
    uint64_t scale_to; /* items that it must be able to grow to; 0: not given */
    int items;         /* index of the first */
};

/* Parse the option at argv[*i]. *i becomes the index of its value, if it has one. */
static const char *parse_option(struct bf_insertion *in, struct rm_string **argv, int argc, int *i)
{
    const struct rm_string *option = argv[*i], *value;

    if (arg_is(option, "NOCREATE")) {
        in->creates = false;
        return NULL;
    }
    if (arg_is(option, "NONSCALING")) {
        in->fixed = true;
        return NULL;
    }
    if (++*i >= argc)
        return "Unknown argument received";
    value = argv[*i];
    if (arg_is(option, "CAPACITY"))
        return take_capacity(value, &in->request, "Bad capacity");
    if (arg_is(option, "ERROR"))
        return take_error(value, &in->request, "Bad error rate");
    if (arg_is(option, "EXPANSION")) {
        in->expands = true;
        return take_expansion(value, &in->request, "Bad expansion");
    }
    if (arg_is(option, "SEED"))
        return take_seed(value, &in->request);
    if (arg_is(option, "TIGHTENING"))
        return take_tightening(value, &in->request);
    if (arg_is(option, "VALIDATESCALETO"))
        return arg_u64(value, &in->scale_to) && in->scale_to > 0 ? NULL : "ERR bad validatescaleto";
    return "Unknown argument received";
}

static const char *parse_insert(struct bf_insertion *in, struct rm_string **argv, int argc)
{
    const char *why = NULL;
    int i = 2;

    for (; i < argc && !why && !arg_is(argv[i], "ITEMS"); i++)
        why = parse_option(in, argv, argc, &i);
    in->items = i + 1;
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

int bf_insert(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct bf_insertion in = {.request = bf_request(), .creates = true};
    const char *why = parse_insert(&in, argv, argc);

    if ((argc < 4 && !settings_valkey()) || (!why && in.items == argc) ||
        (!why && in.items > argc && !settings_valkey()))
        return rm.WrongArity(ctx);
    if (!why)
        why = check_scale(ctx, &in);
    if (why)
        return bf_refuse(ctx, why);
    struct opened o = key_open(ctx, argv[1], RM_READ | RM_WRITE, &family_bloom);
    struct chain *c = o.value;
    if (o.wrong)
        return key_refuse(ctx, &o);
    if (!c && !in.creates)
        return key_end(&o, rm.ReplyWithError(ctx, "ERR not found"));
    if (!c && !(c = bf_create(ctx, argv[1], &o, &in.request)))
        return key_close(&o);
    size_t n = in.items < argc ? (size_t)(argc - in.items) : 0;
    uint64_t before = o.value ? c->items : UINT64_MAX;
    n = bf_add_items(ctx, c, argv + in.items, n);
    if (n > 0)
        rm.Replicate(ctx, "BF.MADD", "sv", argv[1], argv + in.items, n);
    if (c->items != before)
        key_told(ctx, argv[1], &c->is, "bf.insert");
    return key_close(&o);
}
