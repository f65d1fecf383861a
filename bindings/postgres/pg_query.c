/* pg_query.c - functions that look into a weirfilter.
 *
 *     weir_has(filter, key), filter @> key   whether a key is in a filter
 *     weir_count(sketch, key)                the estimated count of a key
 *     weir_top(sketch [, 'all'])             the most frequent keys, highest count first
 *     weir_info(filter)                      spec and statistics, as JSON */
#include "pg.h"

#include <access/detoast.h>
#include <common/string.h>
#include <funcapi.h>
#include <lib/stringinfo.h>
#include <mb/pg_wchar.h>
#include <utils/builtins.h>
#include <utils/json.h>
#include <utils/jsonb.h>
#include <weir/hash.h>

/* ---- weir_has ----
 *
 * The same filter is passed with most rows, and opening it takes longer than a lookup. So a query
 * caches the filters that it used last, opened. A stored filter is recognized by its TOAST pointer,
 * without reading it. Another one is recognized by its header and the checksums of its cells, which
 * differ between any two filters; up to 4 KiB all bytes are compared. */

#define CACHED 4   /* filters of a query; chosen: more are rarely used in turn */
#define SMALL 4096 /* bytes of a filter that is compared whole */

struct cache {
    int last; /* the entry that was used last */
    struct cached {
        struct pg_value *value;
        bool is_toasted;
        struct varatt_external pointer;
    } entry[CACHED];
};

static bool is_same(const struct pg_value *v, struct weir_bytes file)
{
    const char *ours = v->file.data, *theirs = file.data;
    size_t at = file.size - v->tail;

    if (file.size != v->file.size)
        return false;
    if (file.size <= SMALL || v->head == 0)
        return memcmp(ours, theirs, file.size) == 0;
    return memcmp(ours, theirs, v->head) == 0 && memcmp(ours + at, theirs + at, v->tail) == 0;
}

/* Get the opened filter of the first argument. */
static const struct pg_value *filter_of(FunctionCallInfo call)
{
    FmgrInfo *info = call->flinfo;
    struct cache *cache = info->fn_extra;
    Datum datum = call->args[0].value;
    struct cached new = {.is_toasted = VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum))};
    struct weir_bytes file = {NULL, 0};

    if (!cache)
        cache = info->fn_extra = MemoryContextAllocZero(info->fn_mcxt, sizeof *cache);
    if (new.is_toasted)
        VARATT_EXTERNAL_GET_POINTER(new.pointer, DatumGetPointer(datum));
    else
        file = pg_bytes(datum);
    for (int i = 0; i < CACHED; i++, cache->last = (cache->last + 1) % CACHED) {
        const struct cached *old = &cache->entry[cache->last];

        if (old->value && old->is_toasted == new.is_toasted &&
            (new.is_toasted ? memcmp(&old->pointer, &new.pointer, sizeof new.pointer) == 0
                            : is_same(old->value, file)))
            return old->value;
    }
    new.value = pg_open(info->fn_mcxt, "weir_has", new.is_toasted ? pg_bytes(datum) : file, false);
    pg_require("weir_has", new.value, false);
    cache->last = (cache->last + CACHED - 1) % CACHED; /* used longest ago, if in turn */
    if (cache->entry[cache->last].value)
        MemoryContextDelete(cache->entry[cache->last].value->context);
    cache->entry[cache->last] = new;
    return new.value;
}

static Datum has(FunctionCallInfo call, enum pg_key_type type)
{
    const struct pg_value *v = filter_of(call);
    char digits[PG_DIGITS];
    struct weir_bytes key = pg_key(call->args[1].value, type, digits);
    struct weir_key hashed = weir_hash(v->shard[0], key.data, key.size);
    uint32_t shard = v->shards > 1 ? weir_shard(hashed, v->shards) : 0;

    PG_RETURN_BOOL(weir_ask(v->shard[shard], hashed) == WEIR_SEEN);
}

PG_FOR_EACH_KEY_TYPE(pgweir_has, has)

/* ---- weir_count ---- */

static struct pg_value *open_argument(FunctionCallInfo call, const char *function)
{
    return pg_open(CurrentMemoryContext, function, pg_bytes(call->args[0].value), false);
}

static Datum count_datum(uint64_t count)
{
    return Int64GetDatum((int64)Min(count, (uint64_t)PG_INT64_MAX));
}

static Datum count_key(FunctionCallInfo call, enum pg_key_type type)
{
    struct pg_value *value = open_argument(call, "weir_count");
    char digits[PG_DIGITS];
    uint64_t count;

    pg_require("weir_count", value, true);
    count = weir_sketch_ask(value->sketch, pg_key(call->args[1].value, type, digits)).count;
    MemoryContextDelete(value->context);
    return count_datum(count);
}

PG_FOR_EACH_KEY_TYPE(pgweir_count, count_key)

/* ---- weir_top ----
 *
 * The true count of a key is at most count and at least count - error; error is NULL if there is no
 * bound (heavykeeper). Keys whose count may be lower than that of a key that is not stored are
 * listed only with 'all': in a stream without frequent keys, these are arbitrary. */

