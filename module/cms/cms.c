/* cms.c - the commands CMS.*, as clients of RedisBloom know them. */
#include "cms/counts_value.h"
#include "server/reply.h"
#include "server/server.h"
#include "value/value.h"

#include <math.h>

#define MISSING "CMS: key does not exist"

/* ---- creating ---- */

static int create(struct rm_ctx *ctx, struct rm_string *name, uint64_t width, uint64_t depth)
{
    struct opened o = key_open(ctx, name, RM_READ | RM_WRITE, &family_counts);
    struct weir_error error;
    struct counts *c;

    if (o.wrong)
        return key_refuse(ctx, &o);
    if (o.value) {
        rm.ReplyWithError(ctx, "CMS: key already exists");
        return key_close(&o);
    }
    c = counts_open(width, depth, server_obeys(ctx) ? 0 : settings_largest(), &error);
    if (!c) {
        rm.ReplyWithError(ctx, "CMS: Insufficient memory to create the key");
        return key_close(&o);
    }
    value_put(o.key, &c->is);
    rm.Replicate(ctx, "CMS.INITBYDIM", "sll", name, (long long)width, (long long)depth);
    key_told(ctx, name, &c->is, "cms.init");
    reply_ok(ctx);
    return key_close(&o);
}

static int cms_initbydim(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    long long width, depth;

    if (argc != 4)
        return rm.WrongArity(ctx);
    if (rm.StringToLongLong(argv[2], &width) != RM_OK || width < 1)
        return rm.ReplyWithError(ctx, "CMS: invalid width");
    if (rm.StringToLongLong(argv[3], &depth) != RM_OK || depth < 1 || depth > COUNTS_DEPTH_MOST)
        return rm.ReplyWithError(ctx, "CMS: invalid depth");
    return create(ctx, argv[1], (uint64_t)width, (uint64_t)depth);
}

static bool is_rate(const struct rm_string *arg, double *rate)
{
    return rm.StringToDouble(arg, rate) == RM_OK && *rate > 0 && *rate < 1;
}

/* As RedisBloom has it: 2/error wide, and a row for each halving of the probability. */
static int cms_initbyprob(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    double error, probability, depth, width;

    if (argc != 4)
        return rm.WrongArity(ctx);
    if (!is_rate(argv[2], &error))
        return rm.ReplyWithError(ctx, "CMS: invalid overestimation value");
    if (!is_rate(argv[3], &probability))
        return rm.ReplyWithError(ctx, "CMS: invalid prob value");
    width = ceil(2 / error);
    depth = ceil(log2(1 / probability));
    if (depth > COUNTS_DEPTH_MOST)
        return rm.ReplyWithError(ctx, "CMS: invalid prob value");
    return create(ctx, argv[1], width < 0x1p60 ? (uint64_t)width : UINT64_C(1) << 60,
                  (uint64_t)depth);
}

/* ---- items ---- */

/* All numbers are looked at before the first is added. */
static const char *check_numbers(struct rm_string **argv, int argc)
{
    long long number;

    for (int i = 3; i < argc; i += 2) {
        if (rm.StringToLongLong(argv[i], &number) != RM_OK)
            return "CMS: Cannot parse number";
        if (number < 0)
            return "CMS: Number cannot be negative";
    }
    return NULL;
}

static int cms_incrby(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    const char *why;
    long long number;

    if (argc < 4 || argc % 2 != 0)
        return rm.WrongArity(ctx);
    struct opened o = key_open(ctx, argv[1], RM_READ | RM_WRITE, &family_counts);
    struct counts *c = key_value(ctx, &o, MISSING);
    if (!c)
        return RM_OK;
    why = check_numbers(argv, argc);
    if (why) {
        rm.ReplyWithError(ctx, why);
        return key_close(&o);
    }
    rm.ReplyWithArray(ctx, (argc - 2) / 2);
    for (int i = 2; i < argc; i += 2) {
        struct weir_bytes item = arg_bytes(argv[i]);

        rm.StringToLongLong(argv[i + 1], &number);
        weir_sketch_add(c->s, item, (uint64_t)number);
        uint64_t count = weir_sketch_ask(c->s, item).count;
        if (count < UINT32_MAX)
            rm.ReplyWithLongLong(ctx, (long long)count);
        else
            rm.ReplyWithError(ctx, "CMS: INCRBY overflow");
    }
    key_changed(ctx, argv[1], &c->is, "cms.incrby");
    return key_close(&o);
}

static int cms_query(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    if (argc < 3)
        return rm.WrongArity(ctx);
    struct opened o = key_open(ctx, argv[1], RM_READ, &family_counts);
    const struct counts *c = key_value(ctx, &o, MISSING);
    if (!c)
        return RM_OK;
    rm.ReplyWithArray(ctx, argc - 2);
    for (int i = 2; i < argc; i++)
        rm.ReplyWithLongLong(ctx, (long long)weir_sketch_ask(c->s, arg_bytes(argv[i])).count);
    return key_close(&o);
}

