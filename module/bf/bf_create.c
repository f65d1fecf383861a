/* bf_create.c - BF.RESERVE, and BF.INSERT, which creates as well. */
#include <math.h>
#include <stdio.h>
#include <weir/hash.h>

#include "bf/bf.h"
#include "server/reply.h"
#include "server/server.h"

#define CAPACITY_MOST 1073741824
#define EXPANSION_MOST 32768

struct chain *bf_create(struct rm_ctx *ctx, struct rm_string *name, struct opened *o,
                        const struct chain_wish *wish)
{
    struct weir_error error;
    struct chain *c = chain_open(wish, server_obeys(ctx) ? 0 : settings_largest(), &error);
    char rate[32], tightening[32];

    if (!c) {
        bf_refuse(ctx, "ERR Insufficient memory to create filter");
        return NULL;
    }
    value_put(o->key, &c->is);
    snprintf(rate, sizeof rate, "%.17g", c->error);
    snprintf(tightening, sizeof tightening, "%.17g", c->tightening);
    rm.Replicate(ctx, "BF.RESERVE", "sclclclcc", name, rate, (long long)wish->capacity, "EXPANSION",
                 (long long)c->expansion, "SEED", (long long)c->seed, "TIGHTENING", tightening);
    return c;
}

/* ---- values of options: NULL, or the error reply ---- */

static const char *take_error(const struct rm_string *arg, struct chain_wish *wish, const char *bad)
{
    if (rm.StringToDouble(arg, &wish->error) != RM_OK || isnan(wish->error))
        return bad;
    return wish->error > 0 && wish->error < 1
               ? NULL
               : "ERR error rate must be in the range (0.000000, 1.000000)";
}

static const char *take_capacity(const struct rm_string *arg, struct chain_wish *wish,
                                 const char *bad)
{
    long long number;

    if (rm.StringToLongLong(arg, &number) != RM_OK)
        return bad;
    wish->capacity = (uint64_t)number;
    if (number == 0 && settings_valkey())
        return "ERR (capacity should be larger than 0)";
    return number >= 1 && number <= CAPACITY_MOST
               ? NULL
               : "ERR capacity must be in the range [1, 1073741824]";
}

static const char *take_expansion(const struct rm_string *arg, struct chain_wish *wish,
                                  const char *bad)
{
    long long number;

    if (rm.StringToLongLong(arg, &number) != RM_OK)
        return bad;
    wish->expansion = (uint64_t)number;
    return number >= 0 && number <= EXPANSION_MOST
               ? NULL
               : "ERR expansion must be in the range [0, 32768]";
}

/* As valkey-bloom has it, any 32 bytes; as this module replicates it, a whole number. */
static const char *take_seed(const struct rm_string *arg, struct chain_wish *wish)
{
    struct weir_bytes bytes = arg_bytes(arg);
    long long number;

    wish->seeded = true;
    if (bytes.size == 32)
        wish->seed = weir_hash_bytes(WEIR_HASH_XXH3, 0, bytes.data, bytes.size).lo;
    else if (rm.StringToLongLong(arg, &number) == RM_OK)
        wish->seed = (uint64_t)number;
    else if (!arg_u64(arg, &wish->seed))
        return "ERR invalid seed";
    return NULL;
}

static const char *take_tightening(const struct rm_string *arg, struct chain_wish *wish)
{
    return rm.StringToDouble(arg, &wish->tightening) == RM_OK && wish->tightening > 0 &&
                   wish->tightening < 1
               ? NULL
               : "ERR tightening ratio should be in the range (0, 1)";
}

/* ---- BF.RESERVE key error capacity [EXPANSION n] [NONSCALING] ---- */

