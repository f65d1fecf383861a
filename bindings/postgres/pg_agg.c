/* pg_agg.c - the aggregates weir_agg(key [, spec]) and weir_merge(filter), also in parallel.
 *
 * A filter or sketch that records keys is the state of its group; states of parallel workers are
 * merged. The size of a fixed filter (fuse, the default) follows from its keys, so its state is the
 * set of their digests: 8 bytes per key, sorted and without duplicates each time the array is full.
 * It is built when all states are combined.
 *
 * States can be merged only if their seeds are equal. Without seed= the seed follows from the
 * server's secret and the transaction: equal in all workers, and not known to who chooses keys. */
#include "pg.h"

#include <access/xact.h>
#include <access/xlog.h>
#include <libpq/pqformat.h>
#include <miscadmin.h>
#include <nodes/execnodes.h>
#include <utils/builtins.h>
#include <weir/build.h>
#include <weir/hash.h>

/* The number of rows is not known in advance; fuse takes its size from its keys. */
#define AGG_DEFAULT "fuse"
#define BATCH 256     /* keys that are passed to the builder at a time */
#define FIRST_ROOM 64 /* digests; chosen: small groups stay small */
#define SORTED 65536  /* digests from which on duplicates are removed; chosen */

static const char name[] = "weir_agg";

/* The state of a group. One of filter, sketch and digests is in use. */
struct pg_agg {
    MemoryContext context;
    struct weir_bytes asked;  /* the spec as passed */
    char spec[WEIR_SPEC_MAX]; /* with the seed */
    weir_filter *filter;
    weir_sketch *sketch;
    uint32_t hash; /* of the digests */
    uint64_t seed;
    uint64_t *digest;
    size_t n, room;
    bytea *packed; /* a state of a worker, before it is combined */
};

enum { FILTER = 'f', SKETCH = 's', DIGESTS = 'd' };

/* ---- digests ---- */

#define ST_SORT sort_digests
#define ST_ELEMENT_TYPE uint64_t
#define ST_COMPARE(a, b) (*(a) < *(b) ? -1 : *(a) > *(b))
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include <lib/sort_template.h>

static void remove_duplicates(struct pg_agg *a)
{
    size_t distinct = 0;

    sort_digests(a->digest, a->n);
    for (size_t i = 0; i < a->n; i++)
        if (distinct == 0 || a->digest[distinct - 1] != a->digest[i])
            a->digest[distinct++] = a->digest[i];
    a->n = distinct;
}

/* Make room for at least one more digest. */
static void make_room(struct pg_agg *a)
{
    if (a->room >= SORTED)
        remove_duplicates(a);
    if (a->room == 0) {
        a->digest = MemoryContextAlloc(a->context, FIRST_ROOM * sizeof(uint64_t));
        a->room = FIRST_ROOM;
    } else if (a->n > a->room / 2) {
        a->digest = repalloc_huge(a->digest, 2 * a->room * sizeof(uint64_t));
        a->room *= 2;
    }
}

static void add_digest(struct pg_agg *a, uint64_t digest)
{
    if (a->n == a->room)
        make_room(a);
    a->digest[a->n++] = digest;
}

/* ---- begin a state ---- */

static MemoryContext context_of(FunctionCallInfo call)
{
    MemoryContext context;

    if (!AggCheckCallContext(call, &context))
        elog(ERROR, "weir: called outside of an aggregate");
    return context;
}

static bool is_partial(FunctionCallInfo call)
{
    return IsA(call->context, AggState) &&
           DO_AGGSPLIT_SKIPFINAL(((AggState *)call->context)->aggsplit);
}

/* The same in all workers of a statement. */
static uint64_t transaction_seed(void)
{
    TimestampTz began = GetCurrentTransactionStartTimestamp();
    uint64_t secret;

    memcpy(&secret, GetMockAuthenticationNonce(), sizeof secret);
    return weir_hash_bytes(WEIR_HASH_SIP, secret, &began, sizeof began).lo;
}

/* The algorithm that a spec names. */
static const struct weir_algorithm *find_algorithm(const char *spec, bool *is_sketch)
{
    const struct weir_algorithm *filter = weir_find_algorithm(WEIR_KIND_FILTER, spec);
    const struct weir_algorithm *sketch = weir_find_algorithm(WEIR_KIND_SKETCH, spec);

    *is_sketch = !filter && sketch;
    return filter ? filter : sketch;
}

