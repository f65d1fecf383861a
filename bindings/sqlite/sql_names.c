/* sql_names.c - named filters of a connection.
 *
 *     weir_observe(name, key [, time [, ttl]])   1 if the key was seen before, else 0; then record
 * it weir_keep(name, filter)            name the filter of a blob, for weir_has(name, key)
 *     weir_load(name, path)              the same for a file
 *     weir_save(name, path)              save a filter of weir_observe()
 *     weir_drop(name)                    close it
 *
 * The first argument of weir_observe() is
 *
 *     'recent memory=16M window=1M'   a spec: a filter of this statement, which ends with it
 *     'visits: recent memory=16M'     a name and a spec: a filter of the connection
 *     'visits'                        the filter of this name; opened as the default if new
 *
 * A name costs nothing per row, whereas SQLite copies the result of a sub-select for each row.
 *
 * SQLITE_DIRECTONLY: the schema of an untrusted database cannot use memory or files. */
#include "sql.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

SQLITE_EXTENSION_INIT3

/* Data under a negative number is kept until the statement ends, whatever its arguments are. -1 is
 * used by weir_has(). */
#define OF_THE_STATEMENT (-2)
#define DAY 86400.0
#define TTL_MAX 1e12 /* seconds; longer ones are the longest of the filter */

/* A connection has a few. */
struct sql_names {
    unsigned users;
    struct sql_named *first;
};

/* ---- the list ---- */

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

static void note_time(struct sql_named *n, const char *spec)
{
    char value[64];

    n->has_ttl = weir_spec_get(spec, "ttl", value, sizeof value) > 0;
    n->has_time = n->has_ttl || weir_spec_get(spec, "span", value, sizeof value) > 0;
}

static void free_named(struct sql_named *n)
{
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
    while (names->first) {
        struct sql_named *n = names->first;

        names->first = n->next;
        free_named(n);
    }
    sqlite3_free(names);
}

struct sql_named *sql_names_find(const struct sql_names *names, struct weir_bytes name)
{
    for (struct sql_named *n = names->first; n; n = n->next)
        if (strlen(n->name) == name.size && memcmp(n->name, name.data, name.size) == 0)
            return n;
    return NULL;
}

static bool remove_name(struct sql_names *names, struct weir_bytes name)
{
    struct sql_named *n = sql_names_find(names, name);

    for (struct sql_named **at = &names->first; n && *at; at = &(*at)->next) {
        if (*at == n) {
            *at = n->next;
            free_named(n);
            return true;
        }
    }
    return false;
}

/* Add a name that is not in the list, without a filter. NULL if out of memory. */
static struct sql_named *add_name(struct sql_names *names, struct weir_bytes name, const char *spec)
{
    struct sql_named *n = sqlite3_malloc64(sizeof *n);

    if (!n)
        return NULL;
    *n = (struct sql_named){.next = names->first,
                            .name = sql_copy(name.data, name.size),
                            .spec = sql_copy(spec, strlen(spec))};
    if (n->name && n->spec) {
        names->first = n;
        return n;
    }
    free_named(n);
    return NULL;
}

static bool refuse(struct weir_error *error, const char *why)
{
    snprintf(error->text, sizeof error->text, "%s", why);
    return false;
}

/* ---- weir_keep and weir_load ---- */

/* Give a set or filter a name. On failure the previous one is kept. */
static bool put(struct sql_names *names, struct weir_bytes name, struct sql_set *set,
                weir_filter *filter, struct weir_error *error)
{
    struct sql_named *n = sql_names_find(names, name);
    char config[WEIR_SPEC_MAX];

    if (!n && !(n = add_name(names, name, ""))) {
        if (set)
            sql_set_leave(set);
        weir_close(filter);
        return refuse(error, "out of memory");
    }
    if (n->set)
        sql_set_leave(n->set);
    weir_close(n->filter);
    n->set = set;
    n->filter = filter;
    if (filter) {
        weir_config(filter, config, sizeof config);
        note_time(n, config);
    }
    return true;
}

static bool keep(struct sql_names *names, struct weir_bytes name, struct weir_bytes blob,
                 bool keys_differ, struct weir_error *error)
{
    const struct sql_named *n = sql_names_find(names, name);
    struct sql_set *set;

    if (n && n->filter)
        return refuse(error, "weir_observe() uses this name; choose another, or close that filter "
                             "with weir_drop()");
    if (n && n->set && sql_set_is(n->set, blob))
        return true;
    set = sql_set_open(blob, keys_differ, error);
    return set && put(names, name, set, NULL, error);
}

