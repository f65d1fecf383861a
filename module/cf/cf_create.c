/* cf_create.c - CF.RESERVE, and filters that are made by the first item. */
#include <stdio.h>

#include "cf/cf.h"
#include "server/args.h"
#include "server/reply.h"
#include "server/server.h"
#include "server/settings.h"

#define CF_CAPACITY 1024

/* Of all filters of a chain. CF.DEL takes an item out of the newest that has it, and where that has
 * another of the same fingerprint instead, the other is lost: so it is small, and the newest
 * errs least. */
#define CF_ERROR 0.001
#define CAPACITY_MOST (1LL << 40)
#define BUCKET_SIZE 2
#define BUCKET_SIZE_MOST 255
#define MOVES 20
#define MOVES_MOST 65535
#define EXPANSION_MOST 32768

const struct chain_wish cf_default = {.family = &family_cuckoo,
                                      .error = CF_ERROR,
                                      .tightening = CHAIN_TIGHTENING,
                                      .capacity = CF_CAPACITY,
                                      .expansion = 1,
                                      .bucket_size = BUCKET_SIZE,
                                      .moves = MOVES};

struct chain *cf_create(struct rm_ctx *ctx, struct rm_string *name, struct opened *o,
                        const struct chain_wish *wish)
{
    struct weir_error error;
    struct chain *c = chain_open(wish, server_obeys(ctx) ? 0 : settings_largest(), &error);
    char seed[32];

    if (!c) {
        rm.ReplyWithError(ctx, "ERR Insufficient memory to create filter");
        return NULL;
    }
    value_put(o->key, &c->is);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)c->seed);
    rm.Replicate(ctx, "CF.RESERVE", "slclclclcc", name, (long long)wish->capacity, "BUCKETSIZE",
                 (long long)c->bucket_size, "MAXITERATIONS", (long long)c->moves, "EXPANSION",
                 (long long)c->expansion, "SEED", seed);
    return c;
}

const char *cf_capacity(const struct rm_string *arg, struct chain_wish *wish)
{
    long long value;

    if (rm.StringToLongLong(arg, &value) != RM_OK || value < 1 || value > CAPACITY_MOST)
        return "Bad capacity";
    wish->capacity = (uint64_t)value;
    return NULL;
}

/* ---- CF.RESERVE ---- */

struct option {
    const char *word, *no_number, *out_of_range;
    long long min, max;
};

static const struct option options[] = {
    {"BUCKETSIZE", "Couldn't parse BUCKETSIZE",
     "BUCKETSIZE: value must be an integer between 1 and 255, inclusive.", 1, BUCKET_SIZE_MOST},
    {"MAXITERATIONS", "Couldn't parse MAXITERATIONS",
     "MAXITERATIONS: value must be an integer between 1 and 65535, inclusive.", 1, MOVES_MOST},
    {"EXPANSION", "Couldn't parse EXPANSION",
     "EXPANSION: value must be an integer between 0 and 32768, inclusive.", 0, EXPANSION_MOST},
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

static const char *parse_pair(struct chain_wish *wish, struct rm_string **argv)
{
    uint64_t *const numbers[] = {&wish->bucket_size, &wish->moves, &wish->expansion};

    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (arg_is(argv[0], options[i].word))
            return parse_option(&options[i], argv[1], numbers[i]);
    if (!arg_is(argv[0], "SEED"))
        return "Unknown argument received";
    wish->seeded = true;
    return arg_u64(argv[1], &wish->seed) ? NULL : "Couldn't parse SEED";
}

static const char *parse_reserve(struct chain_wish *wish, struct rm_string **argv, int argc)
{
    const char *why = cf_capacity(argv[2], wish);

    for (int i = 3; i + 1 < argc && !why; i += 2)
        why = parse_pair(wish, argv + i);
    if (!why && wish->capacity < 2 * wish->bucket_size)
        why = "Capacity must be at least (BucketSize * 2)";
    return why;
}

int cf_reserve(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct chain_wish wish = cf_default;
    const char *why;
    struct chain *c;

    if (argc < 3 || argc % 2 == 0)
        return rm.WrongArity(ctx);
    why = parse_reserve(&wish, argv, argc);
    if (why)
        return rm.ReplyWithError(ctx, why);
    struct opened o = key_open(ctx, argv[1], RM_READ | RM_WRITE, &family_cuckoo);
    if (o.wrong)
        return key_refuse(ctx, &o);
    if (o.value) {
        rm.ReplyWithError(ctx, "ERR item exists");
    } else if ((c = cf_create(ctx, argv[1], &o, &wish))) {
        key_told(ctx, argv[1], &c->is, "cf.reserve");
        reply_ok(ctx);
    }
    return key_close(&o);
}
