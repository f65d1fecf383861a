/* pg_value.c - the type weirfilter: the bytes of a saved filter or sketch, as in files of the
 * command.
 *
 * Every byte is verified when a value is made: from text, from the binary protocol, or by a cast
 * from bytea. So a lookup can open a view of a stored value after it read the header. If a stored
 * value is damaged later, verdicts can be wrong, but reading it stays safe (weir/saved.h). */
#include "pg.h"

#include <mb/pg_wchar.h>
#include <utils/builtins.h>
#include <utils/memutils.h>

PG_MODULE_MAGIC;

#define LINE 64

/* ---- errors and memory ---- */

void pg_refuse(const char *function, const char *why)
{
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s: %s", function, why)));
}

void pg_fail(const char *function, const struct weir_error *error)
{
    char text[sizeof error->text];
    int code = error->status == WEIR_NO_MEMORY  ? ERRCODE_OUT_OF_MEMORY
               : error->status == WEIR_BAD_DATA ? ERRCODE_INVALID_BINARY_REPRESENTATION
                                                : ERRCODE_INVALID_PARAMETER_VALUE;

    strlcpy(text, error->text, sizeof text);
    if (!pg_verifymbstr(text, (int)strlen(text), true)) /* quoted bytes, cut or not text */
        for (char *c = text; *c; c++)
            *c = IS_HIGHBIT_SET(*c) ? '?' : *c;
    ereport(ERROR, (errcode(code), errmsg("%s: %s", function, text)));
}

static void *allocate(void *context, size_t size)
{
    int flags = MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM | MCXT_ALLOC_ZERO;

    return size <= MaxAllocHugeSize ? MemoryContextAllocExtended(context, size, flags) : NULL;
}

static void release(void *context, void *block)
{
    (void)context;
    pfree(block);
}

struct weir_options pg_options(MemoryContext context)
{
    return (struct weir_options){.size = sizeof(struct weir_options),
                                 .allocator = {allocate, release, context},
                                 .max_bytes = MaxAllocSize};
}

struct weir_bytes pg_bytes(Datum varlena)
{
    struct varlena *v = PG_DETOAST_DATUM_PACKED(varlena);

    return (struct weir_bytes){VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v)};
}

bytea *pg_new_bytes(const char *function, size_t size)
{
    bytea *v;

    if (size > MaxAllocSize - VARHDRSZ)
        pg_refuse(function, "the result exceeds 1 GB, the maximum of a value; use less memory=, or "
                            "fewer keys");
    v = palloc(size + VARHDRSZ);
    SET_VARSIZE(v, size + VARHDRSZ);
    return v;
}

struct weir_bytes pg_key(Datum value, enum pg_key_type type, char digits[PG_DIGITS])
{
    int encoding = GetDatabaseEncoding();
    struct weir_bytes key;
    char *utf8;

    if (type == PG_BIGINT_KEY)
        return (struct weir_bytes){digits, (size_t)pg_lltoa(DatumGetInt64(value), digits)};
    key = pg_bytes(value);
    if (type == PG_BYTEA_KEY || encoding == PG_UTF8 || encoding == PG_SQL_ASCII)
        return key;
    utf8 = pg_server_to_any(key.data, (int)key.size, PG_UTF8);
    return utf8 == key.data ? key : (struct weir_bytes){utf8, strlen(utf8)};
}

/* ---- open a value ---- */

/* Open the filter or sketch at value->at. */
static void open_part(const char *function, struct pg_value *v, const struct weir_part *part)
{
    struct weir_options options = pg_options(v->context);
    const uint8_t *data = (const uint8_t *)v->file.data + v->at;
    size_t size = v->file.size - v->at;
    struct weir_error error;
    enum weir_status status;

    if (part->kind == WEIR_PART_FILTER) {
        v->shard = MemoryContextAllocZero(v->context, part->shards * sizeof(weir_filter *));
        status = weir_view_shards(v->shard, part->shards, &v->shards, data, size, NULL, &options,
                                  &error);
    } else {
        status = weir_sketch_load_buffer(&v->sketch, data, size, NULL, &options, &error);
    }
    if (status != WEIR_OK)
        pg_fail(function, &error);
    v->head = (size_t)((const uint8_t *)part->body - data);
    v->tail = part->size - v->head - part->body_size;
}

