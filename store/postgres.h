/* postgres.h - a connection to PostgreSQL that never waits longer than its attempt
 * may take. */
#ifndef WEIR_STORE_POSTGRES_H
#define WEIR_STORE_POSTGRES_H

#include <libpq-fe.h>

#include "background.h"
#include "key_index.h"

#define SQL_MAX 2048

/* Types, as they are numbered in every PostgreSQL. */
enum { BYTEA = 17, TEXT = 25, INET = 869, VARCHAR = 1043, BYTEA_ARRAY = 1001, TEXT_ARRAY = 1009 };

struct postgres {
    char *address;                /* without our parameters */
    struct background *beginning; /* a connection that is not there yet */
    PGconn *connection;
    char *schema; /* or NULL */
    char *table;
    const char *column;
    char from[SQL_MAX], key[SQL_MAX]; /* quoted */
    bool binary, utf8;
    bool cast;            /* the column is compared by its text */
    bool indexed, unique; /* it has an index, on it alone and of unique keys */
    bool tuned;           /* pg_tune() was done */
    bool unreadable;      /* a key of the latest queries is no text in its encoding */
    struct key_index index;
    const struct weir_bytes *keys; /* of the batch */
    char *array;                   /* of a query */
    size_t room;
};

/* The parts of the address, from the URL. False after store_fail(). */
bool pg_address(struct store *store);
bool pg_knows(const char *parameter); /* is it one of libpq's? */

/* Connect, learn what the column is, and prepare the question. */
enum outcome pg_connect(struct store *store);
enum outcome pg_tune(struct store *store); /* for answers; once per connection */
void pg_disconnect(struct store *store);

/* Wait until PQgetResult() has something; meanwhile send what is to be sent. */
enum outcome pg_pump(struct store *store);

/* One statement and its one result, binary; NULL after a failure. */
PGresult *pg_query(struct store *store, const char *sql, enum outcome *outcome);

/* Note what libpq says of the connection, or of a result. */
enum outcome pg_fail(struct store *store, enum outcome outcome);
enum outcome pg_fail_result(struct store *store, const PGresult *r);

#endif
