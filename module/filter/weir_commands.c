/* weir_commands.c - WEIR.CREATE, WEIR.ASK, WEIR.FORGET, the items of commands, and the list of all
 * WEIR.*. */
#include "filter/weir_commands.h"
#include "server/reply.h"
#include "server/server.h"
#include "value/value.h"

#include <string.h>
#include <weir/hash.h>

/* ---- items ---- */

/* Arguments per item: its time, its TTL, its importance, the item. */
static size_t words_of(const struct items *items)
{
    return 1 + (size_t)items->timed + (size_t)items->has_ttls + (size_t)items->weighted;
}

static const struct rm_string *item(const struct items *items, size_t i)
{
    return items->argv[words_of(items) * (i + 1) - 1];
}

static bool importance(const struct items *items, size_t i, uint64_t *value)
{
    return arg_u64(items->argv[words_of(items) * (i + 1) - 2], value) && *value <= UINT32_MAX;
}

const char *items_take(struct items *items, struct rm_string **argv, int argc)
{
    size_t words = words_of(items);
    uint64_t value;

    items->argv = argv;
    items->n = (size_t)argc / words;
    if (argc == 0)
        return items->may_lack ? NULL : "no item";
    if ((size_t)argc % words != 0)
        return items->timed      ? "TIMED needs a time before each item"
               : items->has_ttls ? "TTLS needs a TTL before each item"
                                 : "WEIGHTED needs an importance before each item";
    for (size_t i = 0; i < items->n; i++) {
        if (items->timed && !arg_u64(argv[words * i], &value))
            return "invalid time; expected milliseconds since 1970";
        if (items->timed && value > items->latest)
            items->latest = value;
        if (items->has_ttls && !arg_u64(argv[words * i + items->timed], &value))
            return "invalid TTL; expected milliseconds";
        if (items->weighted && !importance(items, i, &value))
            return "invalid importance; expected 0 to 4294967295";
        if (items->hashed && arg_bytes(item(items, i)).size != 16)
            return "HASHED needs hashes of 16 bytes";
    }
    return NULL;
}

void items_times(const struct items *items, size_t from, size_t n, uint64_t *times)
{
    for (size_t i = 0; items->timed && i < n; i++)
        arg_u64(items->argv[words_of(items) * (from + i)], &times[i]);
}

void items_ttls(const struct items *items, size_t from, size_t n, uint64_t *ttls)
{
    for (size_t i = 0; items->has_ttls && i < n; i++)
        arg_u64(items->argv[words_of(items) * (from + i) + items->timed], &ttls[i]);
}

void items_keys(const struct items *items, size_t from, size_t n, const weir_filter *w,
                struct weir_key *keys)
{
    struct weir_bytes bytes[ITEMS_AT_ONCE];
    uint64_t value;

    for (size_t i = 0; i < n; i++)
        bytes[i] = arg_bytes(item(items, from + i));
    if (items->hashed)
        for (size_t i = 0; i < n; i++)
            keys[i] = (struct weir_key){load_number(bytes[i].data, 8),
                                        load_number((const uint8_t *)bytes[i].data + 8, 8), 1, 0};
    else
        weir_hash_many(w, bytes, n, keys);
    for (size_t i = 0; items->weighted && i < n; i++)
        if (importance(items, from + i, &value))
            keys[i].importance = (uint32_t)value;
}

uint64_t items_print(const struct items *items)
{
    size_t n = items->n * words_of(items);
    uint64_t print = 0;

    for (size_t i = 0; i < n; i++) {
        struct weir_bytes bytes = arg_bytes(items->argv[i]);

        print = weir_hash_bytes(WEIR_HASH_XXH3, print + 1, bytes.data, bytes.size).lo;
    }
    return print;
}

/* ---- commands ---- */

struct filter_value *filter_create(struct rm_ctx *ctx, struct rm_string *name,
                                   struct weir_bytes text)
{
    struct weir_error error = {.status = WEIR_BAD_CONFIG,
                               .text = "a spec has at most 511 characters and no NUL"};
    char spec[WEIR_SPEC_MAX];
    struct filter_value *f = NULL;
    uint64_t bytes;
    weir_filter *w;

    if (text.size < sizeof spec && !memchr(text.data, '\0', text.size)) {
        memcpy(spec, text.data, text.size);
        spec[text.size] = '\0';
        if (filter_open(&w, spec, server_limit(ctx), &bytes, &error) == WEIR_OK) {
            image_no_memory(&error);
            f = filter_value_of(w, bytes);
        }
    }
    if (!f) {
        reply_failure(ctx, &error);
        return NULL;
    }
    value_put(ctx, name, &f->is);
    weir_config(f->w, spec, sizeof spec);
    rm.Replicate(ctx, "WEIR.CREATE", "sc", name, spec);
    return f;
}