/* Whether a key is text of this database. */
static bool is_text(struct weir_bytes key)
{
    int encoding = GetDatabaseEncoding();
    bool is_utf8 = encoding == PG_UTF8 || encoding == PG_SQL_ASCII;

    return pg_verify_mbstr(is_utf8 ? PG_UTF8 : PG_SQL_ASCII, key.data, (int)key.size, true) &&
           (is_utf8 || pg_is_ascii(pnstrdup(key.data, key.size)));
}

static void put_row(ReturnSetInfo *result, const struct weir_heavy *heavy)
{
    Datum bytes = PointerGetDatum(cstring_to_text_with_len(heavy->key.data, (int)heavy->key.size));
    Datum value[] = {bytes, count_datum(heavy->count), count_datum(heavy->error), bytes};
    bool is_null[] = {!is_text(heavy->key), false, heavy->error == WEIR_NO_BOUND, false};

    tuplestore_putvalues(result->setResult, result->setDesc, value, is_null);
}

PG_CALLED_BY_SQL(pgweir_top);

Datum pgweir_top(PG_FUNCTION_ARGS)
{
    static const char name[] = "weir_top";
    struct pg_value *value = open_argument(fcinfo, name);
    bool all = PG_NARGS() > 1;
    struct weir_sketch_stats stats;
    struct weir_heavy *keys;
    size_t n;

    if (all && pg_strcasecmp(text_to_cstring(PG_GETARG_TEXT_PP(1)), "all") != 0)
        pg_refuse(name, "the second argument is unknown; use 'all' or leave it out");
    InitMaterializedSRF(fcinfo, 0);
    /* weir_agg(key, 'top') without rows is an empty filter, because the spec was not passed. */
    if (!value->sketch && weir_stats_of(value->shard[0]).observed == 0)
        return (Datum)0;
    if (!value->sketch)
        pg_require(name, value, true);
    stats = weir_sketch_stats_of(value->sketch);
    keys = palloc_extended((stats.keys + 1) * sizeof *keys, MCXT_ALLOC_HUGE);
    n = weir_sketch_top(value->sketch, keys, (size_t)stats.keys);
    if (n == 0 && stats.total > 0)
        pg_refuse(name, "this sketch cannot list keys; make one with weir_agg(key, 'top')");
    for (size_t i = 0; i < n; i++)
        if (all || keys[i].error == WEIR_NO_BOUND || keys[i].count - keys[i].error >= stats.error)
            put_row((ReturnSetInfo *)fcinfo->resultinfo, &keys[i]);
    MemoryContextDelete(value->context);
    return (Datum)0;
}

/* ---- weir_info ---- */

static void append_filter(StringInfo json, const struct pg_value *value)
{
    struct weir_stats sum = {0};

    for (uint32_t i = 0; i < value->shards; i++) {
        struct weir_stats s = weir_stats_of(value->shard[i]);

        sum.memory += s.memory;
        sum.observed += s.observed;
        sum.seen += s.seen;
        sum.new_keys += s.new_keys;
        sum.fill += s.fill / value->shards;
        sum.error += s.error / value->shards;
        sum.lost += s.lost;
        sum.overflow += s.overflow;
    }
    appendStringInfo(json,
                     ", \"memory\": %zu, \"observed\": %zu, \"seen\": %zu, \"new\": %zu, \"fill\": "
                     "%.6g, \"error\": %.6g, \"lost\": %zu, \"overflow\": %zu}",
                     (size_t)sum.memory, (size_t)sum.observed, (size_t)sum.seen,
                     (size_t)sum.new_keys, sum.fill, sum.error, (size_t)sum.lost,
                     (size_t)sum.overflow);
}

static void append_sketch(StringInfo json, const weir_sketch *sketch)
{
    struct weir_sketch_stats s = weir_sketch_stats_of(sketch);
    const char *error =
        s.error == WEIR_NO_BOUND ? "null" : psprintf(UINT64_FORMAT, (uint64)s.error);

    appendStringInfo(json, ", \"memory\": %zu, \"total\": %zu, \"keys\": %zu, \"error\": %s}",
                     (size_t)s.memory, (size_t)s.total, (size_t)s.keys, error);
}

PG_CALLED_BY_SQL(pgweir_info);

Datum pgweir_info(PG_FUNCTION_ARGS)
{
    struct pg_value *value = open_argument(fcinfo, "weir_info");
    char spec[WEIR_SPEC_MAX];
    StringInfoData json;

    initStringInfo(&json);
    if (value->sketch)
        weir_sketch_config(value->sketch, spec, sizeof spec);
    else
        weir_config(value->shard[0], spec, sizeof spec);
    appendStringInfo(&json, "{\"kind\": \"%s\", \"spec\": ", value->sketch ? "sketch" : "filter");
    escape_json(&json, spec);
    if (value->sketch)
        append_sketch(&json, value->sketch);
    else
        append_filter(&json, value);
    MemoryContextDelete(value->context);
    return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}
