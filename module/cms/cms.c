/* cms.c - the commands CMS.* of RedisBloom: count-min sketches. */
#include "cms/counts_value.h"
#include "server/reply.h"
#include "server/server.h"
#include "value/job.h"

#include <math.h>

#define MISSING "CMS: key does not exist"

/* ---- creating ---- */

static int create(struct rm_ctx *ctx, struct rm_string *name, uint64_t width, uint64_t depth)
{
    struct opened o = key_open(ctx, name, KEY_CHANGE, &family_counts);
    struct weir_error error;
    struct counts_value *c;

    if (o.busy)
        return key_refuse(ctx, &o);
    if (o.value || o.wrong)
        return rm.ReplyWithError(ctx, "CMS: key already exists");
    c = counts_open(width, depth, server_limit(ctx), &error);
    if (!c)
        return rm.ReplyWithError(ctx, "CMS: Insufficient memory to create the key");
    value_put(ctx, name, &c->is);
    rm.Replicate(ctx, "CMS.INITBYDIM", "sll", name, (long long)width, (long long)depth);
    key_told(ctx, name, &c->is, "cms.init");
    return reply_ok(ctx);
}

static int cms_initbydim(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    long long width, depth;

    if (rm.StringToLongLong(argv[2], &width) != RM_OK || width < 1)
        return rm.ReplyWithError(ctx, "CMS: invalid width");
    if (rm.StringToLongLong(argv[3], &depth) != RM_OK || depth < 1 || depth > COUNTS_DEPTH_MAX)
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

    if (!is_rate(argv[2], &error))
        return rm.ReplyWithError(ctx, "CMS: invalid overestimation value");
    if (!is_rate(argv[3], &probability))
        return rm.ReplyWithError(ctx, "CMS: invalid prob value");
    width = ceil(2 / error);
    depth = ceil(log2(1 / probability));
    if (depth > COUNTS_DEPTH_MAX)
        return rm.ReplyWithError(ctx, "CMS: invalid prob value");
    return create(ctx, argv[1], width < 0x1p60 ? (uint64_t)width : UINT64_C(1) << 60,
                  (uint64_t)depth);
}

/* ---- items ---- */

/* Look up at most ITEMS_AT_ONCE of the items, each of them `step` arguments. Returns their number.
 */
static size_t ask(const struct counts_value *c, struct rm_string **argv, int argc, int step,
                  struct weir_estimate *out)
{
    struct weir_bytes items[ITEMS_AT_ONCE];
    size_t n = 0;

    for (int i = 0; i < argc && n < ITEMS_AT_ONCE; i += step)
        items[n++] = arg_bytes(argv[i]);
    counts_ask(c, items, n, out);
    return n;
}

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
    struct weir_estimate unused[ITEMS_AT_ONCE];
    struct counts_value *c;
    const char *why;

    if (argc % 2 != 0)
        return rm.WrongArity(ctx);
    if (!(c = key_value(ctx, argv[1], KEY_CHANGE, &family_counts, MISSING)))
        return RM_OK;
    why = check_numbers(argv, argc);
    if (why)
        return rm.ReplyWithError(ctx, why);
    rm.ReplyWithArray(ctx, (argc - 2) / 2);
    for (int i = 2; i < argc; i += 2) {
        long long number;

        if (argc > 4 && (i - 2) % (2 * ITEMS_AT_ONCE) == 0)
            ask(c, argv + i, argc - i, 2, unused); /* prefetches */
        rm.StringToLongLong(argv[i + 1], &number);
        uint64_t count = counts_add(c, arg_bytes(argv[i]), (uint64_t)number);

        if (count < UINT32_MAX)
            rm.ReplyWithLongLong(ctx, (long long)count);
        else
            rm.ReplyWithError(ctx, "CMS: INCRBY overflow");
    }
    key_changed(ctx, argv[1], &c->is, "cms.incrby");
    return RM_OK;
}

static int cms_query(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    const struct counts_value *c = key_value(ctx, argv[1], KEY_READ, &family_counts, MISSING);
    struct weir_estimate found[ITEMS_AT_ONCE];

    if (!c)
        return RM_OK;
    rm.ReplyWithArray(ctx, argc - 2);
    for (int i = 2; i < argc; i += ITEMS_AT_ONCE) {
        size_t n = ask(c, argv + i, argc - i, 1, found);

        for (size_t j = 0; j < n; j++)
            rm.ReplyWithLongLong(ctx, (long long)found[j].count);
    }
    return RM_OK;
}

static int cms_info(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    uint64_t total;

    const struct counts_value *c = key_value(ctx, argv[1], KEY_READ, &family_counts, MISSING);
    if (!c)
        return RM_OK;
    total = counts_total(c);
    rm.ReplyWithMap(ctx, 3);
    reply_field(ctx, "width", (long long)c->width);
    reply_field(ctx, "depth", (long long)c->depth);
    reply_field(ctx, "count", total < INT64_MAX ? (long long)total : INT64_MAX);
    return RM_OK;
}