/* A file can be observed further if it contains one filter that records keys used as given. */
static weir_filter *load_observable(struct weir_bytes file)
{
    uint64_t traits = 0;
    char config[WEIR_SPEC_MAX];
    weir_filter *w = NULL;
    struct weir_error error;
    struct weir_part part;
    const uint8_t *at = file.data;

    if (!sql_keys_as_given(file, &error))
        return NULL;
    for (size_t left = file.size; left > 0; at += part.size, left -= part.size) {
        if (weir_part_head(at, left, &part, sizeof part, &error) != WEIR_OK)
            return NULL;
        if (part.kind != WEIR_PART_FILTER)
            continue;
        if (weir_load_buffer(&w, at, left, NULL, NULL, &error) != WEIR_OK)
            return NULL;
        weir_config(w, config, sizeof config);
        if (weir_spec_traits(WEIR_KIND_FILTER, config, &traits, NULL) == WEIR_OK &&
            traits & WEIR_CAN_OBSERVE)
            return w;
        weir_close(w);
        return NULL;
    }
    return NULL;
}

/* Read a whole file; freed by free(). False with a message. */
static bool read_file(const char *path, struct weir_bytes *out, struct weir_error *error)
{
    FILE *file = fopen(path, "rbe");
    char *data = NULL;
    size_t size = 0, room = 0, got = 1;

    while (file && got > 0) {
        if (size == room) {
            char *more = realloc(data, room = room ? 2 * room : 65536);

            if (!more)
                break;
            data = more;
        }
        got = fread(data + size, 1, room - size, file);
        size += got;
    }
    *out = (struct weir_bytes){data, size};
    if (file && got == 0 && !ferror(file)) {
        fclose(file);
        return true;
    }
    snprintf(error->text, sizeof error->text, "%.200s: %s; check the path", path,
             file && !ferror(file) ? "out of memory" : strerror(errno));
    if (file)
        fclose(file);
    free(data);
    return false;
}

static bool load(struct sql_names *names, struct weir_bytes name, const char *path,
                 bool keys_differ, struct weir_error *error)
{
    struct weir_bytes file;
    struct sql_set *set;
    weir_filter *filter;

    if (!read_file(path, &file, error))
        return false;
    set = sql_set_open(file, keys_differ, error); /* verifies it */
    filter = set ? load_observable(file) : NULL;
    free((void *)file.data);
    if (filter)
        sql_set_leave(set);
    return set && put(names, name, filter ? NULL : set, filter, error);
}

/* Read (name, value [, 'keys-differ']). False with an error, or if the value is NULL. */
static bool read_name(sqlite3_context *context, const char *function, int n, sqlite3_value **values,
                      struct weir_bytes *name, bool *keys_differ)
{
    *keys_differ = n == 3 && sqlite3_value_type(values[2]) == SQLITE_TEXT &&
                   sqlite3_stricmp((const char *)sqlite3_value_text(values[2]), "keys-differ") == 0;
    if (n > 1 && sqlite3_value_type(values[1]) == SQLITE_NULL)
        return false;
    if (sqlite3_value_type(values[0]) != SQLITE_TEXT)
        sql_fail(context, function, "the name is not text; use a word, such as 'visits'");
    else if (n == 3 && !*keys_differ)
        sql_fail(context, function,
                 "the third argument is unknown; use 'keys-differ' or leave it out");
    else if (sql_key(context, values[0], name)) {
        if (!memchr(name->data, '\0', name->size))
            return true;
        sql_fail(context, function, "the name contains a NUL; remove it");
    }
    return false;
}

static void keep_blob(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct weir_error error;
    struct weir_bytes name, blob;
    bool differ;

    if (!read_name(context, "weir_keep", n, values, &name, &differ))
        return;
    if (sqlite3_value_type(values[1]) != SQLITE_BLOB)
        sql_fail(context, "weir_keep",
                 "the filter is not a blob; use weir_agg(), or weir_load(name, path) for a file");
    else if (sql_key(context, values[1], &blob)) {
        if (keep(sqlite3_user_data(context), name, blob, differ, &error))
            sqlite3_result_value(context, values[0]);
        else
            sql_fail(context, "weir_keep", error.text);
    }
}