static void begin_digests(struct pg_agg *a, struct weir_error *error)
{
    struct weir_options options = pg_options(a->context);
    char config[WEIR_SPEC_MAX], hash[16];
    weir_builder *b;

    if (weir_build_begin(&b, a->spec, &options, error) != WEIR_OK)
        pg_fail(name, error);
    weir_build_config(b, config, sizeof config);
    weir_build_cancel(b);
    weir_spec_get(config, "hash", hash, sizeof hash);
    weir_spec_number(config, "seed", &a->seed);
    a->hash = strcmp(hash, "sip") == 0 ? WEIR_HASH_SIP : WEIR_HASH_XXH3;
}

/* Open what a spec with a seed describes. */
static void begin(FunctionCallInfo call, struct pg_agg *a)
{
    struct weir_options options = pg_options(a->context);
    enum weir_status status = WEIR_OK;
    struct weir_error error;
    bool is_sketch;
    const struct weir_algorithm *algorithm = find_algorithm(a->spec, &is_sketch);
    bool is_fixed = algorithm && !is_sketch && !(algorithm->traits & WEIR_CAN_OBSERVE);

    if (algorithm && !is_fixed && !(algorithm->traits & WEIR_CAN_MERGE) && is_partial(call))
        ereport(ERROR,
                (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                 errmsg("weir_agg: parallel workers cannot merge %s; use another filter, or SET "
                        "max_parallel_workers_per_gather = 0",
                        algorithm->name)));
    if (is_fixed)
        begin_digests(a, &error);
    else if (is_sketch)
        status = weir_sketch_open_with(&a->sketch, a->spec, &options, &error);
    else
        status = weir_open_with(&a->filter, a->spec, &options, &error);
    if (status != WEIR_OK)
        pg_fail(name, &error);
}

static struct pg_agg *new_agg(FunctionCallInfo call, struct weir_bytes spec)
{
    MemoryContext context = context_of(call);
    struct pg_agg *a = MemoryContextAllocZero(context, sizeof *a);
    char *asked = MemoryContextAllocZero(context, spec.size + 1);
    char seed[2];
    int size;

    memcpy(asked, spec.data, spec.size);
    a->context = context;
    a->asked = (struct weir_bytes){asked, spec.size};
    if (weir_spec_get(asked, "seed", seed, sizeof seed) > 0)
        size = snprintf(a->spec, sizeof a->spec, "%s", asked);
    else
        size = snprintf(a->spec, sizeof a->spec, "%s seed=%llu", asked,
                        (unsigned long long)transaction_seed());
    if (size >= (int)sizeof a->spec)
        pg_refuse(name, "the spec is too long; use at most 400 characters");
    return a;
}

/* The state of the group, begun with the first row's spec; the other rows must have the same. */
static struct pg_agg *state_of(FunctionCallInfo call)
{
    struct pg_agg *a = call->args[0].isnull ? NULL : (void *)call->args[0].value;
    struct weir_bytes spec = {AGG_DEFAULT, strlen(AGG_DEFAULT)};

    if (call->nargs > 2) {
        if (call->args[2].isnull)
            pg_refuse(name, "the spec is NULL; use a name and parameters: 'fuse fpr=0.1%'");
        spec = pg_bytes(call->args[2].value);
    }
    if (!a) {
        a = new_agg(call, spec);
        begin(call, a);
    } else if (spec.size != a->asked.size || memcmp(spec.data, a->asked.data, spec.size) != 0) {
        pg_refuse(name, "the spec differs between rows; use one spec for all rows");
    }
    return a;
}

/* ---- rows ---- */

static Datum add_row(FunctionCallInfo call,
                     void (*get)(FunctionCallInfo call, int i, struct pg_key *key))
{
    struct pg_agg *a = state_of(call);
    struct pg_key key;

    if (!call->args[1].isnull) {
        get(call, 1, &key);
        if (a->filter)
            weir_observe_bytes(a->filter, key.bytes.data, key.bytes.size);
        else if (a->sketch)
            weir_sketch_add(a->sketch, key.bytes, 1);
        else
            add_digest(a, weir_hash_bytes(a->hash, a->seed, key.bytes.data, key.bytes.size).lo);
    }
    return PointerGetDatum(a);
}

PG_CALLED_BY_SQL(pgweir_agg_text);
PG_CALLED_BY_SQL(pgweir_agg_bytes);
PG_CALLED_BY_SQL(pgweir_agg_integer);

Datum pgweir_agg_text(PG_FUNCTION_ARGS)
{
    return add_row(fcinfo, pg_key_text);
}

Datum pgweir_agg_bytes(PG_FUNCTION_ARGS)
{
    return add_row(fcinfo, pg_key_bytes);
}

