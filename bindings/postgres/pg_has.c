/* pg_has.c - lookups: weir_has(filter, key), and the operator filter @> key.
 *
 * The same filter is passed with most rows, and opening it takes longer than a lookup. So a query
 * caches the filters that it used last, opened. A stored filter is recognized by its TOAST pointer,
 * without reading it. Another one is recognized by its header and the checksums of its cells, which
 * differ between any two filters; up to 4 KiB all bytes are compared. */
#include "pg.h"

#include <access/detoast.h>
#include <weir/hash.h>

#define CACHED 4   /* filters of a query; chosen: more are rarely used in turn */
#define SMALL 4096 /* bytes of a filter that is compared whole */

static const char name[] = "weir_has";

struct cached {
    struct pg_value *value;
    bool is_toasted;
    struct varatt_external pointer; /* if toasted */
};

/* The cache of a query. */
struct cache {
    int last; /* the entry that was used last */
    struct cached entry[CACHED];
};

static bool is_same(const struct pg_value *v, struct weir_bytes file)
{
    const char *ours = v->file.data, *theirs = file.data;

    if (file.size != v->file.size)
        return false;
    if (file.size <= SMALL || v->head == 0)
        return memcmp(ours, theirs, file.size) == 0;
    return memcmp(ours, theirs, v->head) == 0 &&
           memcmp(ours + file.size - v->tail, theirs + file.size - v->tail, v->tail) == 0;
}

/* Open a filter in the place of the entry that was opened first. */
static struct pg_value *add(struct cache *cache, MemoryContext context, struct weir_bytes file,
                            const struct varatt_external *pointer)
{
    int i = (cache->last + 1) % CACHED;
    struct cached *entry = &cache->entry[i];
    struct pg_value *value = pg_value_open(context, name, file, false);

    pg_value_require_filter(name, value);
    pg_value_require_plain_keys(name, value);
    if (entry->value)
        pg_value_close(entry->value);
    *entry = (struct cached){.value = value, .is_toasted = pointer != NULL};
    if (pointer)
        entry->pointer = *pointer;
    cache->last = i;
    return value;
}

static struct pg_value *find_toasted(struct cache *cache, MemoryContext context, Datum datum)
{
    struct varlena *v = (struct varlena *)DatumGetPointer(datum);
    struct varatt_external pointer;
    struct pg_value *value;

    VARATT_EXTERNAL_GET_POINTER(pointer, v);
    for (int i = 0; i < CACHED; i++) {
        int at = (cache->last + CACHED - i) % CACHED;
        const struct cached *entry = &cache->entry[at];

        if (entry->value && entry->is_toasted &&
            memcmp(&entry->pointer, &pointer, sizeof pointer) == 0) {
            cache->last = at;
            return entry->value;
        }
    }
    v = detoast_attr(v);
    value =
        add(cache, context, (struct weir_bytes){VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v)}, &pointer);
    pfree(v);
    return value;
}

static struct pg_value *find_inline(struct cache *cache, MemoryContext context, Datum datum)
{
    struct weir_bytes file = pg_bytes(datum);

    for (int i = 0; i < CACHED; i++) {
        int at = (cache->last + CACHED - i) % CACHED;
        const struct cached *entry = &cache->entry[at];

        if (entry->value && !entry->is_toasted && is_same(entry->value, file)) {
            cache->last = at;
            return entry->value;
        }
    }
    return add(cache, context, file, NULL);
}

/* Get the opened filter of the first argument. */
static const struct pg_value *filter_of(FunctionCallInfo call)
{
    FmgrInfo *info = call->flinfo;
    struct cache *cache = info->fn_extra;

    if (!cache) {
        cache = MemoryContextAllocZero(info->fn_mcxt, sizeof *cache);
        info->fn_extra = cache;
    }
    if (VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(call->args[0].value)))
        return find_toasted(cache, info->fn_mcxt, call->args[0].value);
    return find_inline(cache, info->fn_mcxt, call->args[0].value);
}

static Datum has(const struct pg_value *v, const struct pg_key *key)
{
    struct weir_key hashed = weir_hash(v->shard[0], key->bytes.data, key->bytes.size);
    const weir_filter *shard = v->shard[v->shards > 1 ? weir_shard(hashed, v->shards) : 0];

    PG_RETURN_BOOL(weir_ask(shard, hashed) == WEIR_SEEN);
}

PG_CALLED_BY_SQL(pgweir_has_text);
PG_CALLED_BY_SQL(pgweir_has_bytes);
PG_CALLED_BY_SQL(pgweir_has_integer);

Datum pgweir_has_text(PG_FUNCTION_ARGS)
{
    struct pg_key key;

    pg_key_text(fcinfo, 1, &key);
    return has(filter_of(fcinfo), &key);
}

Datum pgweir_has_bytes(PG_FUNCTION_ARGS)
{
    struct pg_key key;

    pg_key_bytes(fcinfo, 1, &key);
    return has(filter_of(fcinfo), &key);
}

Datum pgweir_has_integer(PG_FUNCTION_ARGS)
{
    struct pg_key key;

    pg_key_integer(fcinfo, 1, &key);
    return has(filter_of(fcinfo), &key);
}
