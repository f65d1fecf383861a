/* weirsql.c - an extension of SQLite: `SELECT load_extension('weirsql')`, or .load in its shell.
 *
 *     weir_agg(key [, spec])       the keys of all rows as a filter file, or as a sketch
 *     weir_has(filter, key)        whether a key is in such a filter
 *     weir_keep(name, filter)      name a filter for the connection
 *     weir_observe(name, key)      whether a filter of the connection has seen a key before
 *     weir_top(sketch)             a table of the most frequent keys
 *
 * docs/sql.md is the manual. Connections share nothing, and nothing is written to disk. */
#include "sql.h"

#include <string.h>

SQLITE_EXTENSION_INIT1

bool sql_key(sqlite3_context *context, sqlite3_value *value, struct weir_bytes *key)
{
    int type = sqlite3_value_type(value);

    if (type == SQLITE_NULL)
        return false;
    /* Of a text in a database of UTF-16, sqlite3_value_blob() would give those bytes. */
    if (type == SQLITE_BLOB)
        key->data = sqlite3_value_blob(value);
    else
        key->data = sqlite3_value_text(value);
    key->size = (size_t)sqlite3_value_bytes(value);
    if (!key->data && type != SQLITE_BLOB) {
        sqlite3_result_error_nomem(context);
        return false;
    }
    if (!key->data) /* a blob of no bytes */
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

/* SQLite finds it by the name of the file. */
WEIR_API int sqlite3_weirsql_init(sqlite3 *db, char **why, const sqlite3_api_routines *api);

int sqlite3_weirsql_init(sqlite3 *db, char **why, const sqlite3_api_routines *api)
{
    struct sql_names *names;
    int status;

    (void)why;
    SQLITE_EXTENSION_INIT2(api)
    names = sql_names_new();
    if (!names)
        return SQLITE_NOMEM;
    status = sql_add_agg(db);
    if (status == SQLITE_OK)
        status = sql_add_has(db, names);
    if (status == SQLITE_OK)
        status = sql_add_keep(db, names);
    if (status == SQLITE_OK)
        status = sql_add_observe(db, names);
    if (status == SQLITE_OK)
        status = sql_add_top(db);
    sql_names_leave(names);
    return status;
}
