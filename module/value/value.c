/* value.c - the types of values and what the server may ask of any of them, keys, and handles of
 * the library. */
#include "value/value.h"
#include "server/reply.h"
#include "server/server.h"
#include "value/image.h"

/* ---- types ---- */

#define ENCODING 1 /* of images in an RDB */

#define LOADER(name)                                                                               \
    static void *load_##name(struct rm_io *io, int encoding)                                       \
    {                                                                                              \
        return encoding == ENCODING ? image_load(&family_##name, io) : NULL;                       \
    }

LOADER(filter)
LOADER(bloom)
LOADER(cuckoo)
LOADER(counts)
LOADER(top)
LOADER(loading)

static struct {
    const struct family *family;
    void *(*load)(struct rm_io *io, int encoding);
    struct rm_type *type;
} types[] = {
    {&family_filter, load_filter, NULL}, {&family_bloom, load_bloom, NULL},
    {&family_cuckoo, load_cuckoo, NULL}, {&family_counts, load_counts, NULL},
    {&family_top, load_top, NULL},       {&family_loading, load_loading, NULL},
};

#define TYPES (sizeof types / sizeof *types)

static void save(struct rm_io *io, void *value)
{
    image_save(value, io);
}

static void rewrite(struct rm_io *io, struct rm_string *key, void *value)
{
    const struct value *v = value;

    (v->family->rewrite ? v->family->rewrite : image_rewrite)(v, io, key);
}

static void digest(struct rm_digest *into, void *value)
{
    image_digest(value, into);
}

static void free_value(void *value)
{
    struct value *v = value;

    v->family->free(v);
}

static size_t memory(struct rm_key_options *ctx, const void *value, size_t samples)
{
    const struct value *v = value;

    (void)ctx;
    (void)samples;
    return v->family->memory(v);
}

static size_t effort(struct rm_key_options *ctx, const void *value)
{
    const struct value *v = value;

    (void)ctx;
    return v->family->blocks(v);
}

static void *copy(struct rm_key_options *ctx, const void *value)
{
    const struct value *v = value;

    (void)ctx;
    return v->family->copy(v);
}

/* The cells of a filter are one large block that no fragment is left of; what may be moved
 * is the little that lies around it. */
static int defrag(struct rm_defrag *ctx, struct rm_string *key, void **value)
{
    void *moved = rm.DefragAlloc(ctx, *value);
    struct value *v;

    (void)key;
    if (moved)
        *value = moved;
    v = *value;
    if (v->family->move)
        v->family->move(v, ctx);
    return 0;
}

int types_create(struct rm_ctx *ctx)
{
    for (size_t i = 0; i < TYPES; i++) {
        struct rm_type_methods methods = {
            .version = 4,
            .rdb_load = types[i].load,
            .rdb_save = save,
            .aof_rewrite = rewrite,
            .digest = digest,
            .free = free_value,
            .defrag = defrag,
            .mem_usage2 = memory,
            .free_effort2 = effort,
            .copy2 = copy,
        };

        types[i].type = rm.CreateDataType(ctx, types[i].family->type, ENCODING, &methods);
        if (!types[i].type)
            return RM_ERR;
    }
    return RM_OK;
}

struct rm_type *type_of(const struct family *family)
{
    size_t i = 0;

    while (types[i].family != family)
        i++;
    return types[i].type;
}

void *value_at(struct rm_key *key, const struct family *family, bool *wrong)
{
    *wrong = false;
    if (!key || rm.KeyType(key) == RM_KEY_EMPTY)
        return NULL;
    if (rm.ModuleTypeGetType(key) == type_of(family))
        return rm.ModuleTypeGetValue(key);
    *wrong = true;
    return NULL;
}

struct value *value_of_any(struct rm_key *key)
{
    struct rm_type *type =
        key && rm.KeyType(key) != RM_KEY_EMPTY ? rm.ModuleTypeGetType(key) : NULL;

    for (size_t i = 0; type && i < TYPES; i++)
        if (types[i].type == type && types[i].family != &family_loading)
            return rm.ModuleTypeGetValue(key);
    return NULL;
}

void value_changed(struct value *v)
{
    static uint64_t changes;

    v->changes = ++changes;
}

void value_put(struct rm_key *key, struct value *v)
{
    value_changed(v);
    rm.ModuleTypeSetValue(key, type_of(v->family), v);
}

/* ---- keys ---- */

struct opened key_open(struct rm_ctx *ctx, struct rm_string *name, int mode,
                       const struct family *family)
{
    struct opened o = {.key = rm.OpenKey(ctx, name, mode)};

    o.value = value_at(o.key, family, &o.wrong);
    if (o.wrong)
        o.loading = rm.ModuleTypeGetType(o.key) == type_of(&family_loading);
    return o;
}

bool keys_were_asked(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    long long n = 0;

    if (!rm.IsKeysPositionRequest(ctx))
        return false;
    rm.KeyAtPosWithFlags(ctx, 1, RM_KEY_RW | RM_KEY_ACCESS | RM_KEY_UPDATE);
    if (argc > 2 && rm.StringToLongLong(argv[2], &n) == RM_OK && n <= argc - 3)
        for (int i = 0; i < n; i++)
            rm.KeyAtPosWithFlags(ctx, 3 + i, RM_KEY_RO | RM_KEY_ACCESS);
    return true;
}

int key_close(struct opened *o)
{
    if (o->key)
        rm.CloseKey(o->key);
    return RM_OK;
}

int key_refuse(struct rm_ctx *ctx, struct opened *o)
{
    if (o->loading)
        reply_code(ctx, WEIRBUSY);
    else
        reply_wrong_type(ctx);
    return key_close(o);
}

void *key_value(struct rm_ctx *ctx, struct opened *o, const char *missing)
{
    if (o->wrong) {
        key_refuse(ctx, o);
    } else if (!o->value) {
        rm.ReplyWithError(ctx, missing);
        key_close(o);
    }
    return o->value;
}

void key_told(struct rm_ctx *ctx, struct rm_string *name, struct value *v, const char *event)
{
    value_changed(v);
    rm.NotifyKeyspaceEvent(ctx, RM_NOTIFY_MODULE, event, name);
}

void key_changed(struct rm_ctx *ctx, struct rm_string *name, struct value *v, const char *event)
{
    rm.ReplicateVerbatim(ctx);
    key_told(ctx, name, v, event);
}

/* ---- handles of the library ---- */

static void *take(void *context, size_t size)
{
    (void)context;
    return server_take(size);
}

static void give(void *context, void *block)
{
    (void)context;
    server_give(block);
}

static struct weir_options within(uint64_t most)
{
    return (struct weir_options){sizeof(struct weir_options), {take, give, NULL}, most};
}

enum weir_status filter_open(weir_filter **out, const char *spec, uint64_t most,
                             struct weir_error *error)
{
    struct weir_options options = within(most);

    return weir_open_with(out, spec, &options, error);
}

enum weir_status filter_load(weir_filter **out, weir_source source, void *context, uint64_t most,
                             struct weir_error *error)
{
    struct weir_options options = within(most);

    return weir_load_stream(out, source, context, &options, error);
}

enum weir_status sketch_open(weir_sketch **out, const char *spec, uint64_t most,
                             struct weir_error *error)
{
    struct weir_options options = within(most);

    return weir_sketch_open_with(out, spec, &options, error);
}

enum weir_status sketch_load(weir_sketch **out, const void *data, size_t size, uint64_t most,
                             struct weir_error *error)
{
    struct weir_options options = within(most);

    return weir_sketch_load_buffer(out, data, size, NULL, &options, error);
}

uint64_t spec_seed(const char *spec)
{
    uint64_t seed = 0;

    return weir_spec_number(spec, "seed", &seed) ? seed : 0;
}