static int cms_info(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    uint64_t total;

    if (argc != 2)
        return rm.WrongArity(ctx);
    struct opened o = key_open(ctx, argv[1], RM_READ, &family_counts);
    const struct counts *c = key_value(ctx, &o, MISSING);
    if (!c)
        return RM_OK;
    total = weir_sketch_stats_of(c->s).total;
    rm.ReplyWithMap(ctx, 3);
    reply_field(ctx, "width", (long long)c->width);
    reply_field(ctx, "depth", (long long)c->depth);
    reply_field(ctx, "count", total < INT64_MAX ? (long long)total : INT64_MAX);
    return key_close(&o);
}

/* ---- CMS.MERGE ---- */

struct sources {
    const weir_sketch **sketches;
    int64_t *weights;
    size_t n;
};

/* Numbers of keys and weights: NULL, or the error reply. */
static const char *count_sources(struct sources *s, struct rm_string **argv, int argc)
{
    long long n;

    if (rm.StringToLongLong(argv[2], &n) != RM_OK || n < 1)
        return "CMS: invalid numkeys";
    if (n > argc - 3)
        return "CMS: wrong number of keys";
    s->n = (size_t)n;
    if (argc == n + 3)
        return NULL;
    if (!arg_is(argv[3 + n], "WEIGHTS"))
        return "CMS: wrong number of keys";
    return argc == 2 * n + 4 ? NULL : "CMS: wrong number of keys/weights";
}

static const char *take_weights(struct sources *s, struct rm_string **argv, int argc)
{
    bool weighted = (size_t)argc > s->n + 3;
    long long weight;

    for (size_t i = 0; i < s->n; i++) {
        s->weights[i] = 1;
        if (!weighted)
            continue;
        if (rm.StringToLongLong(argv[4 + s->n + i], &weight) != RM_OK)
            return "CMS: invalid weight value";
        s->weights[i] = weight;
    }
    return NULL;
}

/* The sketches stay where they are while no key is changed, so that keys can be closed again.
 * False after an error reply. */
static bool take_sketches(struct rm_ctx *ctx, struct sources *s, struct rm_string **names,
                          const struct counts *into)
{
    for (size_t i = 0; i < s->n; i++) {
        struct opened o = key_open(ctx, names[i], RM_READ, &family_counts);
        const struct counts *c = key_value(ctx, &o, MISSING);

        if (!c)
            return false;
        if (c->width != into->width || c->depth != into->depth) {
            rm.ReplyWithError(ctx, "CMS: width/depth is not equal");
            key_close(&o);
            return false;
        }
        s->sketches[i] = c->s;
        key_close(&o);
    }
    return true;
}

static void merge(struct rm_ctx *ctx, struct counts *c, struct sources *s, struct rm_string **argv,
                  int argc)
{
    const char *why = take_weights(s, argv, argc);

    if (why)
        rm.ReplyWithError(ctx, why);
    else if (take_sketches(ctx, s, argv + 3, c)) {
        if (weir_sketch_weigh(c->s, s->sketches, s->weights, s->n, NULL) != WEIR_OK) {
            rm.ReplyWithError(ctx, "CMS: MERGE overflow");
            return;
        }
        key_changed(ctx, argv[1], &c->is, "cms.merge");
        reply_ok(ctx);
    }
}

static int cms_merge(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct sources s = {0};
    const char *why;

    if (keys_were_asked(ctx, argv, argc))
        return RM_OK;
    why = argc < 4 ? NULL : count_sources(&s, argv, argc);
    if (argc < 4)
        return rm.WrongArity(ctx);
    if (why)
        return rm.ReplyWithError(ctx, why);
    struct opened o = key_open(ctx, argv[1], RM_READ | RM_WRITE, &family_counts);
    struct counts *c = key_value(ctx, &o, MISSING);
    if (!c)
        return RM_OK;
    s.sketches = server_take(s.n * sizeof *s.sketches);
    s.weights = server_take(s.n * sizeof *s.weights);
    if (s.sketches && s.weights)
        merge(ctx, c, &s, argv, argc);
    else
        reply_code(ctx, WEIRMEMORY);
    server_give(s.sketches);
    server_give(s.weights);
    return key_close(&o);
}

/* ---- the list ---- */

/* clang-format off */
const struct module_command commands_cms[] = {
    {"cms.initbydim", cms_initbydim, "write deny-oom fast", 4, KEY_CHANGE,
     "Creates a count-min sketch with a width and a depth", "O(width * depth)", "#width #depth"},
    {"cms.initbyprob", cms_initbyprob, "write deny-oom fast", 4, KEY_CHANGE,
     "Creates a count-min sketch with an error and its probability", "O(1/error)", "%error %probability"},
    {"cms.incrby", cms_incrby, "write deny-oom fast", -4, KEY_CHANGE,
     "Adds to the counts of items", "O(items)", "item,#increment+"},
    {"cms.query", cms_query, "readonly fast", -3, KEY_READ,
     "Returns the counts of items", "O(items)", "item+"},
    {"cms.merge", cms_merge, "write deny-oom getkeys-api", -4, KEYS_COUNTED,
     "Sets a sketch to the weighted sum of others", "O(sketches * width * depth)",
     "#numkeys source+ WEIGHTS=#weight?+"},
    {"cms.info", cms_info, "readonly fast", 2, KEY_READ,
     "Returns width, depth and the sum of all counts", "O(1)", ""},
    {0},
};
/* clang-format on */