static void load_file(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct weir_error error;
    struct weir_bytes name;
    const char *path;
    bool differ;

    if (!read_name(context, "weir_load", n, values, &name, &differ))
        return;
    path = sql_spec(values[1]);
    if (!path)
        sql_fail(context, "weir_load", "the path is not text; use 'FILE'");
    else if (load(sqlite3_user_data(context), name, path, differ, &error))
        sqlite3_result_value(context, values[0]);
    else
        sql_fail(context, "weir_load", error.text);
}

static void save_file(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct weir_error error;
    struct weir_bytes name;
    const struct sql_named *found;
    const char *path;
    bool differ;

    if (!read_name(context, "weir_save", n, values, &name, &differ))
        return;
    path = sql_spec(values[1]);
    found = sql_names_find(sqlite3_user_data(context), name);
    if (!path)
        sql_fail(context, "weir_save", "the path is not text; use 'FILE'");
    else if (!found || !found->filter)
        sql_fail(context, "weir_save",
                 "no filter of weir_observe() has this name; write blobs with writefile()");
    else if (weir_save_file(found->filter, path, &error) != WEIR_OK)
        sql_fail(context, "weir_save", error.text);
    else
        sqlite3_result_int64(context, (sqlite3_int64)weir_saved_size(found->filter));
}

static void drop_name(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct weir_bytes name;
    bool differ;

    if (read_name(context, "weir_drop", n, values, &name, &differ))
        sqlite3_result_int(context, remove_name(sqlite3_user_data(context), name));
}

/* ---- weir_observe ---- */

/* The first argument: a name, a spec, or both. */
struct named_spec {
    struct weir_bytes name;
    const char *spec;  /* NULL if there is only a name */
    bool is_temporary; /* there is only a spec */
};

static struct named_spec split_argument(const char *text)
{
    size_t word = strcspn(text, " \t\r\n=:");

    if (word > 0 && text[word] == ':')
        return (struct named_spec){{text, word}, text + word + 1, false};
    if (word > 0 && !text[word] && !weir_find_algorithm(WEIR_KIND_FILTER, text))
        return (struct named_spec){{text, word}, NULL, false};
    return (struct named_spec){{text, strlen(text)}, text, true};
}

/* The unnamed filters of the running statement. NULL if out of memory. */
static struct sql_names *names_of_statement(sqlite3_context *context)
{
    struct sql_names *names = sqlite3_get_auxdata(context, OF_THE_STATEMENT);

    if (names)
        return names;
    names = sql_names_new();
    if (names)
        sqlite3_set_auxdata(context, OF_THE_STATEMENT, names, sql_names_leave);
    return sqlite3_get_auxdata(context, OF_THE_STATEMENT);
}

static struct sql_named *open_one(struct sql_names *names, struct named_spec w,
                                  struct weir_error *error)
{
    const char *spec = w.spec ? w.spec : "";
    weir_filter *filter;
    struct sql_named *n;
    uint64_t traits;

    if (weir_spec_traits(WEIR_KIND_FILTER, spec, &traits, error) != WEIR_OK)
        return NULL;
    if (!(traits & WEIR_CAN_OBSERVE)) {
        refuse(error, "this filter cannot be changed after it is built; build it with weir_agg()");
        return NULL;
    }
    if (weir_open(&filter, spec, error) != WEIR_OK)
        return NULL;
    n = add_name(names, w.name, spec);
    if (!n) {
        weir_close(filter);
        refuse(error, "out of memory");
        return NULL;
    }
    n->filter = filter;
    note_time(n, spec);
    return n;
}

static struct sql_named *find_or_open(sqlite3_context *context, const char *text,
                                      struct weir_error *error)
{
    struct named_spec w = split_argument(text);
    struct sql_names *names =
        w.is_temporary ? names_of_statement(context) : sqlite3_user_data(context);
    struct sql_named *n = names ? sql_names_find(names, w.name) : NULL;

    if (!names)
        refuse(error, "out of memory");
    else if (!n)
        return open_one(names, w, error);
    else if (n->set)
        refuse(error, "the filter of this name cannot be changed; choose another name");
    else if (w.spec && strcmp(w.spec, n->spec) != 0)
        refuse(error, "a filter of this name is open with another spec; leave the spec out, choose "
                      "another name, or close the filter with weir_drop()");
    else
        return n;
    return NULL;
}

