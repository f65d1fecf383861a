/* pg_agg.c - the aggregates weir_agg(key [, spec]) and weir_merge(filter), also in parallel.
 *
 * A filter or sketch that records keys is the state of its group, and states of parallel workers
 * are merged. The size of a fixed filter (fuse, the default) follows from its keys, so its state is
 * the set of their digests: 8 bytes per key, sorted and without duplicates each time the array is
 * full. The filter is built when all states are combined.
 *
 * States can be merged only if their seeds are equal. Without seed= the seed follows from the
 * server's secret and the transaction: equal in all workers, and unknown to who chooses keys. */
#include "pg.h"

#include <access/xact.h>
#include <access/xlog.h>
#include <miscadmin.h>
#include <nodes/execnodes.h>
#include <utils/memutils.h>
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
    uint64_t seed, *digest;
    size_t n, room;
    bytea *packed; /* the state of a worker, before it is combined */
};

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

static void add_digest(struct pg_agg *a, uint64_t digest)
{
    bool is_full = a->n == a->room;

    if (is_full && a->room >= SORTED)
        remove_duplicates(a);
    if (!a->digest) {
        a->room = FIRST_ROOM;
        a->digest = MemoryContextAlloc(a->context, a->room * sizeof digest);
    } else if (is_full && a->n > a->room / 2) {
        a->room *= 2;
        a->digest = repalloc_huge(a->digest, a->room * sizeof digest);
    }
    a->digest[a->n++] = digest;
}

/* ---- begin a state ---- */

static struct pg_agg *new_agg(FunctionCallInfo call)
{
    MemoryContext context;
    struct pg_agg *a;

    if (!AggCheckCallContext(call, &context))
        elog(ERROR, "weir: called outside of an aggregate");
    a = MemoryContextAllocZero(context, sizeof *a);
    a->context = context;
    return a;
}

static void set_spec(struct pg_agg *a, struct weir_bytes spec)
{
    TimestampTz began = GetCurrentTransactionStartTimestamp(); /* the same in all workers */
    char *asked = MemoryContextAllocZero(a->context, spec.size + 1), seed[2];
    uint64_t secret;
    int size;

    memcpy(asked, spec.data, spec.size);
    a->asked = (struct weir_bytes){asked, spec.size};
    memcpy(&secret, GetMockAuthenticationNonce(), sizeof secret);
    secret = weir_hash_bytes(WEIR_HASH_SIP, secret, &began, sizeof began).lo;
    if (weir_spec_get(asked, "seed", seed, sizeof seed) > 0)
        size = snprintf(a->spec, sizeof a->spec, "%s", asked);
    else
        size = snprintf(a->spec, sizeof a->spec, "%s seed=" UINT64_FORMAT, asked, (uint64)secret);
    if (size >= (int)sizeof a->spec)
        pg_refuse(name, "the spec is too long; use at most 400 characters");
}

static enum weir_status begin_digests(struct pg_agg *a, struct weir_error *error)
{
    char config[WEIR_SPEC_MAX], hash[16];
    enum weir_status status =
        weir_spec_complete(WEIR_KIND_FILTER, a->spec, config, sizeof config, error);

    if (status != WEIR_OK)
        return status;
    weir_spec_get(config, "hash", hash, sizeof hash);
    weir_spec_number(config, "seed", &a->seed);
    a->hash = strcmp(hash, "sip") == 0 ? WEIR_HASH_SIP : WEIR_HASH_XXH3;
    return WEIR_OK;
}

/* Open what the spec describes. Unknown names are reported as those of filters. */
static void begin(struct pg_agg *a, bool is_partial)
{
    const struct weir_algorithm *filter = weir_find_algorithm(WEIR_KIND_FILTER, a->spec);
    const struct weir_algorithm *sketch = weir_find_algorithm(WEIR_KIND_SKETCH, a->spec);
    const struct weir_algorithm *found = filter ? filter : sketch;
    struct weir_options options = pg_options(a->context);
    struct weir_error error;
    enum weir_status status;
    bool is_fixed = filter && !(filter->traits & WEIR_CAN_OBSERVE);

    if (is_partial && found && !is_fixed && !(found->traits & WEIR_CAN_MERGE))
        pg_refuse(name, psprintf("parallel workers cannot merge %s; use another filter, or SET "
                                 "max_parallel_workers_per_gather = 0",
                                 found->name));
    if (is_fixed)
        status = begin_digests(a, &error);
    else if (!filter && sketch)
        status = weir_sketch_open_with(&a->sketch, a->spec, &options, &error);
    else
        status = weir_open_with(&a->filter, a->spec, &options, &error);
    if (status != WEIR_OK)
        pg_fail(name, &error);
}

/* ---- rows ---- */

/* The state of the group, begun with the first row's spec; the other rows must have the same. */
static struct pg_agg *state_of(FunctionCallInfo call)
{
    struct pg_agg *a = call->args[0].isnull ? NULL : (void *)call->args[0].value;
    struct weir_bytes spec = {AGG_DEFAULT, strlen(AGG_DEFAULT)};

