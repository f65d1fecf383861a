/* pg_top.c - functions that describe a weirfilter.
 *
 *     weir_top(sketch [, 'all'])   the most frequent keys, highest count first
 *     weir_count(filter)           estimated number of distinct keys
 *     weir_count(sketch, key)      estimated count of a key
 *     weir_info(filter)            spec and statistics, as JSON
 *
 * The true count of a key is at most count and at least count - error; error is NULL if there is no
 * bound (heavykeeper). weir_top() lists keys whose count may be lower than that of a key that is
 * not stored only with 'all': in a stream without frequent keys, these are arbitrary. */
#include "pg.h"

#include <catalog/namespace.h>
#include <funcapi.h>
#include <lib/stringinfo.h>
#include <math.h>
#include <mb/pg_wchar.h>
#include <miscadmin.h>
#include <utils/builtins.h>
#include <utils/json.h>
#include <utils/jsonb.h>

static struct pg_value *open_argument(FunctionCallInfo call, const char *function)
{
    return pg_value_open(CurrentMemoryContext, function, pg_bytes(call->args[0].value), false);
}

static Datum count_datum(uint64_t count)
{
    return Int64GetDatum((int64)Min(count, (uint64_t)PG_INT64_MAX));
}

/* ---- weir_top ---- */

#define COLUMNS 4 /* key, count, error, bytes */

/* Convert a key to text of this database. NULL if it is not valid text. */
static text *text_of(struct weir_bytes key)
{
    int encoding = GetDatabaseEncoding(), size = (int)key.size, room;
    Oid conversion;
    char *converted;

    if (!pg_verify_mbstr(PG_UTF8, key.data, size, true))
        return NULL;
    if (encoding == PG_UTF8 || encoding == PG_SQL_ASCII)
        return cstring_to_text_with_len(key.data, size);
    conversion = FindDefaultConversionProc(PG_UTF8, encoding);
    if (!OidIsValid(conversion))
        return NULL;
    room = size * MAX_CONVERSION_GROWTH + 1;
    converted = palloc(room);
    if (pg_do_encoding_conversion_buf(conversion, PG_UTF8, encoding, (unsigned char *)key.data,
                                      size, (unsigned char *)converted, room, true) != size)
        return NULL;
    return cstring_to_text(converted);
}

static void put_row(ReturnSetInfo *result, const struct weir_heavy *heavy)
{
    struct weir_bytes key = heavy->key;
    text *as_text = text_of(key);
    Datum value[COLUMNS] = {PointerGetDatum(as_text), count_datum(heavy->count),
                            count_datum(heavy->error),
                            PointerGetDatum(cstring_to_text_with_len(key.data, (int)key.size))};
    bool is_null[COLUMNS] = {!as_text, false, heavy->error == WEIR_NO_BOUND, false};

    tuplestore_putvalues(result->setResult, result->setDesc, value, is_null);
}

static bool lists_keys(const weir_sketch *s)
{
    char spec[WEIR_SPEC_MAX];
    const struct weir_algorithm *algorithm;

    weir_sketch_config(s, spec, sizeof spec);
    algorithm = weir_find_algorithm(WEIR_KIND_SKETCH, spec);
    return algorithm && (algorithm->traits & WEIR_CAN_LIST);
}

/* Put the keys that are certainly as frequent as any key that is not stored, or all. */
static void put_keys(ReturnSetInfo *result, const weir_sketch *sketch, bool all)
{
    struct weir_sketch_stats stats = weir_sketch_stats_of(sketch);
    struct weir_heavy *keys = palloc_extended((stats.keys + 1) * sizeof *keys, MCXT_ALLOC_HUGE);
    size_t n = weir_sketch_top(sketch, keys, (size_t)stats.keys);

    for (size_t i = 0; i < n; i++)
        if (all || keys[i].error == WEIR_NO_BOUND || keys[i].count - keys[i].error >= stats.error)
            put_row(result, &keys[i]);
}

PG_CALLED_BY_SQL(pgweir_top);

