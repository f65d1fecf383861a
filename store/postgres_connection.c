/* postgres_connection.c - see postgres.h. All waiting is poll() with the deadline of the attempt. A
 * connection that fails is closed; the next attempt opens a new one.
 *
 * Messages of libpq pass through store_fail(), which hides secrets, also those that libpq found in
 * ~/.pgpass or the environment. Its message about an invalid address is not repeated. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "postgres.h"

/* ---- waiting ---- */

enum outcome pg_fail(struct store *store, enum outcome outcome)
{
    struct postgres *p = store->own;
    const char *text = p->connection ? PQerrorMessage(p->connection) : "out of memory";

    return store_fail(store, outcome, "%s", *text ? text : "the connection was lost");
}

/* Transient error classes: connections, resources, shutdown, the system. */
enum outcome pg_fail_result(struct store *store, const PGresult *r)
{
    const char *state = r ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;
    const char *text = r ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    bool passes = !state || strncmp(state, "08", 2) == 0 || strncmp(state, "53", 2) == 0 ||
                  strncmp(state, "57", 2) == 0 || strncmp(state, "58", 2) == 0 ||
                  strncmp(state, "40", 2) == 0 || strncmp(state, "25", 2) == 0;

    if (!text)
        return pg_fail(store, STORE_AGAIN);
    return store_fail(store, passes ? STORE_AGAIN : STORE_REFUSED, "%s", text);
}

enum outcome pg_pump(struct store *store)
{
    PGconn *c = ((struct postgres *)store->own)->connection;

    for (;;) {
        int unsent = PQflush(c);

        if (unsent < 0)
            return pg_fail(store, STORE_AGAIN);
        if (!PQisBusy(c))
            return STORE_OK;
        int events = store_wait(store, PQsocket(c), POLLIN | (unsent ? POLLOUT : 0));
        if (!events)
            return STORE_AGAIN;
        if ((events & ~POLLOUT) && !PQconsumeInput(c))
            return pg_fail(store, STORE_AGAIN);
    }
}

/* The result of one statement; NULL after a failure. */
static PGresult *one_result(struct store *store, bool sent, enum outcome *outcome)
{
    PGconn *c = ((struct postgres *)store->own)->connection;
    PGresult *result = NULL, *next;

    *outcome = sent ? pg_pump(store) : pg_fail(store, STORE_AGAIN);
    while (*outcome == STORE_OK && (next = PQgetResult(c))) {
        PQclear(result);
        result = next;
        *outcome = pg_pump(store);
    }
    if (*outcome == STORE_OK && PQresultStatus(result) != PGRES_TUPLES_OK &&
        PQresultStatus(result) != PGRES_COMMAND_OK)
        *outcome = pg_fail_result(store, result);
    if (*outcome == STORE_OK)
        return result;
    PQclear(result);
    return NULL;
}

PGresult *pg_query(struct store *store, const char *sql, enum outcome *outcome)
{
    PGconn *c = ((struct postgres *)store->own)->connection;

    return one_result(store, PQsendQueryParams(c, sql, 0, NULL, NULL, NULL, NULL, 1), outcome);
}

static enum outcome command(struct store *store, const char *sql)
{
    enum outcome outcome;

    PQclear(pg_query(store, sql, &outcome));
    return outcome;
}

/* ---- the address ---- */

bool pg_knows(const char *name)
{
    PQconninfoOption *all = PQconndefaults();
    bool found = false;

    for (PQconninfoOption *at = all; at && at->keyword && !found; at++)
        found = strcmp(at->keyword, name) == 0 || strcmp(name, "ssl") == 0;
    PQconninfoFree(all);
    return found;
}

/* The URL with only the parameters of libpq. */
static bool make_address(struct store *store, struct postgres *p)
{
    const struct url *u = &store->url;
    size_t room = strlen(u->place) + 32;
    PQconninfoOption *parsed;
    int n;

    for (int i = 0; i < u->parameters; i++)
        room += strlen(u->parameter[i].name) + strlen(u->parameter[i].raw) + 2;
    p->address = malloc(room);
    if (!p->address)
        return store_refuse(store, "out of memory");
    n = snprintf(p->address, room, "postgres:%s", u->place);
    for (int i = 0, used = 0; i < u->parameters; i++)
        if (pg_knows(u->parameter[i].name))
            n += snprintf(p->address + n, room - (size_t)n, "%c%s=%s", used++ ? '&' : '?',
                          u->parameter[i].name, u->parameter[i].raw);
    parsed = PQconninfoParse(p->address, NULL); /* its message may contain the password */
    PQconninfoFree(parsed);
    if (!parsed)
        return store_refuse(store, "invalid address of PostgreSQL; expected %s",
                            store->backend->form);
    return true;
}

