/* value.c - the types of values and what the server may ask of any of them, keys, and handles of
 * the library. */
#include "value/value.h"
#include "server/reply.h"
#include "server/server.h"
#include "value/job.h"
#include "value/redisbloom.h"

#include <string.h>
#include <unistd.h>

/* ---- types ---- */

static void *load(const struct family *family, struct rm_io *io, int encoding)
{
    struct value *v = NULL;

    if (encoding != family->encoding)
        rm.LogIOError(io, "warning",
                      "cannot load a value of type %s with encoding version %d; only version %d is "
                      "supported",
                      family->type, encoding, family->encoding);
    else
        v = family->pass ? archive_load(family, io) : image_load(family, io);
    if (v)
        value_changed(v);
    return v;
}

#define LOADER(name)                                                                               \
    static void *load_##name(struct rm_io *io, int encoding)                                       \
    {                                                                                              \
        return load(&family_##name, io, encoding);                                                 \
    }

LOADER(filter)
LOADER(bloom)
LOADER(cuckoo)
LOADER(counts)
LOADER(top)
LOADER(loading)
LOADER(imported_bloom)
LOADER(imported_cuckoo)
LOADER(imported_counts)
LOADER(imported_top)

static struct {
    const struct family *family;
    void *(*load)(struct rm_io *io, int encoding);
    struct rm_type *type;
} types[] = {
    {&family_filter, load_filter, NULL},
    {&family_bloom, load_bloom, NULL},
    {&family_cuckoo, load_cuckoo, NULL},
    {&family_counts, load_counts, NULL},
    {&family_top, load_top, NULL},
    {&family_loading, load_loading, NULL},
    {&family_imported_bloom, load_imported_bloom, NULL},
    {&family_imported_cuckoo, load_imported_cuckoo, NULL},
    {&family_imported_counts, load_imported_counts, NULL},
    {&family_imported_top, load_imported_top, NULL},
};

#define TYPES (sizeof types / sizeof *types)

static void save(struct rm_io *io, void *value)
{
    const struct value *v = value_contents(value);

    (v->family->pass ? archive_save : image_save)(v, io);
}

static void rewrite(struct rm_io *io, struct rm_string *key, void *value)
{
    const struct value *v = value_contents(value);

    (v->family->rewrite ? v->family->rewrite : image_rewrite)(v, io, key);
}

static void digest(struct rm_digest *into, void *value)
{
    image_digest(value_contents(value), into);
}

static void free_value(void *value)
{
    value_release(value);
}

static size_t memory(struct rm_key_options *ctx, const void *value, size_t samples)
{
    return value_contents((struct value *)value)->bytes;
}

/* The server frees a value in the background if the effort is above 64, or 0. */
static size_t effort(struct rm_key_options *ctx, const void *value)
{
    return 1 + memory(ctx, value, 0) / 4096;
}

static void account(struct value *v)
{
    uint64_t bytes = value_contents(v)->bytes;

    if (bytes == v->accounted)
        return;
    atomic_fetch_add(&server_stats.values, v->accounted == 0);
    atomic_fetch_add(&server_stats.bytes, bytes - v->accounted);
    v->accounted = bytes;
}

static void *copy(struct rm_key_options *ctx, const void *value)
{
    struct value *from = value_contents((struct value *)value);
    uint64_t start = stats_start();
    struct value *v = from->bytes > JOB_SMALL ? copy_start(from) : from->family->copy(from);

    stats_stop(start);
    if (!v)
        return NULL;
    *v = (struct value){.family = from->family,
                        .changes = from->changes, /* equal contents */
                        .bytes = from->bytes,
                        .holders = v->copying ? 1 : 0,
                        .copying = v->copying};
    account(v);
    return v;
}

/* Large blocks leave no fragments and are not worth a copy. */
static int defrag(struct rm_defrag *ctx, struct rm_string *key, void **value)
{
    struct value *v = *value;
    unsigned long cursor = 0;
    void *moved;

    if (atomic_load(&v->holders) > 0)
        return 0;
    if (rm.DefragCursorGet(ctx, &cursor) != RM_OK)
        cursor = 0;
    moved = cursor == 0 ? rm.DefragAlloc(ctx, v) : NULL;
    if (moved)
        *value = v = moved;
    if (!v->family->move || v->family->move(v, ctx, &cursor))
        return 0;
    rm.DefragCursorSet(ctx, cursor);
    return 1;
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

        const struct family *f = types[i].family;

        types[i].type = rm.CreateDataType(ctx, f->type, f->encoding, &methods);
        if (types[i].type)
            continue;
        if (!f->pass)
            return RM_ERR;
        rm.Log(ctx, "notice", "another module has registered the type %s; weir cannot load it",
               f->type);
    }
    return RM_OK;
}

const struct family *family_with(uint32_t part)
{
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].family->part == part && types[i].type)
            return types[i].family;
    return &family_filter;
}

struct rm_type *type_of(const struct family *family)
{
    size_t i = 0;

    while (types[i].family != family)
        i++;
    return types[i].type;
}

void value_changed(struct value *v)
{
    static uint64_t changes;

    v->changes = ++changes;
    account(v);
}

/* `holders` is 0 for a value that only the keyspace refers to, and -1 after that is gone too. */
void value_hold(struct value *v)
{
    atomic_fetch_add(&v->holders, 1);
}

void value_release(struct value *v)
{
    if (atomic_fetch_sub(&v->holders, 1) > 0)
        return;
    atomic_fetch_sub(&server_stats.values, v->accounted > 0);
    atomic_fetch_sub(&server_stats.bytes, v->accounted);
    v->family->free(v);
}