    if (call->nargs > 2 && call->args[2].isnull)
        pg_refuse(name, "the spec is NULL; use a name and parameters: 'fuse fpr=0.1%'");
    if (call->nargs > 2)
        spec = pg_bytes(call->args[2].value);
    if (!a) {
        a = new_agg(call);
        set_spec(a, spec);
        begin(a, IsA(call->context, AggState) &&
                     DO_AGGSPLIT_SKIPFINAL(((AggState *)call->context)->aggsplit));
    } else if (spec.size != a->asked.size || memcmp(spec.data, a->asked.data, spec.size) != 0) {
        pg_refuse(name, "the spec differs between rows; use one spec for all rows");
    }
    return a;
}

static Datum add_row(FunctionCallInfo call, enum pg_key_type type)
{
    struct pg_agg *a = state_of(call);
    char digits[PG_DIGITS];
    struct weir_bytes key;

    if (call->args[1].isnull)
        return PointerGetDatum(a);
    key = pg_key(call->args[1].value, type, digits);
    if (a->filter)
        weir_observe_bytes(a->filter, key.data, key.size);
    else if (a->sketch)
        weir_sketch_add(a->sketch, key, 1);
    else
        add_digest(a, weir_hash_bytes(a->hash, a->seed, key.data, key.size).lo);
    return PointerGetDatum(a);
}

PG_FOR_EACH_KEY_TYPE(pgweir_agg, add_row)

/* ---- merge ---- */

/* Merge a saved filter or sketch into the state; the first one becomes the state. */
static void merge(const char *function, struct pg_agg *a, bool is_sketch, struct weir_bytes saved)
{
    struct weir_options options = pg_options(a->context);
    weir_filter *filter = NULL;
    weir_sketch *sketch = NULL;
    struct weir_error error;
    enum weir_status status =
        is_sketch ? weir_sketch_load_buffer(&sketch, saved.data, saved.size, NULL, &options, &error)
                  : weir_load_buffer(&filter, saved.data, saved.size, NULL, &options, &error);

    if (is_sketch ? a->filter != NULL : a->sketch != NULL)
        pg_refuse(function, "a filter cannot be merged with a sketch");
    if (status == WEIR_OK && !a->filter && !a->sketch) {
        a->filter = filter;
        a->sketch = sketch;
        return;
    }
    if (status == WEIR_OK)
        status = is_sketch ? weir_sketch_merge(a->sketch, sketch, &error)
                           : weir_merge(a->filter, filter, &error);
    weir_close(filter);
    weir_sketch_close(sketch);
    if (status != WEIR_OK)
        pg_fail(function, &error);
}

PG_CALLED_BY_SQL(pgweir_merge_add);

Datum pgweir_merge_add(PG_FUNCTION_ARGS)
{
    struct pg_agg *a = PG_ARGISNULL(0) ? NULL : (void *)PG_GETARG_POINTER(0);
    struct weir_bytes rest;
    struct pg_value *v;

    if (PG_ARGISNULL(1) && !a)
        PG_RETURN_NULL();
    if (PG_ARGISNULL(1))
        PG_RETURN_POINTER(a);
    a = a ? a : new_agg(fcinfo);
    v = pg_open(CurrentMemoryContext, "weir_merge", pg_bytes(PG_GETARG_DATUM(1)), false);
    pg_require("weir_merge", v, v->sketch != NULL);
    rest = (struct weir_bytes){(const char *)v->file.data + v->at, v->file.size - v->at};
    merge("weir_merge", a, v->sketch != NULL, rest);
    MemoryContextDelete(v->context);
    PG_RETURN_POINTER(a);
}

/* ---- parallel: a state as bytes ----
 *
 * A kind, the spec with a terminator, and the digests or the saved filter or sketch. */

enum { FILTER = 'f', SKETCH = 's', DIGESTS = 'd' };

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
    else if (size > 0)
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

    a->packed = PG_GETARG_BYTEA_PP(0);
    PG_RETURN_POINTER(a);
}

Datum pgweir_agg_combine(PG_FUNCTION_ARGS)
{
    struct pg_agg *a = PG_ARGISNULL(0) ? NULL : (void *)PG_GETARG_POINTER(0);
    const bytea *packed = PG_ARGISNULL(1) ? NULL : ((struct pg_agg *)PG_GETARG_POINTER(1))->packed;
    const char *kind, *data;
    uint64_t digest;
    size_t size;

    if (!packed && !a)
        PG_RETURN_NULL();
    if (!packed)
        PG_RETURN_POINTER(a);
    kind = VARDATA_ANY(packed);
    data = kind + 1 + strlen(kind + 1) + 1;
    size = VARSIZE_ANY_EXHDR(packed) - (size_t)(data - kind);
    if (!a) {
        a = new_agg(fcinfo);
        strlcpy(a->spec, kind + 1, sizeof a->spec);
    }
    if (strcmp(a->spec, kind + 1) != 0)
        pg_refuse(name, "the spec differs between rows; use one spec for all rows");
    if (*kind != DIGESTS)
        merge(name, a, *kind == SKETCH, (struct weir_bytes){data, size});
    for (size_t i = 0; *kind == DIGESTS && i < size; i += sizeof digest) {
        memcpy(&digest, data + i, sizeof digest);
        add_digest(a, digest);
    }
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
