/* bf_info.c - BF.CARD, BF.INFO, BF.DEBUG. */
#include <stdio.h>

#include "chain/chain.h"
#include "server/reply.h"
#include "server/server.h"

int bf_card(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct opened o = key_open(ctx, argv[1], KEY_READ, &family_bloom);
    if (o.wrong)
        return key_refuse(ctx, &o);
    rm.ReplyWithLongLong(ctx, o.value ? (long long)((const struct chain *)o.value)->items : 0);
    return RM_OK;
}

/* ---- BF.INFO ---- */

enum field { CAPACITY, SIZE, FILTERS, ITEMS, EXPANSION, ERROR_RATE, TIGHTENING, MOST_ITEMS };

static const struct {
    const char *word, *name;
} fields[] = {
    {"CAPACITY", "Capacity"},           {"SIZE", "Size"},
    {"FILTERS", "Number of filters"},   {"ITEMS", "Number of items inserted"},
    {"EXPANSION", "Expansion rate"},    {"ERROR", "Error rate"},
    {"TIGHTENING", "Tightening ratio"}, {"MAXSCALEDCAPACITY", "Max scaled capacity"},
};

static const enum field redis_fields[] = {CAPACITY, SIZE, FILTERS, ITEMS, EXPANSION};
static const enum field valkey_fields[] = {CAPACITY,   SIZE,      FILTERS,    ITEMS,
                                           ERROR_RATE, EXPANSION, TIGHTENING, MOST_ITEMS};

/* The fields of a reply, in order. The last two of Valkey are for filters that scale. */
static const enum field *fields_of(const struct chain *c, int *n)
{
    *n = !settings_valkey() ? 5 : c->expansion > 0 ? 8 : 6;
    return settings_valkey() ? valkey_fields : redis_fields;
}

static void reply_rate(struct rm_ctx *ctx, double rate)
{
    char text[32];

    snprintf(text, sizeof text, "%g", rate);
    reply_text(ctx, text);
}

/* Number of items at which the chain reaches LARGEST. */
static long long most_items(const struct chain *c)
{
    double capacity = (double)c->links[c->n - 1].capacity;
    double error = c->links[c->n - 1].error, bytes = (double)c->is.bytes;
    double all = (double)c->capacity, most = (double)settings_largest();

    for (int i = 0; i < 1000 && most > 0 && c->expansion > 0; i++) {
        capacity *= (double)c->expansion;
        error *= c->tightening;
        bytes += capacity * 0.18 * __builtin_log2(1 / error);
        if (bytes > most || all + capacity > 9e18)
            break;
        all += capacity;
    }
    return (long long)all;
}

static void reply_value(struct rm_ctx *ctx, const struct chain *c, enum field field)
{
    switch (field) {
    case CAPACITY:
        rm.ReplyWithLongLong(ctx, (long long)c->capacity);
        break;
    case SIZE:
        rm.ReplyWithLongLong(ctx, (long long)(c->imported ? import_bytes(c) : c->is.bytes));
        break;
    case FILTERS:
        rm.ReplyWithLongLong(ctx, c->n);
        break;
    case ITEMS:
        rm.ReplyWithLongLong(ctx, (long long)c->items);
        break;
    case EXPANSION:
        c->expansion > 0 ? rm.ReplyWithLongLong(ctx, (long long)c->expansion)
                         : rm.ReplyWithNull(ctx);
        break;
    case ERROR_RATE:
        reply_rate(ctx, c->error);
        break;
    case TIGHTENING:
        reply_rate(ctx, c->tightening);
        break;
    case MOST_ITEMS:
        rm.ReplyWithLongLong(ctx, most_items(c));
    }
}

/* Before the value of one field: a map in RESP3, in RESP2 an array of the value alone. */
static void begin_single(struct rm_ctx *ctx, const char *name)
{
    if (rm.GetContextFlags(ctx) & RM_CTX_RESP3) {
        rm.ReplyWithMap(ctx, 1);
        rm.ReplyWithSimpleString(ctx, name);
    } else {
        rm.ReplyWithArray(ctx, 1);
    }
}

static int reply_one(struct rm_ctx *ctx, const struct chain *c, const struct rm_string *word)
{
    int n;
    const enum field *known = fields_of(c, &n);

    for (int i = 0; i < n; i++) {
        if (!arg_is(word, fields[known[i]].word))
            continue;
        if (!settings_valkey())
            begin_single(ctx, fields[known[i]].name);
        reply_value(ctx, c, known[i]);
        return RM_OK;
    }
    return bf_refuse(ctx, "Invalid information value");
}

static void reply_all(struct rm_ctx *ctx, const struct chain *c)
{
    int n;
    const enum field *known = fields_of(c, &n);

    rm.ReplyWithMap(ctx, n);
    for (int i = 0; i < n; i++) {
        rm.ReplyWithSimpleString(ctx, fields[known[i]].name);
        reply_value(ctx, c, known[i]);
    }
}

int bf_info(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    if (argc > 3)
        return rm.WrongArity(ctx);
    const struct chain *c = key_value(ctx, argv[1], KEY_READ, &family_bloom, "ERR not found");
    if (!c)
        return RM_OK;
    if (argc == 3)
        reply_one(ctx, c, argv[2]);
    else
        reply_all(ctx, c);
    return RM_OK;
}

/* ---- BF.DEBUG ---- */

int bf_debug(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    char text[256], spec[WEIR_SPEC_MAX];
    uint64_t bytes, hashes;

    const struct chain *c = key_value(ctx, argv[1], KEY_READ, &family_bloom, "ERR not found");
    if (!c)
        return RM_OK;
    rm.ReplyWithArray(ctx, 1 + (long)c->n);
    snprintf(text, sizeof text, "size:%llu", (unsigned long long)c->items);
    reply_text(ctx, text);
    for (uint32_t i = 0; i < c->n; i++) {
        const struct link *link = &c->links[i];

        bytes = link->size;
        hashes = link->hashes;
        if (!c->imported) {
            weir_config(link->filter, spec, sizeof spec);
            weir_spec_number(spec, "memory", &bytes);
            weir_spec_number(spec, "k", &hashes);
        }
        snprintf(text, sizeof text,
                 "bytes:%llu bits:%llu hashes:%llu hashwidth:%d capacity:%llu size:%llu ratio:%g",
                 (unsigned long long)bytes, 8 * (unsigned long long)bytes,
                 (unsigned long long)hashes, c->imported && !(c->options & 4) ? 32 : 64,
                 (unsigned long long)link->capacity, (unsigned long long)link->items, link->error);
        reply_text(ctx, text);
    }
    return RM_OK;
}
