/* sql_agg.c - aggregates that return saved data as a blob.
 *
 *     weir_agg(key [, spec])   the keys of all rows, as a filter (weir/build.h) or a sketch
 *     weir_merge(blob)         the union of the filters or sketches of all rows */
#include "sql.h"

#include <string.h>
#include <weir/build.h>
#include <weir/sketch.h>

SQLITE_EXTENSION_INIT3

/* The number of rows is not known in advance; fuse takes its size from its keys. */
#define AGG_DEFAULT "fuse"

static const char name[] = "weir_agg";

/* The state of a group of rows, which SQLite sets to zeros. */
struct agg {
    bool begun, failed;
    char *spec; /* NULL if there is none */
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

/* The maximum size of a blob. */
static size_t max_blob(sqlite3_context *context)
{
    return (size_t)sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1);
}

static bool open_agg(sqlite3_context *context, struct agg *a)
{
    const char *spec = a->spec ? a->spec : AGG_DEFAULT;
    struct weir_options options = {.size = sizeof options, .max_bytes = max_blob(context)};
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

/* Open the result with the first row's spec; the other rows must have the same. */
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
        give_up(context, a, "the spec differs between rows; use one spec for all rows");
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

/* Return a filter or a sketch as a blob, which SQLite frees. */
static void return_saved(sqlite3_context *context, const weir_filter *w, const weir_sketch *sketch)
{
    size_t size = w ? weir_saved_size(w) : weir_sketch_saved_size(sketch);
    void *data = size <= max_blob(context) ? sqlite3_malloc64(size) : NULL;

    if (size > max_blob(context))
        sqlite3_result_error_toobig(context);
    else if (!data)
        sqlite3_result_error_nomem(context);
    else if ((w ? weir_save_buffer(w, data, size, NULL)
                : weir_sketch_save_buffer(sketch, data, size, NULL)) == size)
        sqlite3_result_blob64(context, data, size, sqlite3_free);
    else
        sqlite3_free(data);
}

static void return_built(sqlite3_context *context, struct agg *a)
{
    struct weir_error error;
    weir_filter *w;
    enum weir_status status = weir_build_finish(a->builder, &w, &error);

    a->builder = NULL;
    if (status != WEIR_OK) {
        give_up(context, a, error.text);
        return;
    }
    return_saved(context, w, NULL);
    weir_close(w);
}

/* Without rows the result is an empty filter, because the spec was not passed. Also called to clean
 * up if a statement ends early. */
static void finish(sqlite3_context *context)
{
    struct agg none = {.begun = false};
    struct agg *a = sqlite3_aggregate_context(context, 0);

    if (!a)
        a = &none;
    if (!a->failed && (a->begun || open_agg(context, a))) {
        if (a->sketch)
            return_saved(context, NULL, a->sketch);
        else
            return_built(context, a);
    }
    clean(a);
}

/* ---- weir_merge ---- */

/* The union so far: a filter or a sketch. */
struct merging {
    bool failed;
    weir_filter *filter;
    weir_sketch *sketch;
};

/* The filter in a blob, after any notes. NULL with a message. */
static weir_filter *load_filter(struct weir_bytes blob, struct weir_error *error)
{
    const uint8_t *at = blob.data;
    struct weir_part part;
    weir_filter *w = NULL;

    for (size_t left = blob.size; left > 0; at += part.size, left -= part.size) {
        if (weir_part_head(at, left, &part, sizeof part, error) != WEIR_OK)
            return NULL;
        if (part.kind == WEIR_PART_FILTER)
            return weir_load_buffer(&w, at, left, NULL, NULL, error) == WEIR_OK ? w : NULL;
    }
    strcpy(error->text, "the blob contains no filter; make filters with weir_agg()");
    return NULL;
}

/* Add a filter or a sketch, which is closed or becomes the union. */
static bool merge_one(struct merging *m, weir_filter *w, weir_sketch *s, struct weir_error *error)
{
    bool ok = false;

    if (!m->filter && !m->sketch) {
        m->filter = w;
        m->sketch = s;
        return true;
    }
    if (w && m->sketch)
        strcpy(error->text, "a filter cannot be merged with a sketch");
    else if (w)
        ok = weir_merge(m->filter, w, error) == WEIR_OK;
    else if (m->filter)
        strcpy(error->text, "a sketch cannot be merged with a filter");
    else
        ok = weir_sketch_merge(m->sketch, s, error) == WEIR_OK;
    weir_close(w);
    weir_sketch_close(s);
    return ok;
}

static void merge_step(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct merging *m = sqlite3_aggregate_context(context, sizeof *m);
    struct weir_error error;
    struct weir_bytes blob;
    weir_sketch *sketch;
    weir_filter *w;

    if (!m) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (m->failed || !sql_key(context, values[0], &blob))
        return;
    strcpy(error.text, "the value is not a blob; use blobs of weir_agg()");
    m->failed = sqlite3_value_type(values[0]) != SQLITE_BLOB || !sql_keys_as_given(blob, &error);
    if (!m->failed) {
        sketch = sql_load_sketch(blob, &error);
        w = sketch ? NULL : load_filter(blob, &error);
        m->failed = (!sketch && !w) || !merge_one(m, w, sketch, &error);
    }
    if (m->failed)
        sql_fail(context, "weir_merge", error.text);
}

/* NULL without rows. */
static void merge_finish(sqlite3_context *context)
{
    struct merging *m = sqlite3_aggregate_context(context, 0);

    if (!m)
        return;
    if (!m->failed && (m->filter || m->sketch))
        return_saved(context, m->filter, m->sketch);
    weir_close(m->filter);
    weir_sketch_close(m->sketch);
    *m = (struct merging){.failed = true};
}

int sql_add_agg(sqlite3 *db)
{
    int status = SQLITE_OK;

    for (int arguments = 1; arguments <= 2 && status == SQLITE_OK; arguments++)
        status = sqlite3_create_function_v2(db, name, arguments, SQLITE_UTF8, NULL, NULL, step,
                                            finish, NULL);
    if (status == SQLITE_OK)
        status = sqlite3_create_function_v2(db, "weir_merge", 1, SQLITE_UTF8, NULL, NULL,
                                            merge_step, merge_finish, NULL);
    return status;
}
