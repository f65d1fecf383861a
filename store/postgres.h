/* postgres.h - a connection to PostgreSQL that never waits longer than the deadline of its attempt.
 */
#ifndef WEIR_STORE_POSTGRES_H
#define WEIR_STORE_POSTGRES_H

#include <libpq-fe.h>

#include "backend.h"

#define SQL_MAX 2048

/* OIDs of built-in types. */
enum { BYTEA = 17, TEXT = 25, INET = 869, VARCHAR = 1043, BYTEA_ARRAY = 1001, TEXT_ARRAY = 1009 };

struct postgres {
    char *address;                /* without the parameters of weir */
    struct background *beginning; /* a connection in progress */
    PGconn *connection;
    char *schema; /* or NULL */
    char *table;
    const char *column;
    char from[SQL_MAX], key[SQL_MAX]; /* quoted */
    bool binary, utf8;
    bool cast;            /* the column is compared by its text */
    bool indexed, unique; /* it has an index, on it alone and of unique keys */
    bool tuned;           /* pg_tune() was done */
    bool unreadable;      /* a key of the latest queries is invalid in the server's encoding */
    struct key_index index;
    const struct weir_bytes *keys; /* of the batch */
    char *array;                   /* of a query */
    size_t room;
};

/* Parse the address. False after store_fail(). */
bool pg_address(struct store *store);
bool pg_knows(const char *parameter); /* a parameter of libpq? */

/* Connect, get the type of the column, and prepare the query. */
enum outcome pg_connect(struct store *store);
enum outcome pg_tune(struct store *store); /* for answers; once per connection */
void pg_disconnect(struct store *store);

/* Send, and wait until PQgetResult() does not block. */
enum outcome pg_pump(struct store *store);

/* One statement and its one result, binary; NULL after a failure. */
PGresult *pg_query(struct store *store, const char *sql, enum outcome *outcome);

/* Record libpq's message about the connection, or about a result. */
enum outcome pg_fail(struct store *store, enum outcome outcome);
enum outcome pg_fail_result(struct store *store, const PGresult *r);

#endif