static int command_create(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    bool nx = argc == 4;

    if (argc > 4)
        return rm.WrongArity(ctx);
    if (nx && !arg_is(argv[3], "NX"))
        return reply_error(ctx, ERR, "unknown argument after the spec; expected NX");
    struct opened o = key_open(ctx, argv[1], KEY_CHANGE, &family_filter);
    if (o.wrong && !nx)
        return key_refuse(ctx, &o);
    if (nx && (o.value || o.wrong))
        return rm.ReplyWithNull(ctx);
    if (o.value)
        return reply_error(ctx, WEIREXISTS,
                           "the key exists; delete it first, or use NX to keep it");
    struct filter_value *f = filter_create(ctx, argv[1], arg_bytes(argv[2]));
    if (!f)
        return RM_OK;
    key_told(ctx, argv[1], &f->is, "weir.create");
    return reply_ok(ctx);
}

/* [HASHED] [ITEMS] item ... */
static const char *parse_items(struct items *items, struct rm_string **argv, int argc)
{
    int i = 2;

    if (i < argc && arg_is(argv[i], "HASHED")) {
        items->hashed = true;
        i++;
    }
    i += i < argc && arg_is(argv[i], "ITEMS");
    return items_take(items, argv + i, argc - i);
}

static int command_ask(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct items items = {0};
    struct weir_key keys[ITEMS_AT_ONCE];
    uint8_t verdicts[ITEMS_AT_ONCE] = {0};
    const char *why = parse_items(&items, argv, argc);
    size_t n;

    if (why)
        return reply_error(ctx, ERR, "%s", why);
    struct opened o = key_open(ctx, argv[1], KEY_READ, &family_filter);
    if (o.wrong)
        return key_refuse(ctx, &o);
    const struct filter_value *f = o.value;
    rm.ReplyWithArray(ctx, (long)items.n);
    for (size_t i = 0; i < items.n; i += n) {
        n = items.n - i < ITEMS_AT_ONCE ? items.n - i : ITEMS_AT_ONCE;
        if (f) { /* a missing key has seen nothing */
            items_keys(&items, i, n, f->w, keys);
            weir_ask_many(f->w, keys, n, verdicts);
        }
        for (size_t j = 0; j < n; j++)
            rm.ReplyWithLongLong(ctx, verdicts[j]);
    }
    return RM_OK;
}

static int forget(struct rm_ctx *ctx, struct filter_value *f, const struct items *items,
                  struct rm_string *name)
{
    struct weir_error error;

    for (size_t i = 0; i < items->n; i++) {
        struct weir_key key;
        bool there = false;

        items_keys(items, i, 1, f->w, &key);
        if (weir_forget(f->w, key, &there, &error) != WEIR_OK) /* at the first item, or never */
            return reply_failure(ctx, &error);
        if (i == 0)
            rm.ReplyWithArray(ctx, (long)items->n);
        rm.ReplyWithLongLong(ctx, there);
    }
    key_changed(ctx, name, &f->is, "weir.forget");
    return RM_OK;
}

static int command_forget(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct items items = {0};
    const char *why = parse_items(&items, argv, argc);

    if (why)
        return reply_error(ctx, ERR, "%s", why);
    struct opened o = key_open(ctx, argv[1], KEY_CHANGE, &family_filter);
    if (o.wrong)
        return key_refuse(ctx, &o);
    if (o.value)
        forget(ctx, o.value, &items, argv[1]);
    else
        reply_code(ctx, WEIRNOKEY);
    return RM_OK;
}

/* clang-format off */
const struct module_command commands_weir[] = {
    {"weir.create", command_create, "write deny-oom", -3, KEY_CHANGE,
     "Creates a filter from a spec", "O(memory of the filter)", "spec !NX?"},
    {"weir.observe", command_observe, "write deny-oom fast", -3, KEY_CHANGE,
     "Returns 1 for each item that was seen before, else 0, and records it", "O(items)",
     "!NOCREATE? AT=#milliseconds? TTL=#milliseconds? ONCE=producer,#number? !TIMED? !TTLS? !WEIGHTED? !HASHED? "
     "!ITEMS? item+"},
    {"weir.ask", command_ask, "readonly fast", -3, KEY_READ,
     "Returns 1 for each item that was seen before, else 0", "O(items)", "!HASHED? !ITEMS? item+"},
    {"weir.forget", command_forget, "write fast", -3, KEY_CHANGE,
     "Removes one insertion of each item, in filters that can delete", "O(items)",
     "!HASHED? !ITEMS? item+"},
    {"weir.merge", command_merge, "write deny-oom getkeys-api", -4, KEYS_COUNTED,
     "Merges filters with the same spec and seed into one",
     "O(filters * memory)", "#numkeys source+"},
    {"weir.info", command_info, "readonly", -1, KEY_READ,
     "Describes a filter: spec, memory, counters, fill and error; without a key, the protocol",
     "O(memory of the filter, at most 4 MiB)", "field?"},
    {"weir.save", command_save, "readonly", -3, KEY_READ,
     "Returns the value of a key as a weir file, in chunks", "O(memory of the value)",
     "cursor CHUNK=#bytes?"},
    {"weir.load", command_load, "write deny-oom", 4, KEY_CHANGE,
     "Creates a key from the chunks of a weir file", "O(chunk), O(memory of the value) for the last",
     "cursor chunk"},
    {0},
};
/* clang-format on */