/* "schema.table"; a dot within a name is written %2E. */
static bool split_table(struct store *store, struct postgres *p)
{
    const char *raw = url_raw(&store->url, "table");
    const char *dot = raw ? strchr(raw, '.') : NULL;

    p->column = url_value(&store->url, "column");
    if (!raw || !*raw || !p->column || !*p->column)
        return store_refuse(store, "no table or column; expected %s", store->backend->form);
    if (dot)
        p->schema = percent_decode(raw, (size_t)(dot - raw));
    p->table = percent_decode(dot ? dot + 1 : raw, strlen(dot ? dot + 1 : raw));
    if (!p->table || (dot && !p->schema))
        return store_refuse(store, "out of memory");
    return true;
}

bool pg_address(struct store *store)
{
    return make_address(store, store->own) && split_table(store, store->own);
}

/* ---- connecting ---- */

/* Quote the names: "a"."b". */
static bool quote(PGconn *c, const char *first, const char *second, char out[SQL_MAX])
{
    char *a = first ? PQescapeIdentifier(c, first, strlen(first)) : NULL;
    char *b = PQescapeIdentifier(c, second, strlen(second));
    int n = b && (a || !first) ? snprintf(out, SQL_MAX, "%s%s%s", a ? a : "", a ? "." : "", b) : -1;

    PQfreemem(a);
    PQfreemem(b);
    return n >= 0 && n < SQL_MAX;
}

/* Warnings of the server are not printed. */
static void ignore(void *context, const char *message)
{
    (void)context, (void)message;
}

/* Start connecting; libpq resolves host names here. */
static void *begin(const char *address)
{
    const char *names[] = {"fallback_application_name", "dbname", NULL};
    const char *values[] = {"weir", address, NULL};

    return PQconnectStartParams(names, values, 1);
}

static void discard(void *connection)
{
    PQfinish(connection);
}

static enum outcome begin_in_time(struct store *store)
{
    struct postgres *p = store->own;
    void *connection;

    if (!p->beginning)
        p->beginning = background_start(begin, discard, p->address);
    if (!p->beginning)
        return store_fail(store, STORE_AGAIN, "out of memory");
    if (!background_wait(store, &p->beginning, &connection))
        return STORE_AGAIN;
    p->connection = connection;
    if (p->connection && !secrets_add(&store->url.secrets, PQpass(p->connection), A_PASSWORD))
        return store_fail(store, STORE_AGAIN, "out of memory");
    if (!p->connection || PQstatus(p->connection) == CONNECTION_BAD)
        return pg_fail(store, STORE_AGAIN);
    return STORE_OK;
}

/* Permanent failures to connect. Before PostgreSQL 17 libpq has no error code for them, only text.
 */
static bool says_no(const char *text)
{
    return strstr(text, "no password supplied") ||
           (strstr(text, "FATAL:") && !strstr(text, "starting up") &&
            !strstr(text, "shutting down") && !strstr(text, "recovery") &&
            !strstr(text, "too many"));
}

static enum outcome reach(struct store *store)
{
    struct postgres *p = store->own;
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    enum outcome outcome = begin_in_time(store);

    if (outcome != STORE_OK)
        return outcome;
    PQsetNoticeProcessor(p->connection, ignore, NULL);
    while (status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED) {
        if (!store_wait(store, PQsocket(p->connection),
                        status == PGRES_POLLING_READING ? POLLIN : POLLOUT))
            return STORE_AGAIN;
        status = PQconnectPoll(p->connection);
    }
    if (status == PGRES_POLLING_OK)
        return STORE_OK;
    return pg_fail(store, says_no(PQerrorMessage(p->connection)) ? STORE_REFUSED : STORE_AGAIN);
}

/* The type of the column determines the comparison. */
static enum outcome learn_type(struct store *store)
{
    struct postgres *p = store->own;
    char sql[3 * SQL_MAX], plain[SQL_MAX];
    enum outcome outcome;
    PGresult *result;
    unsigned type;

