/* sql_set.h - a filter out of a blob, ready to be asked, and the few of them that a connection
 * keeps.
 *
 * A blob is copied, checked to its last byte and viewed (weir/saved.h) once; after that it is known
 * again by its content. */
#ifndef SQL_SET_H
#define SQL_SET_H

#include <stdint.h>
#include <weir/saved.h>

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

#endif
