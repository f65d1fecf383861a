/* sql_has.c - functions that look into a filter, which is a blob or a name.
 *
 *     weir_has(filter, key)       1 if the key is probably in the filter, 0 if it is not
 *     weir_count(filter)          estimated number of distinct keys
 *     weir_count(sketch, key)     estimated count of a key
 *     weir_info(filter)           spec and statistics, as JSON
 *
 * The same blob is passed with most rows, and verifying it each time would take longer than the
 * lookup. So a statement keeps the set of its last blob and the blob's address: a blob at the same
 * address is compared by heads and checksums. A blob that a statement passes for the first time is
 * compared in full with the sets that the connection keeps. */
#include "sql.h"

#include <string.h>

SQLITE_EXTENSION_INIT3

#define KEPT 4 /* sets of a connection; chosen: more are rarely used in turn */

/* SQLite discards data of an argument that is not constant, such as a sub-select. Data under a
 * negative number is kept until the statement ends. Without it, calls are slower but correct. */
#define FOR_THE_STATEMENT (-1)

static const char name[] = "weir_has";

/* The sets of a connection. */
struct known {
    struct sql_names *names;
    struct sql_set *set[KEPT]; /* the latest first */
};

/* The last set of a statement. */
struct asked_set {
    const void *blob; /* its address */
    struct sql_set *set;
};

static void free_asked(void *any)
{
    struct asked_set *asked = any;

    sql_set_leave(asked->set);
    sqlite3_free(asked);
}

static void free_known(void *any)
{
    struct known *known = any;

    for (int i = 0; i < KEPT; i++)
        if (known->set[i])
            sql_set_leave(known->set[i]);
    sql_names_leave(known->names);
    sqlite3_free(known);
}

/* Put a set first; the one at place i is overwritten. */
static void put_first(struct known *known, struct sql_set *set, int i)
{
    for (; i > 0; i--)
        known->set[i] = known->set[i - 1];
    known->set[0] = set;
}

/* Find or open the set of a blob. */
static struct sql_set *find(sqlite3_context *context, struct weir_bytes blob)
{
    struct known *known = sqlite3_user_data(context);
    struct weir_error error;
    struct sql_set *set;

    for (int i = 0; i < KEPT && known->set[i]; i++)
        if (sql_set_is(known->set[i], blob)) {
            put_first(known, known->set[i], i);
            return known->set[0];
        }
    set = sql_set_open(blob, false, &error);
    if (!set) {
        sql_fail(context, name, error.text);
        return NULL;
    }
    if (known->set[KEPT - 1])
        sql_set_leave(known->set[KEPT - 1]);
    put_first(known, set, KEPT - 1);
    return set;
}

/* Keep the set for the next row. */
static void remember(sqlite3_context *context, const void *blob, struct sql_set *set)
{
    struct asked_set *asked = sqlite3_malloc64(sizeof *asked);

    if (!asked)
        return;
    *asked = (struct asked_set){blob, sql_set_share(set)};
    sqlite3_set_auxdata(context, FOR_THE_STATEMENT, asked, free_asked);
}

static struct sql_set *set_of(sqlite3_context *context, sqlite3_value *value)
{
    const struct asked_set *asked = sqlite3_get_auxdata(context, FOR_THE_STATEMENT);
    struct weir_bytes blob = {sqlite3_value_blob(value), (size_t)sqlite3_value_bytes(value)};
    struct sql_set *set;

    if (asked && asked->blob == blob.data && sql_set_is_still(asked->set, blob))
        return asked->set;
    if (!blob.data)
        blob = (struct weir_bytes){"", 0};
    set = find(context, blob);
    if (set)
        remember(context, blob.data, set);
    return set;
}

static void ask_set(sqlite3_context *context, const struct sql_set *set, sqlite3_value *value)
{
    struct weir_bytes key;

    if (sql_key(context, value, &key))
        sqlite3_result_int(context, sql_set_has(set, key));
}

static void ask_named(sqlite3_context *context, sqlite3_value **values)
{
    const struct known *known = sqlite3_user_data(context);
    const struct sql_named *n = NULL;
    struct weir_bytes key;

    if (sql_key(context, values[0], &key))
        n = sql_names_find(known->names, key);
    if (!n)
        sql_fail(context, name,
                 "no filter of this name; use a blob, or a name that weir_keep() or "
                 "weir_observe() opened on this connection");
    else if (n->set)
        ask_set(context, n->set, values[1]);
    else if (sql_key(context, values[1], &key))
        sqlite3_result_int(context, weir_ask_bytes(n->filter, key.data, key.size) == WEIR_SEEN);
}

static void has(sqlite3_context *context, int n, sqlite3_value **values)
{
    int type = sqlite3_value_type(values[0]);
    struct sql_set *set;

    if (type == SQLITE_TEXT)
        ask_named(context, values);
    else if (type == SQLITE_BLOB && (set = set_of(context, values[0])))
        ask_set(context, set, values[1]);
    else if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
        sql_fail(context, name, "the filter is a number; use weir_agg() or readfile()");
}

/* ---- weir_count and weir_info ---- */

/* A filter or sketch that an argument names or contains. */
struct inspected {
    bool is_sketch;
    char spec[WEIR_SPEC_MAX];
    struct weir_stats filter;
    struct weir_sketch_stats sketch;
};

static void inspect_set(const struct sql_set *set, struct inspected *out)
{
    out->filter = sql_set_stats(set);
    sql_set_config(set, out->spec, sizeof out->spec);
}