    if (!quote(p->connection, p->schema, p->table, p->from) ||
        !quote(p->connection, NULL, p->column, plain))
        return store_fail(store, STORE_REFUSED, "invalid name of table or column");
    snprintf(sql, sizeof sql, "SELECT %s FROM %s LIMIT 0", plain, p->from);
    result = pg_query(store, sql, &outcome);
    if (!result)
        return outcome;
    type = PQftype(result, 0);
    PQclear(result);
    p->binary = type == BYTEA;
    p->cast = type != BYTEA && type != TEXT && type != VARCHAR;
    /* abbrev() omits the mask /32 of an inet */
    snprintf(p->key, sizeof p->key, "%s%.2000s%s", type == INET ? "abbrev(" : "", plain,
             type == INET ? ")"
             : p->cast    ? "::text"
                          : "");
    return STORE_OK;
}

/* Is there an index that starts with the column? Is it unique? */
static enum outcome learn_index(struct store *store)
{
    struct postgres *p = store->own;
    char sql[4 * SQL_MAX];
    char *table = PQescapeLiteral(p->connection, p->from, strlen(p->from));
    char *column = PQescapeLiteral(p->connection, p->column, strlen(p->column));
    enum outcome outcome = STORE_OK;
    PGresult *result = NULL;

    p->indexed = p->unique = false;
    if (table && column && !p->cast) {
        snprintf(sql, sizeof sql,
                 "SELECT (indisunique AND indnatts = 1)::text FROM pg_index JOIN pg_attribute ON "
                 "attrelid = indrelid AND attnum = indkey[0] WHERE indrelid = %s::regclass AND "
                 "attname = %s AND indisvalid AND indpred IS NULL",
                 table, column);
        result = pg_query(store, sql, &outcome);
    }
    for (int row = 0; result && row < PQntuples(result); row++) {
        p->indexed = true;
        p->unique |= *PQgetvalue(result, row, 0) == 't';
    }
    PQclear(result);
    PQfreemem(table);
    PQfreemem(column);
    return outcome;
}

/* Use the server's encoding, and get the type and index of the column. */
static enum outcome settle(struct store *store)
{
    struct postgres *p = store->own;
    const char *encoding = PQparameterStatus(p->connection, "server_encoding");
    char sql[3 * SQL_MAX];
    enum outcome outcome;

    p->utf8 = encoding && strcmp(encoding, "UTF8") == 0;
    if (encoding &&
        strspn(encoding, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
            strlen(encoding)) {
        snprintf(sql, sizeof sql, "SET client_encoding TO '%s'", encoding);
        if ((outcome = command(store, sql)) != STORE_OK)
            return outcome;
    }
    outcome = command(store, "SET default_transaction_read_only TO on");
    if (outcome == STORE_OK)
        outcome = learn_type(store);
    return outcome == STORE_OK ? learn_index(store) : outcome;
}

static enum outcome prepare(struct store *store)
{
    struct postgres *p = store->own;
    char sql[4 * SQL_MAX];
    Oid type = p->binary ? BYTEA_ARRAY : TEXT_ARRAY;
    enum outcome outcome;

    /* DISTINCT by bytes, also under a collation that treats different bytes as equal */
    snprintf(sql, sizeof sql, "SELECT %s %s%s FROM %s WHERE %s = ANY($1)",
             p->unique ? "" : "DISTINCT", p->key, p->unique || p->binary ? "" : " COLLATE \"C\"",
             p->from, p->key);
    PQclear(one_result(store, PQsendPrepare(p->connection, "weir", sql, 1, &type), &outcome));
    p->tuned = false;
    return outcome;
}

/* If the column has an index, use one generic plan with the index for all batches: planning takes
 * as long as the search. Without an index the server plans each batch. Settings that a server does
 * not have are skipped. */
enum outcome pg_tune(struct store *store)
{
    struct postgres *p = store->own;
    enum outcome outcome =
        p->indexed
            ? command(store, "SELECT set_config(name, CASE name WHEN 'enable_seqscan' THEN 'off' "
                             "ELSE 'force_generic_plan' END, false) FROM pg_settings WHERE name "
                             "IN ('enable_seqscan', 'plan_cache_mode')")
            : STORE_OK;

    p->tuned = outcome == STORE_OK;
    return outcome;
}

enum outcome pg_connect(struct store *store)
{
    struct postgres *p = store->own;
    enum outcome outcome;

    if (p->connection)
        return STORE_OK;
    outcome = reach(store);
    if (outcome == STORE_OK && PQsetnonblocking(p->connection, 1) != 0)
        outcome = pg_fail(store, STORE_AGAIN);
    if (outcome == STORE_OK)
        outcome = settle(store);
    return outcome == STORE_OK ? prepare(store) : outcome;
}

void pg_disconnect(struct store *store)
{
    struct postgres *p = store->own;

    PQfinish(p->connection);
    p->connection = NULL;
}