Datum pgweir_agg_integer(PG_FUNCTION_ARGS)
{
    return add_row(fcinfo, pg_key_integer);
}

/* ---- merge ---- */

/* Merge a saved filter or sketch into the state; the first one becomes the state. */
static void merge_saved(const char *function, struct pg_agg *a, struct weir_bytes saved,
                        bool is_sketch)
{
    struct weir_options options = pg_options(a->context);
    enum weir_status status;
    struct weir_error error;
    weir_filter *filter = NULL;
    weir_sketch *sketch = NULL;

    if (is_sketch ? a->filter != NULL : a->sketch != NULL)
        pg_refuse(function, "a filter cannot be merged with a sketch");
    status = is_sketch
                 ? weir_sketch_load_buffer(&sketch, saved.data, saved.size, NULL, &options, &error)
                 : weir_load_buffer(&filter, saved.data, saved.size, NULL, &options, &error);
    if (status == WEIR_OK && a->sketch)
        status = weir_sketch_merge(a->sketch, sketch, &error);
    else if (status == WEIR_OK && a->filter)
        status = weir_merge(a->filter, filter, &error);
    else if (status == WEIR_OK) {
        a->filter = filter;
        a->sketch = sketch;
        return;
    }
    weir_close(filter);
    weir_sketch_close(sketch);
    if (status != WEIR_OK)
        pg_fail(function, &error);
}

PG_CALLED_BY_SQL(pgweir_merge_add);

Datum pgweir_merge_add(PG_FUNCTION_ARGS)
{
    static const char merge[] = "weir_merge";
    struct pg_agg *a = PG_ARGISNULL(0) ? NULL : (void *)PG_GETARG_POINTER(0);
    struct pg_value *value;
    struct weir_part part;

    if (PG_ARGISNULL(1) && !a)
        PG_RETURN_NULL();
    if (PG_ARGISNULL(1))
        PG_RETURN_POINTER(a);
    if (!a) {
        a = MemoryContextAllocZero(context_of(fcinfo), sizeof *a);
        a->context = context_of(fcinfo);
    }
    value = pg_value_open(CurrentMemoryContext, merge, pg_bytes(PG_GETARG_DATUM(1)), false);
    pg_value_require_plain_keys(merge, value);
    if (value->shards > 1)
        pg_refuse(merge, "the filter has several shards; build it with -j 1");
    for (size_t at = 0; at < value->file.size; at += part.size) {
        struct weir_bytes rest = {(const char *)value->file.data + at, value->file.size - at};

        if (weir_part_head(rest.data, rest.size, &part, sizeof part, NULL) != WEIR_OK)
            break; /* not after pg_value_open() */
        if (part.kind == WEIR_PART_FILTER || part.kind == WEIR_PART_COUNTS ||
            part.kind == WEIR_PART_TOP)
            merge_saved(merge, a, rest, part.kind != WEIR_PART_FILTER);
    }
    pg_value_close(value);
    PG_RETURN_POINTER(a);
}

/* ---- parallel: a state as bytes ----
 *
 * A kind, the spec with a terminator, and the digests or the saved filter or sketch. */

static size_t saved_size(const struct pg_agg *a)
{
    return a->filter   ? weir_saved_size(a->filter)
           : a->sketch ? weir_sketch_saved_size(a->sketch)
                       : a->n * sizeof(uint64_t);
}

static void save(const struct pg_agg *a, void *to, size_t size)
{
    struct weir_error error;
    size_t written = size;

    if (a->filter)
        written = weir_save_buffer(a->filter, to, size, &error);
    else if (a->sketch)
        written = weir_sketch_save_buffer(a->sketch, to, size, &error);
    else
        memcpy(to, a->digest, size);
    if (written != size)
        pg_fail(name, &error);
}

PG_CALLED_BY_SQL(pgweir_agg_pack);
PG_CALLED_BY_SQL(pgweir_agg_unpack);
PG_CALLED_BY_SQL(pgweir_agg_combine);

Datum pgweir_agg_pack(PG_FUNCTION_ARGS)
{
    struct pg_agg *a = (void *)PG_GETARG_POINTER(0);
    size_t spec = strlen(a->spec) + 1, size;
    bytea *out;

    context_of(fcinfo);
    remove_duplicates(a);
    size = saved_size(a);
    out = pg_new_bytes(name, 1 + spec + size);
    *VARDATA(out) = a->filter ? FILTER : a->sketch ? SKETCH : DIGESTS;
    memcpy(VARDATA(out) + 1, a->spec, spec);
    save(a, VARDATA(out) + 1 + spec, size);
    PG_RETURN_BYTEA_P(out);
}