static const char *parse_reserve(struct chain_wish *wish, struct rm_string **argv, int argc)
{
    bool expands = false, fixed = false;
    const char *why = take_error(argv[2], wish, "ERR bad error rate");

    if (!why)
        why = take_capacity(argv[3], wish, "ERR bad capacity");
    for (int i = 4; i < argc && !why; i++) {
        bool last = i + 1 == argc;

        if (arg_is(argv[i], "NONSCALING")) {
            fixed = true;
        } else if (arg_is(argv[i], "EXPANSION")) {
            why = last ? "ERR no expansion" : take_expansion(argv[++i], wish, "ERR bad expansion");
            expands = true;
        } else if (arg_is(argv[i], "SEED") && !last) {
            why = take_seed(argv[++i], wish);
        } else if (arg_is(argv[i], "TIGHTENING") && !last) {
            why = take_tightening(argv[++i], wish);
        } else {
            why = "Unknown argument received";
        }
    }
    if (!why && fixed && expands && wish->expansion > 0)
        why = "Nonscaling filters cannot expand";
    if (fixed)
        wish->expansion = 0;
    return why;
}

int bf_reserve(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct chain_wish wish = bf_default;
    const char *why;

    if (argc < 4)
        return rm.WrongArity(ctx);
    why = parse_reserve(&wish, argv, argc);
    if (why)
        return bf_refuse(ctx, why);
    struct opened o = key_open(ctx, argv[1], RM_READ | RM_WRITE, &family_bloom);
    struct chain *c;
    if (o.wrong)
        return key_refuse(ctx, &o);
    if (o.value) {
        rm.ReplyWithError(ctx, "ERR item exists");
    } else if ((c = bf_create(ctx, argv[1], &o, &wish))) {
        key_told(ctx, argv[1], &c->is, "bf.reserve");
        reply_ok(ctx);
    }
    return key_close(&o);
}

/* ---- BF.INSERT ---- */

struct bf_insertion {
    struct chain_wish wish;
    bool expands, fixed, creates;
    uint64_t scale_to; /* items that it must be able to grow to, 0: not told */
    int items;         /* where they begin */
};

/* The option at argv[*i]; *i becomes that of its value, if it has one. */
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
        return take_capacity(value, &in->wish, "Bad capacity");
    if (arg_is(option, "ERROR"))
        return take_error(value, &in->wish, "Bad error rate");
    if (arg_is(option, "EXPANSION")) {
        in->expands = true;
        return take_expansion(value, &in->wish, "Bad expansion");
    }
    if (arg_is(option, "SEED"))
        return take_seed(value, &in->wish);
    if (arg_is(option, "TIGHTENING"))
        return take_tightening(value, &in->wish);
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
    if (!why && in->fixed && in->expands && in->wish.expansion > 0 && !settings_valkey())
        why = "Nonscaling filters cannot expand";
    if (in->fixed)
        in->wish.expansion = 0;
    return why;
}

/* Would the memory of a filter grown to so many items be allowed here? An estimate: 1.44
 * log2(1/error) bits for each item, as if all lay in the last link. */
static const char *check_scale(struct rm_ctx *ctx, const struct bf_insertion *in)
{
    const struct chain_wish *w = &in->wish;
    double capacity = (double)w->capacity, error = w->error * w->tightening, all = capacity, bits;
    uint64_t most = server_obeys(ctx) ? 0 : settings_largest();

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
    struct bf_insertion in = {.wish = bf_default, .creates = true};
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
    if (!c && !in.creates) {
        rm.ReplyWithError(ctx, "ERR not found");
        return key_close(&o);
    }
    if (!c && !(c = bf_create(ctx, argv[1], &o, &in.wish)))
        return key_close(&o);
    size_t n = in.items < argc ? (size_t)(argc - in.items) : 0;
    n = bf_add_items(ctx, c, argv + in.items, n);
    if (n > 0)
        rm.Replicate(ctx, "BF.MADD", "sv", argv[1], argv + in.items, n);
    key_told(ctx, argv[1], &c->is, "bf.insert");
    return key_close(&o);
}
