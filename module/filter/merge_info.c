/* merge_info.c - WEIR.MERGE and WEIR.INFO. */
#include "filter/weir_commands.h"
#include "server/reply.h"
#include "server/server.h"
#include "value/value.h"

/* ---- WEIR.MERGE ---- */

/* All sources into one filter, which is then the destination's: nothing is changed if one of
 * them does not fit. */
static weir_filter *merged(struct rm_ctx *ctx, weir_filter *into, struct rm_string **names,
                           size_t n)
{
    struct weir_error error;
    bool good = true;

    for (size_t i = 0; good && i < n; i++) {
        struct opened o = key_open(ctx, names[i], RM_READ, &family_filter);
        const struct filter_value *f = o.value;

        if (!f) {
            if (!o.wrong)
                reply_error(ctx, WEIRNOKEY, "no such key: source %zu", i + 1);
            weir_close(into);
            o.wrong ? key_refuse(ctx, &o) : key_close(&o);
            return NULL;
        }
        if (!into)
            good = (into = weir_clone(f->w, &error)) != NULL;
        else
            good = weir_merge(into, f->w, &error) == WEIR_OK;
        key_close(&o);
    }
    if (good)
        return into;
    reply_failure(ctx, &error);
    weir_close(into);
    return NULL;
}

static int merge(struct rm_ctx *ctx, struct opened *o, struct rm_string **argv, size_t n)
{
    struct filter_value *f = o->value;
    weir_filter *w = f ? weir_clone(f->w, NULL) : NULL;

    if (f && !w)
        return reply_code(ctx, WEIRMEMORY);
    w = merged(ctx, w, argv + 3, n);
    if (!w)
        return RM_OK;
    if (f) {
        weir_close(f->w);
        f->w = w;
    } else if ((f = filter_value_of(w))) {
        value_put(o->key, &f->is);
    } else {
        return reply_code(ctx, WEIRMEMORY);
    }
    key_changed(ctx, argv[1], &f->is, "weir.merge");
    return reply_ok(ctx);
}

int command_merge(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    uint64_t n;

    if (keys_were_asked(ctx, argv, argc))
        return RM_OK;
    if (argc < 4)
        return rm.WrongArity(ctx);
    if (!arg_u64(argv[2], &n) || n == 0 || n != (uint64_t)argc - 3)
        return reply_error(ctx, ERR, "the number of sources does not match the keys after it");
    struct opened o = key_open(ctx, argv[1], RM_READ | RM_WRITE, &family_filter);
    if (o.wrong)
        return key_refuse(ctx, &o);
    merge(ctx, &o, argv, n);
    return key_close(&o);
}

/* ---- WEIR.INFO ---- */

#define DUMP_MOST (UINT64_C(512) << 20) /* proto-max-bulk-len, unless it is configured */

/* The commands, arguments, replies and codes that `weir --at` uses. Raised when an older client
 * could misread a newer module; clients refuse a protocol that is newer than theirs. */
#define PROTOCOL 1

static const char *const fields[] = {"spec", "memory", "bytes", "observed",  "seen", "new",
                                     "fill", "error",  "saved", "producers", "dump", "protocol"};

#define FIELDS (sizeof fields / sizeof *fields)

static void reply_info(struct rm_ctx *ctx, const struct filter_value *f,
                       const struct weir_stats *stats, size_t field)
{
    const long long numbers[FIELDS] = {
        [1] = (long long)stats->memory,           [2] = (long long)stats->bytes,
        [3] = (long long)stats->observed,         [4] = (long long)stats->seen,
        [5] = (long long)stats->new_keys,         [8] = (long long)weir_saved_size(f->w),
        [9] = (long long)once_producers(f->once), [11] = PROTOCOL};
    char spec[WEIR_SPEC_MAX];

    if (field == 0) {
        weir_config(f->w, spec, sizeof spec);
        reply_text(ctx, spec);
    } else if (field == 6 || field == 7) {
        rm.ReplyWithDouble(ctx, field == 6 ? stats->fill : stats->error);
    } else if (field == 10) {
        reply_text(ctx, weir_saved_size(f->w) < DUMP_MOST ? "possible" : "too large");
    } else {
        rm.ReplyWithLongLong(ctx, numbers[field]);
    }
}

/* Without a key: what a client asks first of a server. */
static int info_of_module(struct rm_ctx *ctx)
{
    rm.ReplyWithMap(ctx, 2);
    reply_field(ctx, "protocol", PROTOCOL);
    rm.ReplyWithSimpleString(ctx, "version");
    reply_text(ctx, weir_version());
    return RM_OK;
}

int command_info(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    size_t field = FIELDS;

    if (argc == 1)
        return info_of_module(ctx);
    if (argc > 3)
        return rm.WrongArity(ctx);
    for (size_t i = 0; argc == 3 && i < FIELDS; i++)
        field = arg_is(argv[2], fields[i]) ? i : field;
    if (argc == 3 && field == FIELDS)
        return reply_error(ctx, ERR,
                           "unknown field; expected spec, memory, bytes, observed, seen, new, "
                           "fill, error, saved, producers, dump or protocol");
    struct opened o = key_open(ctx, argv[1], RM_READ, &family_filter);
    if (o.wrong)
        return key_refuse(ctx, &o);
    const struct filter_value *f = o.value;
    if (!f) {
        reply_code(ctx, WEIRNOKEY);
        return key_close(&o);
    }
    struct weir_stats stats = weir_stats_of(f->w);
    if (argc == 3) {
        reply_info(ctx, f, &stats, field);
        return key_close(&o);
    }
    rm.ReplyWithMap(ctx, FIELDS);
    for (size_t i = 0; i < FIELDS; i++) {
        rm.ReplyWithSimpleString(ctx, fields[i]);
        reply_info(ctx, f, &stats, i);
    }
    return key_close(&o);
}
