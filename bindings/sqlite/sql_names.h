/* sql_names.h - the filters of a connection, by name: those of weir_observe(), and those from blobs
 * (weir_keep()). They last until the connection is closed. */
#ifndef SQL_NAMES_H
#define SQL_NAMES_H

#include "sql_set.h"

/* A filter with a name: `filter` of weir_observe(), or `set` of weir_keep(); the other is NULL. */
struct sql_named {
    struct sql_named *next;
    char *name; /* or the spec if it has no name */
    char *spec; /* as passed, or "" */
    weir_filter *filter;
    struct sql_set *set;
};

/* Of one connection, shared by its functions: counted, not freed. */
struct sql_names {
    unsigned users;
    struct sql_named *first;
};

/* None yet, and one user; NULL if memory is short. */
struct sql_names *sql_names_new(void);
struct sql_names *sql_names_share(struct sql_names *names);
void sql_names_leave(void *any);

struct sql_named *sql_names_find(const struct sql_names *names, struct weir_bytes name);

/* A name that is not there yet, with nothing behind it; NULL if memory is short. */
struct sql_named *sql_names_add(struct sql_names *names, struct weir_bytes name, const char *spec);

/* Take back the one that was added last. */
void sql_names_drop_first(struct sql_names *names);

#endif
