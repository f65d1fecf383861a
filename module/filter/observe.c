/* observe.c - WEIR.OBSERVE: record items in a filter, with retries that change nothing (ONCE). */
#include <string.h>

#include "filter/weir_commands.h"
#include "server/reply.h"
#include "server/server.h"
#include "value/value.h"

struct observe_request {
    struct items items;
    bool at, once;
    bool has_ttl; /* one for all items */
    uint64_t ttl;
    bool no_create; /* a missing key is an error */
    uint64_t now;
    struct once_command command;
};

/* Parse the options, up to ITEMS or the first word that is no option. */
static const char *parse(struct observe_request *r, struct rm_string **argv, int argc)
{
    int i = 2;

    for (; i < argc; i++) {
        if (arg_is(argv[i], "AT")) {
            if (i + 1 == argc || !arg_u64(argv[++i], &r->now))
                return "invalid time after AT; expected milliseconds since 1970";
            r->items.latest = r->now;
            r->at = true;
        } else if (arg_is(argv[i], "TTL")) {
            if (i + 1 == argc || !arg_u64(argv[++i], &r->ttl))
                return "invalid time after TTL; expected milliseconds";
            r->has_ttl = true;
        } else if (arg_is(argv[i], "TTLS")) {
            r->items.has_ttls = true;
        } else if (arg_is(argv[i], "ONCE")) {
            if (i + 2 >= argc || !arg_u64(argv[i + 2], &r->command.number))
                return "ONCE needs a producer name and a request number";
            r->command.producer = arg_bytes(argv[i + 1]);
            r->once = true;
            i += 2;
        } else if (arg_is(argv[i], "NOCREATE")) {
            r->no_create = true;
        } else if (arg_is(argv[i], "TIMED")) {
            r->items.timed = true;
        } else if (arg_is(argv[i], "WEIGHTED")) {
            r->items.weighted = true;
        } else if (arg_is(argv[i], "HASHED")) {
            r->items.hashed = true;
        } else {
            i += arg_is(argv[i], "ITEMS");
            break;
        }
    }
    if (r->has_ttl && r->items.has_ttls)
        return "TTL and TTLS exclude each other";
    r->items.may_lack = r->at; /* AT alone sets the time */
    return items_take(&r->items, argv + i, argc - i);
}

static const char *check_once(struct observe_request *r)
{
    if (r->command.producer.size > ONCE_NAME)
        return "a producer name has at most 256 bytes";
    if (r->command.number == UINT64_MAX)
        return "a request number is at most 18446744073709551614";
    if (r->items.n > ONCE_ITEMS)
        return "ONCE allows at most 8192 items";
    r->command.n = (uint32_t)r->items.n;
    r->command.print = items_print(&r->items);
    return NULL;
}

static int answer_again(struct rm_ctx *ctx, const uint8_t *bits, size_t n)
{
    rm.ReplyWithArray(ctx, (long)n);
    for (size_t i = 0; i < n; i++)
        rm.ReplyWithLongLong(ctx, bits[i / 8] >> i % 8 & 1);
    return RM_OK;
}

/* Reply if this request number was used before: with its reply, or with an error. */
static bool was_answered(struct rm_ctx *ctx, const struct filter_value *f,
                         const struct observe_request *r)
{
    const uint8_t *bits = NULL;
    uint64_t limit = 0;

    switch (once_look(f ? f->once : NULL, &r->command, &bits, &limit)) {
    case ONCE_KNOWN:
        answer_again(ctx, bits, r->items.n);
        rm.ReplicateVerbatim(ctx); /* for a WAIT that follows; replicas have it too */
        return true;
    case ONCE_OTHER:
        reply_code(ctx, WEIRREUSED);
        return true;
    case ONCE_GONE:
        reply_gone(ctx, limit);
        return true;
    case ONCE_FRESH:
        break;
    }
    return false;
}

static struct filter_value *create(struct rm_ctx *ctx, struct rm_string *name)
{
    const char *spec = settings_now()->spec;

    return filter_create(ctx, name, (struct weir_bytes){spec, strlen(spec)});
}

