/* merge_info.c - WEIR.MERGE and WEIR.INFO. */
#include <string.h>

#include "filter/weir_commands.h"
#include "server/args.h"
#include "server/reply.h"
#include "value/key_access.h"

/* ---- WEIR.MERGE ---- */

/* All sources into one filter, which is then the destination's: nothing is changed if one of
 * them does not fit. */
static weir_filter *merged(struct rm_ctx *ctx, weir_filter *into, struct rm_string **names,
                           size_t n)
{
    struct weir_error error = {.text = "memory is short"};
    bool good = true;

    for (size_t i = 0; good && i < n; i++) {
        struct opened o = key_open(ctx, names[i], RM_READ, &family_filter);
        const struct filter_value *f = o.value;

        good = f;
        if (o.wrong) {
            weir_close(into);
            key_refuse(ctx, &o);
            return NULL;
        }
        if (!f)
            strcpy(error.text, "there is no such key among the sources");
        else if (!into)
            good = (into = weir_clone(f->w, NULL)) != NULL;
        else
            good = weir_merge(into, f->w, &error) == WEIR_OK;
        key_close(&o);
    }
    if (good)
        return into;
    reply_error(ctx, "%s", error.text);
    weir_close(into);
    return NULL;
}

static int merge(struct rm_ctx *ctx, struct opened *o, struct rm_string **argv, size_t n)
{
    struct filter_value *f = o->value;
    weir_filter *w = f ? weir_clone(f->w, NULL) : NULL;

    if (f && !w)
        return reply_error(ctx, "memory is short");
    w = merged(ctx, w, argv + 3, n);
    if (!w)
        return RM_OK;
    if (f) {
        weir_close(f->w);
        f->w = w;
    } else if ((f = filter_value_of(w))) {
        value_put(o->key, &f->is);
    } else {
        return reply_error(ctx, "memory is short");
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
        return reply_error(ctx, "after the number of sources stand as many keys");
    struct opened o = key_open(ctx, argv[1], RM_READ | RM_WRITE, &family_filter);
    if (o.wrong)
        return key_refuse(ctx, &o);
    merge(ctx, &o, argv, n);
    return key_close(&o);
}

/* ---- WEIR.INFO ---- */

#define DUMP_MOST (UINT64_C(512) << 20) /* proto-max-bulk-len as it is unless set otherwise */

static const char *const fields[] = {"spec", "memory", "bytes", "observed",  "seen", "new",
                                     "fill", "error",  "saved", "producers", "dump"};

#define FIELDS (sizeof fields / sizeof *fields)

static void tell(struct rm_ctx *ctx, const struct filter_value *f, const struct weir_stats *stats,
                 size_t field)
{
    const long long numbers[FIELDS] = {0,
                                       (long long)stats->memory,
                                       (long long)stats->bytes,
                                       (long long)stats->observed,
                                       (long long)stats->seen,
                                       (long long)stats->new_keys,
                                       0,
                                       0,
                                       (long long)weir_saved_size(f->w),
                                       (long long)once_producers(f->once)};
    char spec[WEIR_SPEC_MAX];

    if (field == 0) {
        weir_config(f->w, spec, sizeof spec);
        reply_text(ctx, spec);
    } else if (field == 6 || field == 7) {
        rm.ReplyWithDouble(ctx, field == 6 ? stats->fill : stats->error);
    } else if (field == 10) {
        reply_text(ctx, weir_saved_size(f->w) < DUMP_MOST
                            ? "possible"
                            : "too large for DUMP, RESTORE and MIGRATE; WEIR.SAVE takes any size");
    } else {
        rm.ReplyWithLongLong(ctx, numbers[field]);
    }
}

int command_info(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    size_t field = FIELDS;

    if (argc < 2 || argc > 3)
        return rm.WrongArity(ctx);
    for (size_t i = 0; argc == 3 && i < FIELDS; i++)
        field = arg_is(argv[2], fields[i]) ? i : field;
    if (argc == 3 && field == FIELDS)
        return reply_error(ctx, "there are the fields spec, memory, bytes, observed, seen, new, "
                                "fill, error, saved, producers and dump");
    struct opened o = key_open(ctx, argv[1], RM_READ, &family_filter);
    if (o.wrong)
        return key_refuse(ctx, &o);
    const struct filter_value *f = o.value;
    if (!f) {
        reply_error(ctx, "there is no such key");
        return key_close(&o);
    }
    struct weir_stats stats = weir_stats_of(f->w);
    if (argc == 3) {
        tell(ctx, f, &stats, field);
        return key_close(&o);
    }
    rm.ReplyWithMap(ctx, FIELDS);
    for (size_t i = 0; i < FIELDS; i++) {
        rm.ReplyWithSimpleString(ctx, fields[i]);
        tell(ctx, f, &stats, i);
    }
    return key_close(&o);
}
