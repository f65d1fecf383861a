/* sql_has.c - weir_has(filter, key): 1 if the key is probably in the filter that the blob holds, 0
 * if it is not; NULL where one of them is.
 *
 * A blob comes with every row, and is the same for most: looking at all of it each time would take
 * longer than the question. So a statement keeps the set that it asked last, and where that blob
 * lay: what lies there still is compared by its heads and checksums alone. Whatever comes for the
 * first time in a run of a statement is compared in full with the sets that the connection knows.
 */
#include "sql.h"

SQLITE_EXTENSION_INIT3

#define KEPT 4 /* sets of a connection, a guess: more are rarely asked in turn */

/* SQLite drops what is kept for an argument, numbered from 0, whenever the argument is not a
 * constant, a sub-select for instance; what is kept under a negative number stays for the run of
 * the statement. One that would not keep it costs time and nothing else. */
#define FOR_THE_STATEMENT (-1)

static const char name[] = "weir_has";

/* What the function knows of a connection. */
struct known {
    struct sql_names *names;
    struct sql_set *set[KEPT]; /* the latest first */
};

/* What a statement asked last. */
struct asked_set {
    const void *blob; /* where it lay */
    struct sql_set *set;
};

static void forget_asked(void *any)
{
    struct asked_set *asked = any;

    sql_set_leave(asked->set);
    sqlite3_free(asked);
}

static void forget_known(void *any)
{
    struct known *known = any;

    for (int i = 0; i < KEPT; i++)
        if (known->set[i])
            sql_set_leave(known->set[i]);
    sql_names_leave(known->names);
    sqlite3_free(known);
}

/* Put it before the others; what stood at place i makes room. */
static void put_first(struct known *known, struct sql_set *set, int i)
{
    for (; i > 0; i--)
        known->set[i] = known->set[i - 1];
    known->set[0] = set;
}

/* The set of a blob, out of those that are known or made of it now. */
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

/* Keep in mind what is asked, for the next row. */
static void remember(sqlite3_context *context, const void *blob, struct sql_set *set)
{
    struct asked_set *asked = sqlite3_malloc64(sizeof *asked);

    if (!asked)
        return;
    *asked = (struct asked_set){blob, sql_set_share(set)};
    sqlite3_set_auxdata(context, FOR_THE_STATEMENT, asked, forget_asked);
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

    (void)n;
    if (type == SQLITE_TEXT)
        ask_named(context, values);
    else if (type == SQLITE_BLOB && (set = set_of(context, values[0])))
        ask_set(context, set, values[1]);
    else if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
        sql_fail(context, name, "the filter is a number; use weir_agg() or readfile()");
}

int sql_add_has(sqlite3 *db, struct sql_names *names)
{
    int flags = SQLITE_UTF8 | SQLITE_INNOCUOUS;
    struct known *known = sqlite3_malloc64(sizeof *known);

    if (!known)
        return SQLITE_NOMEM;
    *known = (struct known){.names = sql_names_share(names)};
    return sqlite3_create_function_v2(db, name, 2, flags, known, has, NULL, NULL, forget_known);
}