static void show(struct rm_ctx *ctx, struct filter_value *f, const struct observe_request *r,
                 uint8_t *bits)
{
    struct weir_key keys[ITEMS_AT_ONCE];
    uint64_t times[ITEMS_AT_ONCE], ttls[ITEMS_AT_ONCE];
    uint8_t verdicts[ITEMS_AT_ONCE];
    size_t n;

    for (size_t i = 0; r->has_ttl && i < ITEMS_AT_ONCE; i++)
        ttls[i] = r->ttl;
    rm.ReplyWithArray(ctx, (long)r->items.n);
    for (size_t i = 0; i < r->items.n; i += n) {
        n = r->items.n - i < ITEMS_AT_ONCE ? r->items.n - i : ITEMS_AT_ONCE;
        items_keys(&r->items, i, n, f->w, keys);
        items_times(&r->items, i, n, times);
        items_ttls(&r->items, i, n, ttls);
        weir_observe_many_ttl(f->w, keys, r->items.timed ? times : NULL,
                              r->has_ttl || r->items.has_ttls ? ttls : NULL, n, verdicts);
        for (size_t j = 0; j < n; j++) {
            rm.ReplyWithLongLong(ctx, verdicts[j]);
            if (bits)
                bits[(i + j) / 8] |= (uint8_t)(verdicts[j] << (i + j) % 8);
        }
    }
}

/* Does the filter have TTLs, or the one that would be created? */
static bool can_expire(const struct filter_value *f)
{
    uint64_t traits = 0;

    if (f)
        return f->expires;
    weir_spec_traits(WEIR_KIND_FILTER, settings_now()->spec, &traits, NULL);
    return traits & WEIR_CAN_TTL;
}

/* Verbatim, with the time that was used. */
static void replicate(struct rm_ctx *ctx, struct rm_string **argv, int argc,
                      const struct filter_value *f, const struct observe_request *r)
{
    if (f->timed && !r->at && !r->items.timed)
        rm.Replicate(ctx, "WEIR.OBSERVE", "sclv", argv[1], "AT", (long long)r->now, argv + 2,
                     (size_t)argc - 2);
    else
        rm.ReplicateVerbatim(ctx);
}

int command_observe(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct observe_request r = {.items.n = 0};
    const char *why = parse(&r, argv, argc);
    uint8_t *bits = NULL;

    if (!why && r.once)
        why = check_once(&r);
    if (why)
        return reply_error(ctx, ERR, "%s", why);
    if (r.items.latest > server_time_most(ctx))
        return reply_code(ctx, WEIRTIME);
    struct opened o = key_open(ctx, argv[1], KEY_CHANGE, &family_filter);
    struct filter_value *f = o.value;
    if (o.wrong)
        return key_refuse(ctx, &o);
    if (f && f->fixed)
        return reply_error(ctx, WEIRUNSUPPORTED,
                           "the filter is fixed (weir build --fixed); use WEIR.ASK");
    if ((r.has_ttl || r.items.has_ttls) && (f || !r.no_create) && !can_expire(f))
        return reply_error(ctx, WEIRUNSUPPORTED,
                           "the filter has no TTLs; create it with ttl=, for example ttl=1m-2h");
    if (r.once && was_answered(ctx, f, &r))
        return RM_OK;
    if (!f && r.no_create)
        return reply_code(ctx, WEIRNOKEY);
    if (!f && !(f = create(ctx, argv[1])))
        return RM_OK;
    if (r.once) {
        uint64_t before = once_memory(f->once);

        if (!(bits = once_begin(&f->once, &r.command)))
            return reply_code(ctx, WEIRMEMORY);
        f->is.bytes += once_memory(f->once) - before;
    }
    if (f->timed && (r.at || !r.items.timed)) {
        r.now = r.at ? r.now : server_time();
        weir_advance(f->w, r.now);
    }
    show(ctx, f, &r, bits);
    replicate(ctx, argv, argc, f, &r);
    key_told(ctx, argv[1], &f->is, "weir.observe");
    return RM_OK;
}
