/* pg_value.c - the type weirfilter: the bytes of a saved filter or sketch, as in files of the
 * command.
 *
 * Every byte is verified when a value is made: from text, from the binary protocol, or by a cast
 * from bytea. So a lookup can open a view of a stored value after reading its header. If a stored
 * value is damaged later, verdicts can be wrong, but reading it stays safe (weir/saved.h). */
#include "pg.h"

#include <mb/pg_wchar.h>
#include <utils/builtins.h>
#include <weir/hash.h>

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
    return (struct weir_options){
        .size = sizeof(struct weir_options),
        .allocator = {.allocate = allocate, .free = release, .context = context},
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

/* ---- keys ---- */

void pg_key_text(FunctionCallInfo call, int i, struct pg_key *key)
{
    key->bytes = pg_bytes(call->args[i].value);
    if (GetDatabaseEncoding() != PG_UTF8 && GetDatabaseEncoding() != PG_SQL_ASCII) {
        char *text = pg_server_to_any(key->bytes.data, (int)key->bytes.size, PG_UTF8);

        if (text != key->bytes.data)
            key->bytes = (struct weir_bytes){text, strlen(text)};
    }
}

void pg_key_bytes(FunctionCallInfo call, int i, struct pg_key *key)
{
    key->bytes = pg_bytes(call->args[i].value);
}

void pg_key_integer(FunctionCallInfo call, int i, struct pg_key *key)
{
    int size = pg_lltoa(DatumGetInt64(call->args[i].value), key->digits);

    key->bytes = (struct weir_bytes){key->digits, (size_t)size};
}

/* ---- open a value ---- */

static void open_filter(const char *function, struct pg_value *v, size_t at, uint32_t shards)
{
    struct weir_options options = pg_options(v->context);
    struct weir_error error;

    v->shard = MemoryContextAllocZero(v->context, shards * sizeof(weir_filter *));
    if (weir_view_shards(v->shard, shards, &v->shards, (const uint8_t *)v->file.data + at,
                         v->file.size - at, NULL, &options, &error) != WEIR_OK)
        pg_fail(function, &error);
}

static void open_sketch(const char *function, struct pg_value *v, size_t at)
{
    struct weir_options options = pg_options(v->context);
    struct weir_error error;

    if (weir_sketch_load_buffer(&v->sketch, (const uint8_t *)v->file.data + at, v->file.size - at,
                                NULL, &options, &error) != WEIR_OK)
        pg_fail(function, &error);
}

static void open_part(const char *function, struct pg_value *v, size_t at,
                      const struct weir_part *part)
{
    bool is_sketch = part->kind == WEIR_PART_COUNTS || part->kind == WEIR_PART_TOP;
    bool is_filter = part->kind == WEIR_PART_FILTER;

    if (part->kind == WEIR_PART_SCREEN)
        pg_refuse(function, "the value is a screen; use a filter or a sketch");
    if (is_filter && part->shard > 0 && v->shard)
        return; /* opened with the first shard */
    if ((is_sketch || is_filter) && (v->shard || v->sketch))
        pg_refuse(function, "the value contains several filters or sketches; merge them with 'weir "
                            "merge -o F A B'");
    if (is_filter)
        open_filter(function, v, at, part->shards);
    else if (is_sketch)
        open_sketch(function, v, at);
    /* Notes of the command and unknown parts are skipped. */
}

struct pg_value *pg_value_open(MemoryContext parent, const char *function, struct weir_bytes file,
                               bool verify)
{
    MemoryContext context = AllocSetContextCreate(parent, "weirfilter", ALLOCSET_SMALL_SIZES);
    struct pg_value *v = MemoryContextAllocZero(context, sizeof *v);
    uint8_t *copy = MemoryContextAllocHuge(context, file.size + LINE);
    struct weir_error error;
    struct weir_part part;

    if (file.size == 0)
        pg_refuse(function, "the value is empty; make filters with weir_agg() or 'weir build'");
    copy = (uint8_t *)TYPEALIGN(LINE, copy);
    memcpy(copy, file.data, file.size);
    v->context = context;
    v->file = (struct weir_bytes){copy, file.size};
    if (verify && weir_verify(copy, file.size, &error) != WEIR_OK) {
        if (error.code == WEIR_ERROR_NOT_WEIR)
            pg_refuse(function,
                      "the value is not a saved filter; use weir_agg(), or the bytes of a "
                      "file");
        pg_fail(function, &error);
    }
    for (size_t at = 0; at < file.size; at += part.size) {
        if (weir_part_head(copy + at, file.size - at, &part, sizeof part, &error) != WEIR_OK)
            pg_fail(function, &error);
        open_part(function, v, at, &part);
        if (at == 0 && part.size == file.size) {
            v->head = (size_t)((const uint8_t *)part.body - copy);
            v->tail = file.size - v->head - part.body_size;
        }
    }
    if (!v->shard && !v->sketch)
        pg_refuse(function, "the value contains no filter; make filters with weir_agg() or 'weir "
                            "build'");
    return v;
}

void pg_value_close(struct pg_value *value)
{
    MemoryContextDelete(value->context);
}

void pg_value_require_filter(const char *function, const struct pg_value *value)
{
    if (value->sketch)
        pg_refuse(function, "the value is a sketch, not a filter; use weir_top()");
}

void pg_value_require_sketch(const char *function, const struct pg_value *value)
{
    if (!value->sketch)
        pg_refuse(function, "the value is a filter, not a sketch; make one with weir_agg(key, "
                            "'top')");
}

void pg_value_require_plain_keys(const char *function, const struct pg_value *value)
{
    char keys[WEIR_KEY_DESCRIPTION_MAX];

    if (weir_saved_key_description(value->file.data, value->file.size, keys, sizeof keys) == 0)
        return;
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("%s: the filter's keys were made with %.160s, but keys are used as given "
                    "here; build it without these options",
                    function, keys)));
}

/* ---- the type ---- */

/* Verify a bytea that becomes a weirfilter. */
static Datum checked(Datum varlena)
{
    struct pg_value *value =
        pg_value_open(CurrentMemoryContext, "weirfilter", pg_bytes(varlena), true);

    pg_value_close(value);
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