struct pg_value *pg_open(MemoryContext parent, const char *function, struct weir_bytes file,
                         bool verify)
{
    MemoryContext context = AllocSetContextCreate(parent, "weirfilter", ALLOCSET_SMALL_SIZES);
    struct pg_value *v = MemoryContextAllocZero(context, sizeof *v);
    uint8_t *copy = (uint8_t *)TYPEALIGN(LINE, MemoryContextAllocHuge(context, file.size + LINE));
    struct weir_error error;
    struct weir_part part;

    memcpy(copy, file.data, file.size);
    *v = (struct pg_value){.context = context, .file = {copy, file.size}};
    if (verify && weir_verify(copy, file.size, &error) != WEIR_OK) {
        if (error.code == WEIR_ERROR_NOT_WEIR)
            pg_refuse(function, "the value is not a saved filter; use weir_agg(), or the bytes of "
                                "a file");
        pg_fail(function, &error);
    }
    for (size_t at = 0; at < file.size; at += part.size) {
        bool is_open = v->shard || v->sketch;

        if (weir_part_head(copy + at, file.size - at, &part, sizeof part, &error) != WEIR_OK)
            pg_fail(function, &error);
        if (part.kind == WEIR_PART_SCREEN)
            pg_refuse(function, "the value is a screen; use a filter or a sketch");
        /* Notes of the command and unknown parts are skipped, and the other shards are open. */
        if ((part.kind != WEIR_PART_FILTER && part.kind != WEIR_PART_COUNTS &&
             part.kind != WEIR_PART_TOP) ||
            (part.shard > 0 && v->shard))
            continue;
        if (is_open)
            pg_refuse(function, "the value contains several filters or sketches; merge them with "
                                "'weir merge -o F A B'");
        v->at = at;
        open_part(function, v, &part);
        if (part.size < file.size)
            v->head = v->tail = 0;
    }
    if (!v->shard && !v->sketch)
        pg_refuse(function, "the value contains no filter; make filters with weir_agg() or 'weir "
                            "build'");
    return v;
}

void pg_require(const char *function, const struct pg_value *value, bool is_sketch)
{
    char keys[WEIR_KEY_DESCRIPTION_MAX];

    if (value->sketch && !is_sketch)
        pg_refuse(function, "the value is a sketch, not a filter; use weir_top()");
    if (!value->sketch && is_sketch)
        pg_refuse(function, "the value is a filter, not a sketch; make one with weir_agg(key, "
                            "'top')");
    if (weir_saved_key_description(value->file.data, value->file.size, keys, sizeof keys) > 0)
        pg_refuse(function, psprintf("the keys were made with %.160s, but they are used as given "
                                     "here; build the filter without these options",
                                     keys));
}

/* ---- the type ---- */

/* Verify a bytea that becomes a weirfilter. */
static Datum checked(Datum varlena)
{
    struct pg_value *v = pg_open(CurrentMemoryContext, "weirfilter", pg_bytes(varlena), true);

    MemoryContextDelete(v->context);
    return varlena;
}

PG_CALLED_BY_SQL(pgweir_in);
PG_CALLED_BY_SQL(pgweir_recv);
PG_CALLED_BY_SQL(pgweir_check);

Datum pgweir_in(PG_FUNCTION_ARGS)
{
    return checked(DirectFunctionCall1(byteain, PG_GETARG_DATUM(0)));
}

Datum pgweir_recv(PG_FUNCTION_ARGS)
{
    return checked(DirectFunctionCall1(bytearecv, PG_GETARG_DATUM(0)));
}

Datum pgweir_check(PG_FUNCTION_ARGS)
{
    return checked(PG_GETARG_DATUM(0));
}
