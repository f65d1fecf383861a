/* sql.h - what the files of weirsql.so share: values of SQL as keys, errors as SQLite has them,
 * and a call for each function that a connection gets. */
#ifndef SQL_H
#define SQL_H

#include <sqlite3ext.h>
#include <weir.h>

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

/* Each makes its function known to a connection; SQLITE_OK, or what SQLite says. */
struct sql_names;
int sql_add_agg(sqlite3 *db);
int sql_add_has(sqlite3 *db, struct sql_names *names);
int sql_add_keep(sqlite3 *db, struct sql_names *names);
int sql_add_observe(sqlite3 *db, struct sql_names *names);
int sql_add_top(sqlite3 *db);

#endif