void value_copy_structure(struct value *to, const struct value *from)
{
    *to = (struct value){.family = from->family, .bytes = from->bytes};
    memcpy(to + 1, from + 1, from->family->size - sizeof *to);
}

void value_lock(struct value *v)
{
    atomic_fetch_add(&v->readers, 1);
}

void value_unlock(struct value *v)
{
    atomic_fetch_sub(&v->readers, 1);
}

/* May a command change the value now? */
static bool may_change(struct rm_ctx *ctx, struct value *v)
{
    if (atomic_load(&v->holders) == 0)
        return true;
    if (!server_obeys(ctx))
        return false;
    while (atomic_load(&v->readers) > 0 || value_contents(v) != v)
        usleep(100);
    return true;
}

/* ---- keys ---- */

static struct value *value_of(struct rm_key *key)
{
    struct rm_type *type = key ? rm.ModuleTypeGetType(key) : NULL;

    for (size_t i = 0; type && i < TYPES; i++)
        if (types[i].type == type)
            return rm.ModuleTypeGetValue(key);
    return NULL;
}

struct opened key_open(struct rm_ctx *ctx, struct rm_string *name, enum command_keys use,
                       const struct family *family)
{
    struct rm_key *key = rm.OpenKey(ctx, name, use == KEY_READ ? RM_READ : RM_READ | RM_WRITE);
    struct value *v = value_of(key);
    const struct family *found = v ? v->family : NULL;
    bool loading = found == &family_loading;
    bool fits = v && !loading && (!family || found == family || found == family->imported);
    bool locked = (fits || loading) && use != KEY_READ && !may_change(ctx, v);
    struct opened o = {
        .value = fits && !locked ? value_contents(v) : NULL,
        .busy = loading || locked,
        .loading = loading && !locked ? (struct value_loading *)value_contents(v) : NULL,
    };

    o.wrong = !o.value && key && rm.KeyType(key) != RM_KEY_EMPTY;
    if (key)
        rm.CloseKey(key);
    return o;
}

int key_refuse(struct rm_ctx *ctx, const struct opened *o)
{
    if (o->loading)
        return reply_code(ctx, WEIRBUSY);
    if (o->busy)
        return reply_error(ctx, WEIRBUSY, "another command is working on the key; repeat this one");
    return reply_wrong_type(ctx);
}

void *key_value(struct rm_ctx *ctx, struct rm_string *name, enum command_keys use,
                const struct family *family, const char *missing)
{
    struct opened o = key_open(ctx, name, use, family);

    if (o.wrong)
        key_refuse(ctx, &o);
    else if (!o.value)
        rm.ReplyWithError(ctx, missing);
    return o.value;
}

void value_put(struct rm_ctx *ctx, struct rm_string *name, struct value *v)
{
    struct rm_key *key = rm.OpenKey(ctx, name, RM_READ | RM_WRITE);
    void *former;

    value_changed(v);
    if (rm.ModuleTypeReplaceValue(key, type_of(v->family), v, &former) == RM_OK)
        value_release(former);
    else
        rm.ModuleTypeSetValue(key, type_of(v->family), v);
    rm.CloseKey(key);
}

void key_delete(struct rm_ctx *ctx, struct rm_string *name)
{
    struct rm_key *key = rm.OpenKey(ctx, name, RM_READ | RM_WRITE);

    rm.DeleteKey(key);
    rm.CloseKey(key);
    rm.Replicate(ctx, "DEL", "s", name);
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

/* Bytes that the library took and did not give back since handle_begin(). */
static _Thread_local uint64_t balance;

static void *take(void *context, size_t size)
{
    void *block = server_take(size);

    balance += server_bytes(block);
    return block;
}

static void give(void *context, void *block)
{
    balance -= server_bytes(block);
    server_give(block);
}

static struct weir_options handle_begin(uint64_t most)
{
    balance = 0;
    return (struct weir_options){sizeof(struct weir_options), {take, give, NULL}, most};
}

static enum weir_status handle_end(enum weir_status status, uint64_t *bytes)
{
    *bytes = balance;
    return status;
}

enum weir_status filter_open(weir_filter **out, const char *spec, uint64_t most, uint64_t *bytes,
                             struct weir_error *error)
{
    struct weir_options options = handle_begin(most);

    return handle_end(weir_open_with(out, spec, &options, error), bytes);
}

enum weir_status filter_load(weir_filter **out, weir_source source, void *context, uint64_t most,
                             uint64_t *bytes, struct weir_error *error)
{
    struct weir_options options = handle_begin(most);

    return handle_end(weir_load_stream(out, source, context, &options, error), bytes);
}

enum weir_status sketch_open(weir_sketch **out, const char *spec, uint64_t most, uint64_t *bytes,
                             struct weir_error *error)
{
    struct weir_options options = handle_begin(most);

    return handle_end(weir_sketch_open_with(out, spec, &options, error), bytes);
}

enum weir_status sketch_load(weir_sketch **out, const void *data, size_t size, uint64_t most,
                             uint64_t *bytes, struct weir_error *error)
{
    struct weir_options options = handle_begin(most);

    return handle_end(weir_sketch_load_buffer(out, data, size, NULL, &options, error), bytes);
}

bool sketch_has_spec(const weir_sketch *s, const char *spec)
{
    char whole[WEIR_SPEC_MAX], its[WEIR_SPEC_MAX];

    weir_sketch_config(s, its, sizeof its);
    return weir_spec_complete(WEIR_KIND_SKETCH, spec, whole, sizeof whole, NULL) == WEIR_OK &&
           strcmp(whole, its) == 0;
}

uint64_t spec_seed(const char *spec)
{
    uint64_t seed = 0;

    return weir_spec_number(spec, "seed", &seed) ? seed : 0;
}
