/* cms_merge.c - CMS.MERGE. */
#include "cms/cms.h"
#include "server/args.h"
#include "server/reply.h"
#include "server/server.h"

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
        const struct counts *c = cms_at(ctx, &o);

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

int cms_merge(struct rm_ctx *ctx, struct rm_string **argv, int argc)
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
    struct counts *c = cms_at(ctx, &o);
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
