/* sql.h - shared declarations of weirsql.so: values as keys, errors, sets from blobs, and the named
 * filters of a connection. */
#ifndef SQL_H
#define SQL_H

#include <sqlite3ext.h>
#include <stdint.h>
#include <weir/saved.h>
#include <weir/sketch.h>

/* Get a value as a key: text as UTF-8, a blob as it is, a number as the text that SQLite prints for
 * it. False for NULL, and with an error if out of memory. The bytes live as long as the value. */
bool sql_key(sqlite3_context *context, sqlite3_value *value, struct weir_bytes *key);

/* End the call with an error: "NAME: why". */
void sql_fail(sqlite3_context *context, const char *name, const char *why);

/* The text of a spec; NULL if the value is not text or contains a NUL. */
const char *sql_spec(sqlite3_value *value);

/* A terminated copy, freed by sqlite3_free(); NULL if out of memory. */
char *sql_copy(const char *text, size_t size);

/* Whether a sketch stores keys, and so can list them. */
bool sql_lists_keys(const weir_sketch *s);

/* Load the sketch in a blob, after any notes. NULL with a message. */
weir_sketch *sql_load_sketch(struct weir_bytes blob, struct weir_error *error);

/* Check that the keys of a saved filter were used as given. False with a message. */
bool sql_keys_as_given(struct weir_bytes blob, struct weir_error *error);

/* ---- sql_set.c: a filter in a blob, copied, verified and opened in place once ----
 *
 * Sets are reference-counted: the connection and its statements share them. */

struct sql_set;

/* Open the filter in a blob, of one or more shards, with one user. NULL with a message, also if its
 * keys were not used as given, unless keys_differ. */
struct sql_set *sql_set_open(struct weir_bytes blob, bool keys_differ, struct weir_error *error);

/* Add and remove a user. */
struct sql_set *sql_set_share(struct sql_set *set);
void sql_set_leave(void *any);

/* Whether a blob has the bytes of this set. Compares all bytes. */
bool sql_set_is(const struct sql_set *set, struct weir_bytes blob);

/* The same for a blob at the address of one that was compared before: compares only heads and
 * checksums, which differ between any two files. */
bool sql_set_is_still(const struct sql_set *set, struct weir_bytes blob);

bool sql_set_has(const struct sql_set *set, struct weir_bytes key);

/* Statistics of all shards; the completed spec of the first. */
struct weir_stats sql_set_stats(const struct sql_set *set);
void sql_set_config(const struct sql_set *set, char *spec, size_t size);

/* ---- sql_names.c: named filters of a connection or of a statement ---- */

/* A filter with a name: `filter` of weir_observe() or weir_load(), or `set` of weir_keep() or
 * weir_load(); the other is NULL. */
struct sql_named {
    struct sql_named *next;
    char *name;    /* or the spec of a filter without a name */
    char *spec;    /* as passed, or "" */
    bool has_time; /* span= or ttl= */
    bool has_ttl;
    weir_filter *filter;
    struct sql_set *set;
};

/* A list of them, reference-counted by the functions of a connection. */
struct sql_names;

struct sql_names *sql_names_new(void);
struct sql_names *sql_names_share(struct sql_names *names);
void sql_names_leave(void *any);

struct sql_named *sql_names_find(const struct sql_names *names, struct weir_bytes name);

/* ---- the functions: register them with a connection; return a code of SQLite ---- */

int sql_add_agg(sqlite3 *db);
int sql_add_has(sqlite3 *db, struct sql_names *names);
int sql_add_names(sqlite3 *db, struct sql_names *names);
int sql_add_top(sqlite3 *db);

#endif