/* Advance the filter to a time in seconds since 1970. False with a message. */
static bool advance(const struct sql_named *n, sqlite3_value *time_value, struct weir_error *error)
{
    int type = sqlite3_value_type(time_value);
    double seconds = sqlite3_value_double(time_value);

    if (!n->has_time)
        return refuse(error,
                      "the third argument is a time, which this filter does not use; add span= "
                      "or ttl= to its spec, or use weir_key(a, b) for several columns");
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
        return refuse(error, "the time is not a number; use seconds since 1970: unixepoch(column)");
    if (seconds < 0 || seconds > (double)time(NULL) + DAY)
        return refuse(error, "the time is before 1970 or more than a day ahead; use seconds since "
                             "1970");
    weir_advance(n->filter, (uint64_t)llround(seconds * 1000));
    return true;
}

/* Read a TTL in seconds, NULL: the longest, into milliseconds. False with a message. */
static bool read_ttl(const struct sql_named *n, sqlite3_value *value, uint64_t *ttl,
                     struct weir_error *error)
{
    int type = sqlite3_value_type(value);
    double seconds = sqlite3_value_double(value);

    *ttl = WEIR_TTL_LONGEST;
    if (!n->has_ttl)
        return refuse(error, "the fourth argument is a TTL, which this filter does not use; add a "
                             "range of TTLs to its spec, for example ttl=1m-2h");
    if (type == SQLITE_NULL)
        return true;
    if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || !(seconds >= 0))
        return refuse(error, "the TTL is not a number of seconds from 0 on; use seconds, or NULL "
                             "for the longest TTL");
    if (seconds < TTL_MAX)
        *ttl = (uint64_t)llround(seconds * 1000);
    return true;
}

static void observe(sqlite3_context *context, int n, sqlite3_value **values)
{
    static const char name[] = "weir_observe";
    const char *text = sql_spec(values[0]);
    uint64_t ttl = WEIR_TTL_LONGEST;
    struct weir_error error;
    struct weir_bytes bytes;
    const struct sql_named *found;
    uint8_t seen;

    if (!text) {
        sql_fail(
            context, name,
            "the name is NULL or not text; use a name or a spec, for example 'recent memory=16M'");
        return;
    }
    found = find_or_open(context, text, &error);
    if (!found) {
        sql_fail(context, name, error.text);
        return;
    }
    if (n == 2 && found->has_time) {
        sql_fail(context, name,
                 found->has_ttl
                     ? "ttl= needs times; add them as third argument: unixepoch(column)"
                     : "span= needs times; add them as third argument: unixepoch(column), or use "
                       "window=");
        return;
    }
    if ((n > 2 && sqlite3_value_type(values[2]) == SQLITE_NULL) ||
        !sql_key(context, values[1], &bytes))
        return;
    if ((n > 3 && !read_ttl(found, values[3], &ttl, &error)) ||
        (n > 2 && !advance(found, values[2], &error))) {
        sql_fail(context, name, error.text);
        return;
    }
    struct weir_key key = weir_hash(found->filter, bytes.data, bytes.size);
    weir_observe_many_ttl(found->filter, &key, NULL, &ttl, 1, &seen);
    sqlite3_result_int(context, seen == WEIR_SEEN);
}

int sql_add_names(sqlite3 *db, struct sql_names *names)
{
    static const struct {
        const char *name;
        int arguments;
        void (*call)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        {"weir_observe", 2, observe}, {"weir_observe", 3, observe}, {"weir_observe", 4, observe},
        {"weir_keep", 2, keep_blob},  {"weir_keep", 3, keep_blob},  {"weir_load", 2, load_file},
        {"weir_load", 3, load_file},  {"weir_save", 2, save_file},  {"weir_drop", 1, drop_name},
    };
    int status = SQLITE_OK;

    for (size_t i = 0; i < sizeof functions / sizeof functions[0] && status == SQLITE_OK; i++)
        status = sqlite3_create_function_v2(db, functions[i].name, functions[i].arguments,
                                            SQLITE_UTF8 | SQLITE_DIRECTONLY, sql_names_share(names),
                                            functions[i].call, NULL, NULL, sql_names_leave);
    return status;
}