/* Opened when it is combined, in the memory of the group. */
Datum pgweir_agg_unpack(PG_FUNCTION_ARGS)
{
    struct pg_agg *a = palloc0(sizeof *a);

    if (!AggCheckCallContext(fcinfo, NULL))
        elog(ERROR, "weir: called outside of an aggregate");
    a->packed = PG_GETARG_BYTEA_PP(0);
    PG_RETURN_POINTER(a);
}

static void combine(struct pg_agg *a, const bytea *packed)
{
    const char *kind = VARDATA_ANY(packed), *spec = kind + 1, *data = spec + strlen(spec) + 1;
    size_t size = VARSIZE_ANY_EXHDR(packed) - (size_t)(data - kind);
    uint64_t digest;

    if (strcmp(a->spec, spec) != 0)
        pg_refuse(name, "the spec differs between rows; use one spec for all rows");
    if (*kind != DIGESTS)
        merge_saved(name, a, (struct weir_bytes){data, size}, *kind == SKETCH);
    for (size_t i = 0; *kind == DIGESTS && i < size; i += sizeof digest) {
        memcpy(&digest, data + i, sizeof digest);
        add_digest(a, digest);
    }
}

Datum pgweir_agg_combine(PG_FUNCTION_ARGS)
{
    struct pg_agg *a = PG_ARGISNULL(0) ? NULL : (void *)PG_GETARG_POINTER(0);
    const struct pg_agg *other = PG_ARGISNULL(1) ? NULL : (void *)PG_GETARG_POINTER(1);

    if (!a && !other)
        PG_RETURN_NULL();
    if (!other)
        PG_RETURN_POINTER(a);
    if (!a) {
        a = MemoryContextAllocZero(context_of(fcinfo), sizeof *a);
        a->context = context_of(fcinfo);
        strlcpy(a->spec, VARDATA_ANY(other->packed) + 1, sizeof a->spec);
    }
    combine(a, other->packed);
    PG_RETURN_POINTER(a);
}

/* ---- results ---- */

/* Build a fixed filter of the digests. Its bytes depend only on the set of keys and the seed. */
static weir_filter *build(struct pg_agg *a)
{
    struct weir_options options = pg_options(CurrentMemoryContext);
    struct weir_key keys[BATCH];
    struct weir_error error;
    weir_builder *b;
    weir_filter *w;

    remove_duplicates(a);
    if (weir_build_begin(&b, a->spec, &options, &error) != WEIR_OK)
        pg_fail(name, &error);
    for (size_t at = 0, some; at < a->n; at += some) {
        CHECK_FOR_INTERRUPTS();
        some = Min(a->n - at, BATCH);
        for (size_t i = 0; i < some; i++)
            keys[i] = (struct weir_key){.lo = a->digest[at + i], .importance = 1};
        if (weir_build_add(b, keys, some, &error) != WEIR_OK)
            pg_fail(name, &error);
    }
    if (weir_build_finish(b, &w, &error) != WEIR_OK)
        pg_fail(name, &error);
    return w;
}

/* The state is used further by an aggregate over a window. */
static Datum finish(struct pg_agg *a)
{
    struct pg_agg with = *a;
    bytea *out;

    if (!a->filter && !a->sketch)
        with.filter = build(a);
    if (with.filter && weir_stats_of(with.filter).overflow > 0)
        pg_refuse(name, "the filter is full; use a larger capacity=");
    out = pg_new_bytes(name, saved_size(&with));
    save(&with, VARDATA(out), VARSIZE(out) - VARHDRSZ);
    if (!a->filter)
        weir_close(with.filter);
    PG_RETURN_BYTEA_P(out);
}

PG_CALLED_BY_SQL(pgweir_agg_finish);
PG_CALLED_BY_SQL(pgweir_merge_finish);

/* Without rows the result is an empty filter, because the spec was not passed. */
Datum pgweir_agg_finish(PG_FUNCTION_ARGS)
{
    struct pg_agg none = {.spec = AGG_DEFAULT};

    return finish(PG_ARGISNULL(0) ? &none : (void *)PG_GETARG_POINTER(0));
}

/* NULL without rows. */
Datum pgweir_merge_finish(PG_FUNCTION_ARGS)
{
    if (PG_ARGISNULL(0))
        PG_RETURN_NULL();
    return finish((void *)PG_GETARG_POINTER(0));
}
