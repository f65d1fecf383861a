/* sql_agg.c - weir_agg(key [, spec]): the keys of all rows as the bytes of a file, that of a
 * filter (weir/build.h) or, where the spec names one, of a sketch (weir/sketch.h). */
#include "sql.h"

#include <string.h>
#include <weir/build.h>
#include <weir/sketch.h>

SQLITE_EXTENSION_INIT3

/* The number of rows is not known in advance; fuse takes its size from its keys. */
#define AGG_DEFAULT "fuse"

static const char name[] = "weir_agg";

/* What SQLite keeps for each group of rows: zeros before the first. */
struct agg {
    bool begun, failed;
    char *spec; /* as it was given, NULL if it was not */
    weir_builder *builder;
    weir_sketch *sketch;
};

static void clean(struct agg *a)
{
    weir_build_cancel(a->builder);
    weir_sketch_close(a->sketch);
    sqlite3_free(a->spec);
    *a = (struct agg){.begun = true, .failed = a->failed};
}

static void give_up(sqlite3_context *context, struct agg *a, const char *why)
{
    sql_fail(context, name, why);
    a->failed = true;
    clean(a);
}

static bool is_sketch(const char *spec)
{
    return !weir_find_algorithm(WEIR_KIND_FILTER, spec) &&
           weir_find_algorithm(WEIR_KIND_SKETCH, spec);
}

/* No larger than a blob may be, so that what cannot be returned is refused at once. */
static struct weir_options options_of(sqlite3_context *context)
{
    sqlite3 *db = sqlite3_context_db_handle(context);
    int limit = sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1);

    return (struct weir_options){.size = sizeof(struct weir_options), .max_bytes = (uint64_t)limit};
}

static bool open_agg(sqlite3_context *context, struct agg *a)
{
    const char *spec = a->spec ? a->spec : AGG_DEFAULT;
    struct weir_options options = options_of(context);
    struct weir_error error;
    enum weir_status status;

    a->begun = true;
    if (is_sketch(spec))
        status = weir_sketch_open_with(&a->sketch, spec, &options, &error);
    else
        status = weir_build_begin(&a->builder, spec, &options, &error);
    if (status != WEIR_OK)
        give_up(context, a, error.text);
    return status == WEIR_OK;
}

/* With the first row's spec; those of the others must be the same. */
static bool begin(sqlite3_context *context, struct agg *a, int n, sqlite3_value **values)
{
    const char *spec = n > 1 ? sql_spec(values[1]) : NULL;

    if (n > 1 && !spec) {
        give_up(context, a,
                "the filter spec is NULL or not text; use a name and parameters: 'fuse fpr=0.1%'");
        return false;
    }
    if (a->begun) {
        if (!spec || strcmp(spec, a->spec) == 0)
            return true;
        give_up(context, a, "the spec differs from row to row; it must be one for all");
        return false;
    }
    if (spec && !(a->spec = sql_copy(spec, strlen(spec)))) {
        a->failed = true;
        sqlite3_result_error_nomem(context);
        return false;
    }
    return open_agg(context, a);
}

static void step(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct agg *a = sqlite3_aggregate_context(context, sizeof *a);
    struct weir_bytes key;
    struct weir_error error;

    if (!a) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (a->failed || !begin(context, a, n, values) || !sql_key(context, values[0], &key))
        return;
    if (a->sketch)
        weir_sketch_add(a->sketch, key, 1);
    else if (weir_build_add_bytes(a->builder, &key, 1, &error) != WEIR_OK)
        give_up(context, a, error.text);
}

/* The blob is SQLite's afterwards. */
static void *room(sqlite3_context *context, size_t size)
{
    int limit = sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1);
    void *data = size <= (size_t)limit ? sqlite3_malloc64(size) : NULL;

    if (size > (size_t)limit)
        sqlite3_result_error_toobig(context);
    else if (!data)
        sqlite3_result_error_nomem(context);
    return data;
}

static void return_sketch(sqlite3_context *context, struct agg *a)
{
    size_t size = weir_sketch_saved_size(a->sketch);
    void *data = room(context, size);

    if (data && weir_sketch_save_buffer(a->sketch, data, size, NULL) == size)
        sqlite3_result_blob64(context, data, size, sqlite3_free);
    else
        sqlite3_free(data);
}

static void return_filter(sqlite3_context *context, struct agg *a)
{
    struct weir_error error;
    weir_filter *w;
    enum weir_status status = weir_build_finish(a->builder, &w, &error);
    size_t size;
    void *data;

    a->builder = NULL;
    if (status != WEIR_OK) {
        give_up(context, a, error.text);
        return;
    }
    size = weir_saved_size(w);
    data = room(context, size);
    if (data && weir_save_buffer(w, data, size, NULL) == size)
        sqlite3_result_blob64(context, data, size, sqlite3_free);
    else
        sqlite3_free(data);
    weir_close(w);
}

/* Without rows the result is an empty filter, because the spec was not passed. Also called, to
 * clean up, if a statement ends early. */
static void finish(sqlite3_context *context)
{
    struct agg none = {.begun = false};
    struct agg *a = sqlite3_aggregate_context(context, 0);

    if (!a)
        a = &none;
    if (!a->failed && (a->begun || open_agg(context, a))) {
        if (a->sketch)
            return_sketch(context, a);
        else
            return_filter(context, a);
    }
    clean(a);
}

int sql_add_agg(sqlite3 *db)
{
    int status =
        sqlite3_create_function_v2(db, name, 1, SQLITE_UTF8, NULL, NULL, step, finish, NULL);

    if (status != SQLITE_OK)
        return status;
    return sqlite3_create_function_v2(db, name, 2, SQLITE_UTF8, NULL, NULL, step, finish, NULL);
}
