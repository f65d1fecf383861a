/* sql.h - what the files of weirsql.so share: values of SQL as keys, errors as SQLite has them,
 * and a call for each function that a connection gets. */
#ifndef SQL_H
#define SQL_H

#include <sqlite3ext.h>
#include <stdint.h>
#include <weir/saved.h>

/* A value as a key: text as its UTF-8 bytes, a blob as it is, a number as the text that SQLite
 * prints for it. False for NULL, which is no key; also, after an error, if memory is short. The
 * bytes are the value's own: they last as long as it does. */
bool sql_key(sqlite3_context *context, sqlite3_value *value, struct weir_bytes *key);

/* End the call with an error: "NAME: why". */
void sql_fail(sqlite3_context *context, const char *name, const char *why);

/* The text of a filter spec: NULL if the value is no text, or has a byte NUL, behind which nothing
 * would be read. */
const char *sql_spec(sqlite3_value *value);

/* What keeps text of its own: a copy that sqlite3_free() frees, NULL if memory is short. */
char *sql_copy(const char *text, size_t size);

/* ---- sql_set.c: a filter out of a blob, ready to be asked ----
 *
 * A blob is copied, checked to its last byte and viewed (weir/saved.h) once; after that it is known
 * again by its content. */

/* Is shared by the connection and the statements that ask it: counted, not freed. */
struct sql_set;

/* The set of a blob of these bytes; NULL with a message if they are no filter, or its keys were
 * not used as given (--ignore-case, several fields) and that is to matter. It counts one user. */
struct sql_set *sql_set_open(struct weir_bytes blob, bool keys_differ, struct weir_error *error);

/* One user more, and one less. */
struct sql_set *sql_set_share(struct sql_set *set);
void sql_set_leave(void *any);

/* Are these bytes those that it was made of? All of them are compared. */
bool sql_set_is(const struct sql_set *set, struct weir_bytes blob);

/* The same for bytes that were compared before and may have been replaced in the same place: only
 * those which differ between any two files are looked at, the heads and the checksums. */
bool sql_set_is_still(const struct sql_set *set, struct weir_bytes blob);

bool sql_set_has(const struct sql_set *set, struct weir_bytes key);

/* Of one connection, shared by its functions: counted, not freed. */
struct sql_names;

/* ---- sql_names.c: the filters of a connection, by name ----
 *
 * Those of weir_observe(), and those from blobs (weir_keep()). They last until the connection is
 * closed. */

/* A filter with a name: `filter` of weir_observe(), or `set` of weir_keep(); the other is NULL. */
struct sql_named {
    struct sql_named *next;
    char *name; /* or the spec if it has no name */
    char *spec; /* as passed, or "" */
    weir_filter *filter;
    struct sql_set *set;
};

/* None yet, and one user; NULL if memory is short. */
struct sql_names *sql_names_new(void);
struct sql_names *sql_names_share(struct sql_names *names);
void sql_names_leave(void *any);

struct sql_named *sql_names_find(const struct sql_names *names, struct weir_bytes name);

/* ---- the functions ---- */

/* Each makes its function known to a connection; SQLITE_OK, or what SQLite says. */
int sql_add_agg(sqlite3 *db);
int sql_add_has(sqlite3 *db, struct sql_names *names);
int sql_add_keep(sqlite3 *db, struct sql_names *names);
int sql_add_observe(sqlite3 *db, struct sql_names *names);
int sql_add_top(sqlite3 *db);

#endif
