/* sql_names.c - filters of a connection that have a name, and the two functions that make them.
 *
 * weir_keep(name, filter) has the connection keep the filter of a blob under a name, in place of
 * one that it kept before; gives the name, for weir_has(name, key). A third argument,
 * 'keys-differ', keeps one whose keys were not used as given, too. SQLite copies what a sub-select
 * gives for each row that a function is called for. Of a name that costs nothing; of a filter of a
 * million keys it would be a megabyte a row.
 *
 * weir_observe(name, key) gives 1 if a filter of this connection has probably seen the key before,
 * 0 if not; then records it. The filter is opened at its first use and lasts as long as the
 * connection:
 *
 *     'recent memory=16M window=1M'   a spec: the filter of exactly this text
 *     'visits: recent memory=16M'     a name and a spec: several filters can have one spec
 *     'visits'                        the filter of this name; opened as the default if new
 *
 * SQLITE_DIRECTONLY: a schema in an untrusted file cannot take memory with it. */
#include "sql.h"

#include <string.h>

SQLITE_EXTENSION_INIT3

/* A list: a connection has a few. */
struct sql_names {
    unsigned users;
    struct sql_named *first;
};

/* ---- the names ---- */

struct sql_names *sql_names_new(void)
{
    struct sql_names *names = sqlite3_malloc64(sizeof *names);

    if (names)
        *names = (struct sql_names){.users = 1};
    return names;
}

struct sql_names *sql_names_share(struct sql_names *names)
{
    names->users++;
    return names;
}

/* Take back the one that was added last. */
static void drop_first(struct sql_names *names)
{
    struct sql_named *n = names->first;

    names->first = n->next;
    weir_close(n->filter);
    if (n->set)
        sql_set_leave(n->set);
    sqlite3_free(n->name);
    sqlite3_free(n->spec);
    sqlite3_free(n);
}

void sql_names_leave(void *any)
{
    struct sql_names *names = any;

    if (--names->users > 0)
        return;
    while (names->first)
        drop_first(names);
    sqlite3_free(names);
}

struct sql_named *sql_names_find(const struct sql_names *names, struct weir_bytes name)
{
    for (struct sql_named *n = names->first; n; n = n->next)
        if (strlen(n->name) == name.size && memcmp(n->name, name.data, name.size) == 0)
            return n;
    return NULL;
}

/* A name that is not there yet, with nothing behind it; NULL if memory is short. */
static struct sql_named *add_name(struct sql_names *names, struct weir_bytes name, const char *spec)
{
    struct sql_named *n = sqlite3_malloc64(sizeof *n);

    if (!n)
        return NULL;
    *n = (struct sql_named){.next = names->first,
                            .name = sql_copy(name.data, name.size),
                            .spec = sql_copy(spec, strlen(spec))};
    names->first = n;
    if (n->name && n->spec)
        return n;
    drop_first(names);
    return NULL;
}

/* ---- weir_keep ---- */

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
    if (!n && !(n = add_name(names, name, ""))) {
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
        sql_fail(context, "weir_keep", "the name is not text; use weir_keep('bad', filter)");
    else if (n == 3 && !differ)
        sql_fail(context, "weir_keep",
                 "the third argument is unknown; use 'keys-differ' or leave it out");
    else if (sqlite3_value_type(values[1]) != SQLITE_BLOB)
        sql_fail(context, "weir_keep", "the filter is not a blob; use weir_agg() or readfile()");
    else if (sql_key(context, values[0], &name) && sql_key(context, values[1], &blob)) {
        if (memchr(name.data, '\0', name.size))
            sql_fail(context, "weir_keep", "the name contains a NUL; remove it");
        else if (keep(sqlite3_user_data(context), name, blob, differ, &error))
            sqlite3_result_value(context, values[0]);
        else
            sql_fail(context, "weir_keep", error.text);
    }
}

int sql_add_keep(sqlite3 *db, struct sql_names *names)
{
    int status = SQLITE_OK;

    for (int arguments = 2; arguments <= 3 && status == SQLITE_OK; arguments++)
        status = sqlite3_create_function_v2(db, "weir_keep", arguments,
                                            SQLITE_UTF8 | SQLITE_DIRECTONLY, sql_names_share(names),
                                            keep_blob, NULL, NULL, sql_names_leave);
    return status;
}

/* ---- weir_observe ---- */

/* A first argument, taken apart: a name, or a spec, or both. */
struct named_spec {
    struct weir_bytes name;
    const char *spec; /* NULL if it is only named */
};

static struct named_spec take_apart(const char *text)
{
    size_t word = strcspn(text, " \t\r\n=:");

    if (word > 0 && text[word] == ':')
        return (struct named_spec){{text, word}, text + word + 1};
    if (word > 0 && !text[word] && !weir_find_algorithm(WEIR_KIND_FILTER, text))
        return (struct named_spec){{text, word}, NULL};
    return (struct named_spec){{text, strlen(text)}, text};
}

static bool refuse(struct weir_error *error, const char *why)
{
    strcpy(error->text, why);
    return false;
}

/* Whether it can observe rows one by one, without times. */
static bool fits(const char *spec, struct weir_error *error)
{
    char span[32];
    uint64_t traits;

    if (weir_spec_traits(WEIR_KIND_FILTER, spec, &traits, error) != WEIR_OK)
        return false;
    if (!(traits & WEIR_CAN_OBSERVE))
        return refuse(error,
                      "this filter cannot be changed after it is built; build it with weir_agg()");
    if (weir_spec_get(spec, "span", span, sizeof span) > 0)
        return refuse(error,
                      "span= needs times, which rows do not have; use window=, which counts rows");
    return true;
}

static weir_filter *open_one(struct sql_names *names, struct named_spec w, struct weir_error *error)
{
    const char *spec = w.spec ? w.spec : "";
    struct sql_named *n;

    if (!fits(spec, error))
        return NULL;
    n = add_name(names, w.name, spec);
    if (!n) {
        refuse(error, "memory is short");
        return NULL;
    }
    if (weir_open(&n->filter, spec, error) == WEIR_OK)
        return n->filter;
    drop_first(names);
    return NULL;
}

static weir_filter *find_or_open(struct sql_names *names, const char *text,
                                 struct weir_error *error)
{
    struct named_spec w = take_apart(text);
    const struct sql_named *n = sql_names_find(names, w.name);

    if (!n)
        return open_one(names, w, error);
    if (n->set)
        refuse(error,
               "weir_keep() uses this name for a filter that cannot be changed; choose another");
    else if (w.spec && strcmp(w.spec, n->spec) != 0)
        refuse(error, "a filter of this name is open with another spec; leave the spec out, or "
                      "choose another name");
    else
        return n->filter;
    return NULL;
}

static void observe(sqlite3_context *context, int n, sqlite3_value **values)
{
    const char *text = sql_spec(values[0]);
    struct weir_error error;
    struct weir_bytes key;
    weir_filter *w;

    (void)n;
    if (!text) {
        sql_fail(
            context, "weir_observe",
            "the name is NULL or not text; use a name or a spec, for example 'recent memory=16M'");
        return;
    }
    w = find_or_open(sqlite3_user_data(context), text, &error);
    if (!w)
        sql_fail(context, "weir_observe", error.text);
    else if (sql_key(context, values[1], &key))
        sqlite3_result_int(context, weir_observe_bytes(w, key.data, key.size) == WEIR_SEEN);
}

int sql_add_observe(sqlite3 *db, struct sql_names *names)
{
    return sqlite3_create_function_v2(db, "weir_observe", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                      sql_names_share(names), observe, NULL, NULL, sql_names_leave);
}
