/* weirsql.c - an extension of SQLite: SELECT load_extension('weirsql'), or .load in its shell.
 *
 *     weir_agg(key [, spec])               aggregate: the keys of all rows as a filter or sketch
 *     weir_merge(filter)                   aggregate: the union of saved filters or sketches
 *     weir_has(filter, key)                whether a key is in a filter
 *     weir_key(value, ...)                 several columns as one key
 *     weir_count(filter), (sketch, key)    the number of keys; the count of a key
 *     weir_info(filter)                    statistics as JSON
 *     weir_top(sketch [, 'all'])           a table of the most frequent keys
 *     weir_observe(name, key [, time])     whether a key was seen before; then record it
 *     weir_keep(name, filter)              give a blob a name
 *     weir_load(name, path), weir_save(name, path), weir_drop(name)
 *
 * docs/sql.md is the manual. Connections share nothing. Only weir_save() writes files. */
#include "sql.h"

#include <stdio.h>
#include <string.h>

SQLITE_EXTENSION_INIT1

#define SEPARATOR 0x1f /* between the fields of a key, as in the command */

/* ---- values ---- */

bool sql_key(sqlite3_context *context, sqlite3_value *value, struct weir_bytes *key)
{
    int type = sqlite3_value_type(value);

    if (type == SQLITE_NULL)
        return false;
    /* In a UTF-16 database, sqlite3_value_blob() of a text would return UTF-16. */
    if (type == SQLITE_BLOB)
        key->data = sqlite3_value_blob(value);
    else
        key->data = sqlite3_value_text(value);
    key->size = (size_t)sqlite3_value_bytes(value);
    if (!key->data && type != SQLITE_BLOB) {
        sqlite3_result_error_nomem(context);
        return false;
    }
    if (!key->data) /* an empty blob */
        key->data = "";
    return true;
}

void sql_fail(sqlite3_context *context, const char *name, const char *why)
{
    char *text = sqlite3_mprintf("%s: %s", name, why);

    if (text)
        sqlite3_result_error(context, text, -1);
    else
        sqlite3_result_error_nomem(context);
    sqlite3_free(text);
}

const char *sql_spec(sqlite3_value *value)
{
    bool is_text = sqlite3_value_type(value) == SQLITE_TEXT;
    const char *text = is_text ? (const char *)sqlite3_value_text(value) : NULL;

    return text && strlen(text) == (size_t)sqlite3_value_bytes(value) ? text : NULL;
}

char *sql_copy(const char *text, size_t size)
{
    char *copy = sqlite3_malloc64(size + 1);

    if (!copy)
        return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

/* ---- saved data ---- */

bool sql_lists_keys(const weir_sketch *s)
{
    char spec[WEIR_SPEC_MAX];
    const struct weir_algorithm *algorithm;

    weir_sketch_config(s, spec, sizeof spec);
    algorithm = weir_find_algorithm(WEIR_KIND_SKETCH, spec);
    return algorithm && (algorithm->traits & WEIR_CAN_LIST);
}

weir_sketch *sql_load_sketch(struct weir_bytes blob, struct weir_error *error)
{
    const uint8_t *at = blob.data;
    struct weir_part part = {.kind = WEIR_PART_NOTE};
    weir_sketch *s = NULL;

    for (size_t left = blob.size; left > 0; at += part.size, left -= part.size) {
        if (weir_part_read(at, left, &part, sizeof part, error) != WEIR_OK)
            return NULL;
        if (part.kind == WEIR_PART_COUNTS || part.kind == WEIR_PART_TOP)
            return weir_sketch_load_buffer(&s, at, left, NULL, NULL, error) == WEIR_OK ? s : NULL;
        if (part.kind == WEIR_PART_FILTER || part.kind == WEIR_PART_SCREEN)
            break;
    }
    strcpy(error->text, "the blob contains no sketch; make one with weir_agg(key, 'top')");
    return NULL;
}

bool sql_keys_as_given(struct weir_bytes blob, struct weir_error *error)
{
    char keys[WEIR_KEY_DESCRIPTION_MAX];

    if (weir_saved_key_description(blob.data, blob.size, keys, sizeof keys) == 0)
        return true;
    error->status = WEIR_MISMATCH;
    error->code = WEIR_ERROR_MISMATCH;
    snprintf(error->text, sizeof error->text,
             "the filter's keys were made with %.160s, but keys are used as given here; make them "
             "the same way and use weir_keep(name, filter, 'keys-differ')",
             keys);
    return false;
}

/* ---- weir_key ---- */

/* The values joined by a separator; NULL if one of them is NULL. */
static void join_key(sqlite3_context *context, int n, sqlite3_value **values)
{
    sqlite3_str *text = sqlite3_str_new(sqlite3_context_db_handle(context));
    bool is_blob = false, ok = n > 0;
    struct weir_bytes key;
    int size;
    char *joined;

    for (int i = 0; i < n && ok; i++) {
        ok = sql_key(context, values[i], &key);
        if (ok && i > 0)
            sqlite3_str_appendchar(text, 1, SEPARATOR);
        if (ok)
            sqlite3_str_append(text, key.data, (int)key.size);
        is_blob |= sqlite3_value_type(values[i]) == SQLITE_BLOB;
    }
    size = sqlite3_str_length(text);
    joined = sqlite3_str_finish(text);
    if (n == 0)
        sql_fail(context, "weir_key", "no column; use weir_key(a, b)");
    else if (ok && !joined && size > 0)
        sqlite3_result_error_nomem(context);
    else if (ok && is_blob)
        sqlite3_result_blob(context, joined ? joined : "", size, SQLITE_TRANSIENT);
    else if (ok)
        sqlite3_result_text(context, joined ? joined : "", size, SQLITE_TRANSIENT);
    sqlite3_free(joined);
}

/* ---- load ---- */

/* SQLite finds it by the name of the file. */
WEIR_API int sqlite3_weirsql_init(sqlite3 *db, char **why, const sqlite3_api_routines *api);

int sqlite3_weirsql_init(sqlite3 *db, char **why, const sqlite3_api_routines *api)
{
    struct sql_names *names;
    int status;

    SQLITE_EXTENSION_INIT2(api)
    names = sql_names_new();
    if (!names)
        return SQLITE_NOMEM;
    status = sqlite3_create_function(db, "weir_key", -1,
                                     SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
                                     join_key, NULL, NULL);
    if (status == SQLITE_OK)
        status = sql_add_agg(db);
    if (status == SQLITE_OK)
        status = sql_add_has(db, names);
    if (status == SQLITE_OK)
        status = sql_add_names(db, names);
    if (status == SQLITE_OK)
        status = sql_add_top(db);
    sql_names_leave(names);
    return status;
}