Datum pgweir_top(PG_FUNCTION_ARGS)
{
    static const char name[] = "weir_top";
    bool all = PG_NARGS() > 1;
    struct pg_value *value;

    if (all && pg_strcasecmp(text_to_cstring(PG_GETARG_TEXT_PP(1)), "all") != 0)
        pg_refuse(name, "the second argument is unknown; use 'all' or leave it out");
    InitMaterializedSRF(fcinfo, 0);
    value = open_argument(fcinfo, name);
    /* weir_agg(key, 'top') without rows is an empty filter, because the spec was not passed. */
    if (!value->sketch && weir_stats_of(value->shard[0]).observed == 0)
        return (Datum)0;
    pg_value_require_sketch(name, value);
    if (!lists_keys(value->sketch))
        pg_refuse(name, "this sketch cannot list keys; make one with weir_agg(key, 'top')");
    put_keys((ReturnSetInfo *)fcinfo->resultinfo, value->sketch, all);
    pg_value_close(value);
    return (Datum)0;
}

/* ---- weir_count ---- */

static Datum count_key(FunctionCallInfo call,
                       void (*get)(FunctionCallInfo call, int i, struct pg_key *key))
{
    struct pg_value *value = open_argument(call, "weir_count");
    struct pg_key key;
    uint64_t count;

    pg_value_require_sketch("weir_count", value);
    get(call, 1, &key);
    count = weir_sketch_ask(value->sketch, key.bytes).count;
    pg_value_close(value);
    return count_datum(count);
}

PG_CALLED_BY_SQL(pgweir_count_text);
PG_CALLED_BY_SQL(pgweir_count_bytes);
PG_CALLED_BY_SQL(pgweir_count_integer);

Datum pgweir_count_text(PG_FUNCTION_ARGS)
{
    return count_key(fcinfo, pg_key_text);
}

Datum pgweir_count_bytes(PG_FUNCTION_ARGS)
{
    return count_key(fcinfo, pg_key_bytes);
}

Datum pgweir_count_integer(PG_FUNCTION_ARGS)
{
    return count_key(fcinfo, pg_key_integer);
}

/* Statistics of all shards. */
static struct weir_stats stats_of(const struct pg_value *value)
{
    struct weir_stats sum = weir_stats_of(value->shard[0]);

    for (uint32_t i = 1; i < value->shards; i++) {
        struct weir_stats s = weir_stats_of(value->shard[i]);

        sum.memory += s.memory;
        sum.observed += s.observed;
        sum.seen += s.seen;
        sum.new_keys += s.new_keys;
        sum.fill += s.fill;
        sum.error += s.error;
        sum.lost += s.lost;
        sum.overflow += s.overflow;
    }
    sum.fill /= value->shards;
    sum.error /= value->shards;
    return sum;
}

PG_CALLED_BY_SQL(pgweir_count);

Datum pgweir_count(PG_FUNCTION_ARGS)
{
    struct pg_value *value = open_argument(fcinfo, "weir_count");
    uint64_t count;

    if (value->sketch)
        pg_refuse("weir_count", "a sketch counts single keys; use weir_count(sketch, key)");
    count = stats_of(value).new_keys;
    pg_value_close(value);
    return count_datum(count);
}

/* ---- weir_info ---- */

static void append_count(StringInfo json, const char *field, uint64_t value)
{
    appendStringInfo(json, ", \"%s\": " UINT64_FORMAT, field, (uint64)value);
}

static void append_share(StringInfo json, const char *field, double value)
{
    if (isfinite(value))
        appendStringInfo(json, ", \"%s\": %.6g", field, value);
    else
        appendStringInfo(json, ", \"%s\": null", field);
}

static void append_filter(StringInfo json, const struct pg_value *value)
{
    struct weir_stats s = stats_of(value);

    append_count(json, "memory", s.memory);
    append_count(json, "observed", s.observed);
    append_count(json, "seen", s.seen);
    append_count(json, "new", s.new_keys);
    append_share(json, "fill", s.fill);
    append_share(json, "error", s.error);
    append_count(json, "lost", s.lost);
    append_count(json, "overflow", s.overflow);
}

static void append_sketch(StringInfo json, const weir_sketch *sketch)
{
    struct weir_sketch_stats s = weir_sketch_stats_of(sketch);

    append_count(json, "memory", s.memory);
    append_count(json, "total", s.total);
    append_count(json, "keys", s.keys);
    if (s.error == WEIR_NO_BOUND)
        appendStringInfoString(json, ", \"error\": null");
    else
        append_count(json, "error", s.error);
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
    appendStringInfoChar(&json, '}');
    pg_value_close(value);
    return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}
