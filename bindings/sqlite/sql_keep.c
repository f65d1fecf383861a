/* sql_keep.c - weir_keep(name, filter): have the connection keep the filter of a blob under a name,
 * in place of one that it kept before; gives the name, for weir_has(name, key). A third argument,
 * 'keys-differ', keeps one whose keys were not used as given, too.
 *
 * SQLite copies what a sub-select gives for each row that a function is called for. Of a name
 * that costs nothing; of a filter of a million keys it would be a megabyte a row. */
#include "sql.h"
#include "sql_names.h"

#include <string.h>

SQLITE_EXTENSION_INIT3

static const char function[] = "weir_keep";

/* Put a set behind a name; which it leaves as it was if that cannot be. */
static bool keep(struct sql_names *names, struct weir_bytes name, struct weir_bytes blob,
                 bool keys_differ, struct weir_error *error)
{
    struct sql_named *n = sql_names_find(names, name);
    struct sql_set *set;

    if (n && n->filter) {
        strcpy(error->text, "weir_observe() uses this name; choose another");
        return false;
    }
    if (n && sql_set_is(n->set, blob))
        return true;
    set = sql_set_open(blob, keys_differ, error);
    if (!set)
        return false;
    if (!n && !(n = sql_names_add(names, name, ""))) {
        sql_set_leave(set);
        strcpy(error->text, "memory is short");
        return false;
    }
    if (n->set)
        sql_set_leave(n->set);
    n->set = set;
    return true;
}

static void keep_blob(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct weir_error error;
    struct weir_bytes name, blob;

    bool differ = n == 3 && sqlite3_value_type(values[2]) == SQLITE_TEXT &&
                  sqlite3_stricmp((const char *)sqlite3_value_text(values[2]), "keys-differ") == 0;

    if (sqlite3_value_type(values[1]) == SQLITE_NULL)
        return;
    if (sqlite3_value_type(values[0]) != SQLITE_TEXT)
        sql_fail(context, function, "the name is not text; use weir_keep('bad', filter)");
    else if (n == 3 && !differ)
        sql_fail(context, function,
                 "the third argument is unknown; use 'keys-differ' or leave it out");
    else if (sqlite3_value_type(values[1]) != SQLITE_BLOB)
        sql_fail(context, function, "the filter is not a blob; use weir_agg() or readfile()");
    else if (sql_key(context, values[0], &name) && sql_key(context, values[1], &blob)) {
        if (memchr(name.data, '\0', name.size))
            sql_fail(context, function, "the name contains a NUL; remove it");
        else if (keep(sqlite3_user_data(context), name, blob, differ, &error))
            sqlite3_result_value(context, values[0]);
        else
            sql_fail(context, function, error.text);
    }
}

int sql_add_keep(sqlite3 *db, struct sql_names *names)
{
    int status = SQLITE_OK;

    for (int arguments = 2; arguments <= 3 && status == SQLITE_OK; arguments++)
        status = sqlite3_create_function_v2(db, function, arguments,
                                            SQLITE_UTF8 | SQLITE_DIRECTONLY, sql_names_share(names),
                                            keep_blob, NULL, NULL, sql_names_leave);
    return status;
}