static bool inspect_name(const struct known *known, struct weir_bytes text, struct inspected *out,
                         struct weir_error *error)
{
    const struct sql_named *n = sql_names_find(known->names, text);

    if (!n) {
        strcpy(error->text, "no filter of this name; use a blob, or a name of this connection");
        return false;
    }
    if (n->set) {
        inspect_set(n->set, out);
    } else {
        out->filter = weir_stats_of(n->filter);
        weir_config(n->filter, out->spec, sizeof out->spec);
    }
    return true;
}

static bool inspect_blob(struct weir_bytes blob, struct inspected *out, struct weir_error *error)
{
    weir_sketch *sketch = sql_load_sketch(blob, error);
    struct sql_set *set;

    if (sketch) {
        out->is_sketch = true;
        out->sketch = weir_sketch_stats_of(sketch);
        weir_sketch_config(sketch, out->spec, sizeof out->spec);
        weir_sketch_close(sketch);
        return true;
    }
    set = sql_set_open(blob, true, error);
    if (!set)
        return false;
    inspect_set(set, out);
    sql_set_leave(set);
    return true;
}

/* False with an error, or if the value is NULL. */
static bool inspect(sqlite3_context *context, const char *function, sqlite3_value *value,
                    struct inspected *out)
{
    int type = sqlite3_value_type(value);
    struct weir_error error;
    struct weir_bytes bytes;
    bool ok;

    *out = (struct inspected){.is_sketch = false};
    if (!sql_key(context, value, &bytes))
        return false;
    if (type != SQLITE_TEXT && type != SQLITE_BLOB) {
        sql_fail(context, function, "the filter is a number; use a blob or a name");
        return false;
    }
    ok = type == SQLITE_TEXT ? inspect_name(sqlite3_user_data(context), bytes, out, &error)
                             : inspect_blob(bytes, out, &error);
    if (!ok)
        sql_fail(context, function, error.text);
    return ok;
}

static void count_keys(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct inspected i;

    if (!inspect(context, "weir_count", values[0], &i))
        return;
    if (i.is_sketch)
        sql_fail(context, "weir_count", "a sketch counts single keys; use weir_count(sketch, key)");
    else
        sqlite3_result_int64(context, (sqlite3_int64)i.filter.new_keys);
}

static void count_key(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct weir_bytes blob, key;
    struct weir_error error;
    weir_sketch *sketch;

    if (sqlite3_value_type(values[0]) == SQLITE_NULL || !sql_key(context, values[1], &key))
        return;
    if (sqlite3_value_type(values[0]) != SQLITE_BLOB) {
        sql_fail(context, "weir_count",
                 "the sketch is not a blob; make one with weir_agg(key, 'top')");
        return;
    }
    blob =
        (struct weir_bytes){sqlite3_value_blob(values[0]), (size_t)sqlite3_value_bytes(values[0])};
    sketch = sql_load_sketch(blob, &error);
    if (sketch)
        sqlite3_result_int64(context, (sqlite3_int64)weir_sketch_ask(sketch, key).count);
    else
        sql_fail(context, "weir_count", error.text);
    weir_sketch_close(sketch);
}

static char *sketch_json(const struct inspected *i)
{
    const struct weir_sketch_stats *s = &i->sketch;
    char *error =
        s->error == WEIR_NO_BOUND ? sqlite3_mprintf("null") : sqlite3_mprintf("%llu", s->error);
    char *json = error ? sqlite3_mprintf("{\"kind\":\"sketch\",\"spec\":\"%s\",\"memory\":%llu,"
                                         "\"total\":%llu,\"keys\":%llu,\"error\":%s}",
                                         i->spec, s->memory, s->total, s->keys, error)
                       : NULL;

    sqlite3_free(error);
    return json;
}

static char *filter_json(const struct inspected *i)
{
    const struct weir_stats *s = &i->filter;

    return sqlite3_mprintf("{\"kind\":\"filter\",\"spec\":\"%s\",\"memory\":%llu,\"observed\":%llu,"
                           "\"seen\":%llu,\"new\":%llu,\"fill\":%.6g,\"error\":%.6g,\"lost\":%llu,"
                           "\"overflow\":%llu}",
                           i->spec, s->memory, s->observed, s->seen, s->new_keys, s->fill, s->error,
                           s->lost, s->overflow);
}

static void info(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct inspected i;
    char *json;

    if (!inspect(context, "weir_info", values[0], &i))
        return;
    json = i.is_sketch ? sketch_json(&i) : filter_json(&i);
    if (json)
        sqlite3_result_text(context, json, -1, sqlite3_free);
    else
        sqlite3_result_error_nomem(context);
}

int sql_add_has(sqlite3 *db, struct sql_names *names)
{
    static const struct {
        const char *name;
        int arguments;
        void (*call)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {{name, 2, has},
                     {"weir_count", 1, count_keys},
                     {"weir_count", 2, count_key},
                     {"weir_info", 1, info}};
    int status = SQLITE_OK;

    for (size_t i = 0; i < sizeof functions / sizeof functions[0] && status == SQLITE_OK; i++) {
        struct known *known = sqlite3_malloc64(sizeof *known);

        if (!known)
            return SQLITE_NOMEM;
        *known = (struct known){.names = sql_names_share(names)};
        status = sqlite3_create_function_v2(db, functions[i].name, functions[i].arguments,
                                            SQLITE_UTF8 | SQLITE_INNOCUOUS, known,
                                            functions[i].call, NULL, NULL, free_known);
    }
    return status;
}