/* ---- CMS.MERGE ---- */

struct counts_merge_job {
    struct job is; /* inputs: the destination, then n sources */
    struct counts_source *sources;
    size_t n;
    struct counts_value *result;
    enum counts_merged status;
};

/* The number of keys: NULL, or the error reply. */
static const char *count_sources(struct rm_string **argv, int argc, size_t *sources)
{
    long long n;

    if (rm.StringToLongLong(argv[2], &n) != RM_OK || n < 1)
        return "CMS: invalid numkeys";
    if (n > argc - 3)
        return "CMS: wrong number of keys";
    *sources = (size_t)n;
    if (argc == n + 3)
        return NULL;
    if (!arg_is(argv[3 + n], "WEIGHTS"))
        return "CMS: wrong number of keys";
    return argc == 2 * n + 4 ? NULL : "CMS: wrong number of keys/weights";
}

/* False after an error reply. */
static bool take_sources(struct rm_ctx *ctx, struct counts_merge_job *j, struct rm_string **argv,
                         bool weighted)
{
    const struct counts_value *into = (const struct counts_value *)j->is.inputs[0].value;
    long long weight = 1;

    for (size_t i = 0; i < j->n; i++) {
        if (weighted && rm.StringToLongLong(argv[4 + j->n + i], &weight) != RM_OK) {
            rm.ReplyWithError(ctx, "CMS: invalid weight value");
            return false;
        }
        j->sources[i].weight = weight;
    }
    for (size_t i = 0; i < j->n; i++) {
        struct counts_value *c = key_value(ctx, argv[3 + i], KEY_READ, &family_counts, MISSING);

        if (!c)
            return false;
        if (c->width != into->width || c->depth != into->depth) {
            rm.ReplyWithError(ctx, "CMS: width/depth is not equal");
            return false;
        }
        j->sources[i].counts = c;
        job_add_input(&j->is, 3 + (int)i, &c->is);
    }
    return true;
}

static void run_merge(struct job *job)
{
    struct counts_merge_job *j = (struct counts_merge_job *)job;

    j->status = counts_merge(&j->result, j->sources, j->n);
}

static void finish_merge(struct rm_ctx *ctx, struct rm_string **argv, int argc, struct job *job)
{
    static const char *const errors[] = {
        [COUNTS_OVERFLOW] = "CMS: MERGE overflow",
        [COUNTS_MIXED] =
            "CMS: cannot merge sketches from RedisBloom with sketches that weir created",
        [COUNTS_NO_MEMORY] = "CMS: Insufficient memory to merge",
    };
    struct counts_merge_job *j = (struct counts_merge_job *)job;

    if (j->status != COUNTS_MERGED) {
        rm.ReplyWithError(ctx, errors[j->status]);
        return;
    }
    value_put(ctx, argv[1], &j->result->is);
    server_stats.merges++;
    key_changed(ctx, argv[1], &j->result->is, "cms.merge");
    j->result = NULL;
    reply_ok(ctx);
}

static void discard_merge(struct job *job)
{
    struct counts_merge_job *j = (struct counts_merge_job *)job;

    if (j->result)
        counts_close(j->result);
    server_give(j->sources);
}

static int cms_merge(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct counts_merge_job *j;
    const char *why;
    size_t n = 0;

    if (keys_were_asked(ctx, argv, argc))
        return RM_OK;
    why = count_sources(argv, argc, &n);
    if (why)
        return rm.ReplyWithError(ctx, why);
    struct counts_value *into = key_value(ctx, argv[1], KEY_CHANGE, &family_counts, MISSING);
    if (!into)
        return RM_OK;
    if (!(j = job_open(ctx, sizeof *j, n + 1)))
        return RM_OK;
    j->is.run = run_merge;
    j->is.finish = finish_merge;
    j->is.discard = discard_merge;
    j->n = n;
    j->sources = server_take(n * sizeof *j->sources);
    job_add_input(&j->is, 1, &into->is);
    if (!j->sources)
        reply_code(ctx, WEIRMEMORY);
    else if (take_sources(ctx, j, argv, (size_t)argc > n + 3))
        return job_start(ctx, argv, argc, &j->is, (n + 1) * into->is.bytes);
    job_close(&j->is);
    return RM_OK;
}

/* ---- the list ---- */

/* clang-format off */
const struct module_command commands_cms[] = {
    {"cms.initbydim", cms_initbydim, "write deny-oom", 4, KEY_CHANGE,
     "Creates a count-min sketch with a width and a depth", "O(width * depth)", "#width #depth"},
    {"cms.initbyprob", cms_initbyprob, "write deny-oom", 4, KEY_CHANGE,
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
