/* sql_observe.c - weir_observe(name, key): 1 if a filter of this connection has probably seen the
 * key before, 0 if not; then records it. The filter is opened at its first use and lasts as long
 * as the connection:
 *
 *     'recent memory=16M window=1M'   a spec: the filter of exactly this text
 *     'visits: recent memory=16M'     a name and a spec: several filters can have one spec
 *     'visits'                        the filter of this name; opened as the default if new
 *
 * SQLITE_DIRECTONLY: a schema in an untrusted file cannot take memory with it. */
#include "sql.h"
#include "sql_names.h"

#include <string.h>

SQLITE_EXTENSION_INIT3

static const char function[] = "weir_observe";

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
    n = sql_names_add(names, w.name, spec);
    if (!n) {
        refuse(error, "memory is short");
        return NULL;
    }
    if (weir_open(&n->filter, spec, error) == WEIR_OK)
        return n->filter;
    sql_names_drop_first(names);
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
            context, function,
            "the name is NULL or not text; use a name or a spec, for example 'recent memory=16M'");
        return;
    }
    w = find_or_open(sqlite3_user_data(context), text, &error);
    if (!w)
        sql_fail(context, function, error.text);
    else if (sql_key(context, values[1], &key))
        sqlite3_result_int(context, weir_observe_bytes(w, key.data, key.size) == WEIR_SEEN);
}

int sql_add_observe(sqlite3 *db, struct sql_names *names)
{
    return sqlite3_create_function_v2(db, function, 2, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                      sql_names_share(names), observe, NULL, NULL, sql_names_leave);
}
