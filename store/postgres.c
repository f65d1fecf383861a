/* postgres.c - postgres://HOST/DATABASE?table=T&column=C, a column of a table or view.
 *
 * A batch is one query, `column = ANY($1)`, or several if its keys are long. The server returns
 * keys, which are looked up in an index of the batch, so that a comparison that is not by bytes (a
 * collation that ignores case) adds no member. Columns of text and bytea are compared directly, any
 * other type by its text, which is fast only with an index on that text. Text contains no NUL and,
 * in a UTF-8 database, only UTF-8: other keys are not members, and are not sent.
 *
 * All waiting is poll() with the deadline of the attempt. A connection that fails is closed; the
 * next attempt opens a new one. Messages of libpq pass through store_fail(), which hides secrets,
 * also those that libpq found in ~/.pgpass or the environment. Its message about an invalid address
 * is not repeated. */
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"

#define QUERY_BYTES (1 << 20) /* max bytes of keys per query, except for one longer key */
#define MANY 10000000         /* above this an estimate is sufficient */
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
    bool tuned;           /* tune() was done */
    struct key_index index;
    const struct weir_bytes *keys; /* of the batch */
    char *array;                   /* of a query */
    size_t room;
};

/* ---- waiting ---- */

/* Record libpq's message about the connection. */
static enum outcome fail(struct store *store, enum outcome outcome)
{
    struct postgres *p = store->own;
    const char *text = p->connection ? PQerrorMessage(p->connection) : "out of memory";

    return store_fail(store, outcome, "%s", *text ? text : "the connection was lost");
}

/* The same about a result. Transient error classes: connections, resources, shutdown, the system.
 */
static enum outcome fail_result(struct store *store, const PGresult *r)
{
    const char *state = r ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;
    const char *text = r ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    bool passes = !state || strncmp(state, "08", 2) == 0 || strncmp(state, "53", 2) == 0 ||
                  strncmp(state, "57", 2) == 0 || strncmp(state, "58", 2) == 0 ||
                  strncmp(state, "40", 2) == 0 || strncmp(state, "25", 2) == 0;

    if (!text)
        return fail(store, STORE_AGAIN);
    return store_fail(store, passes ? STORE_AGAIN : STORE_REFUSED, "%s", text);
}

/* Send, and wait until PQgetResult() does not block. */
static enum outcome pump(struct store *store)
{
    PGconn *c = ((struct postgres *)store->own)->connection;

    for (;;) {
        int unsent = PQflush(c);

        if (unsent < 0)
            return fail(store, STORE_AGAIN);
        if (!PQisBusy(c))
            return STORE_OK;
        int events = store_wait(store, PQsocket(c), POLLIN | (unsent ? POLLOUT : 0));
        if (!events)
            return STORE_AGAIN;
        if ((events & ~POLLOUT) && !PQconsumeInput(c))
            return fail(store, STORE_AGAIN);
    }
}

/* The result of one statement, which may be an error of the server; NULL after a failure. */
static PGresult *take_result(struct store *store, bool sent, enum outcome *outcome)
{
    PGconn *c = ((struct postgres *)store->own)->connection;
    PGresult *result = NULL, *next;

    *outcome = sent ? pump(store) : fail(store, STORE_AGAIN);
    while (*outcome == STORE_OK && (next = PQgetResult(c))) {
        PQclear(result);
        result = next;
        *outcome = pump(store);
    }
    if (*outcome == STORE_OK)
        return result;
    PQclear(result);
    return NULL;
}

/* The same; NULL after an error, too. */
static PGresult *good_result(struct store *store, bool sent, enum outcome *outcome)
{
    PGresult *result = take_result(store, sent, outcome);

    if (*outcome == STORE_OK && PQresultStatus(result) != PGRES_TUPLES_OK &&
        PQresultStatus(result) != PGRES_COMMAND_OK)
        *outcome = fail_result(store, result);
    if (*outcome == STORE_OK)
        return result;
    PQclear(result);
    return NULL;
}

/* One statement and its one result, binary. */
static PGresult *query(struct store *store, const char *sql, enum outcome *outcome)
{
    PGconn *c = ((struct postgres *)store->own)->connection;

    return good_result(store, PQsendQueryParams(c, sql, 0, NULL, NULL, NULL, NULL, 1), outcome);
}

static enum outcome command(struct store *store, const char *sql)
{
    enum outcome outcome;

    PQclear(query(store, sql, &outcome));
    return outcome;
}

/* ---- the address ---- */

/* Is it a parameter of libpq? */
static bool is_libpq_parameter(const char *name)
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
        if (is_libpq_parameter(u->parameter[i].name))
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

static struct weir_bytes key_of(const void *context, uint64_t i)
{
    const struct postgres *p = context;

    return p->keys[i];
}

static bool open_url(struct store *store)
{
    struct postgres *p = store->own = calloc(1, sizeof *p);

    if (!p || !index_open(&p->index, 0, key_of, p))
        return store_refuse(store, "out of memory");
    return make_address(store, p) && split_table(store, p);
}

static void close_url(struct store *store)
{
    struct postgres *p = store->own;

    background_abandon(&p->beginning);
    index_close(&p->index);
    free(p->array);
    free(p->address);
    free(p->schema);
    free(p->table);
    free(p);
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
        return fail(store, STORE_AGAIN);
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
    return fail(store, says_no(PQerrorMessage(p->connection)) ? STORE_REFUSED : STORE_AGAIN);
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
    result = query(store, sql, &outcome);
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
        result = query(store, sql, &outcome);
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
    PQclear(good_result(store, PQsendPrepare(p->connection, "weir", sql, 1, &type), &outcome));
    p->tuned = false;
    return outcome;
}

/* If the column has an index, use one generic plan with the index for all batches: planning takes
 * as long as the search. Without an index the server plans each batch. Settings that a server does
 * not have are skipped. */
static enum outcome tune(struct store *store)
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

static enum outcome connect(struct store *store)
{
    struct postgres *p = store->own;
    enum outcome outcome;

    if (p->connection)
        return STORE_OK;
    outcome = reach(store);
    if (outcome == STORE_OK && PQsetnonblocking(p->connection, 1) != 0)
        outcome = fail(store, STORE_AGAIN);
    if (outcome == STORE_OK)
        outcome = settle(store);
    return outcome == STORE_OK ? prepare(store) : outcome;
}

static void disconnect(struct store *store)
{
    struct postgres *p = store->own;

    PQfinish(p->connection);
    p->connection = NULL;
}

/* ---- answering ---- */

/* Can the column contain the key? */
static bool possible(const struct postgres *p, struct weir_bytes key)
{
    const unsigned char *s = key.data;

    if (p->binary)
        return true;
    if (key.size && memchr(s, '\0', key.size))
        return false;
    for (size_t i = 0, n; p->utf8 && i < key.size; i += n)
        if (!(n = utf8_length(s + i, key.size - i)))
            return false;
    return true;
}

static char *put32(char *to, uint32_t n)
{
    unsigned char bytes[4] = {(unsigned char)(n >> 24), (unsigned char)(n >> 16),
                              (unsigned char)(n >> 8), (unsigned char)n};

    memcpy(to, bytes, 4);
    return to + 4;
}

/* Put some keys of the batch into p->array, in binary format: dimensions, has nulls, type, length,
 * lower bound, then length and bytes of each key that is possible. Returns its bytes; 0 if no key
 * is possible, -1 if out of memory. */
static int put_keys(struct postgres *p, size_t from, size_t to)
{
    size_t bytes = 20;
    uint32_t count = 0;
    char *at;

    for (size_t i = from; i < to; i++)
        if (possible(p, p->keys[i])) {
            bytes += 4 + p->keys[i].size;
            count++;
        }
    if (bytes > p->room) {
        free(p->array);
        p->array = malloc(bytes);
        p->room = p->array ? bytes : 0;
    }
    if (!p->array || bytes >= INT32_MAX)
        return -1;
    at = put32(put32(put32(put32(put32(p->array, 1), 0), p->binary ? BYTEA : TEXT), count), 1);
    for (size_t i = from; i < to; i++)
        if (possible(p, p->keys[i])) {
            at = put32(at, (uint32_t)p->keys[i].size);
            if (p->keys[i].size)
                memcpy(at, p->keys[i].data, p->keys[i].size);
            at += p->keys[i].size;
        }
    return count ? (int)bytes : 0;
}

static void mark(const struct postgres *p, const PGresult *r, uint8_t *answers)
{
    uint64_t i;

    for (int row = 0; row < PQntuples(r); row++) {
        struct weir_bytes key = {PQgetvalue(r, row, 0), (size_t)PQgetlength(r, row, 0)};

        if (index_find(&p->index, key, &i))
            answers[i] = WEIR_MEMBER;
    }
}

/* Is a key invalid in the server's encoding? */
static bool is_unreadable(const PGresult *r)
{
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);

    return state && strcmp(state, "22021") == 0;
}

/* One query. If it fails because of a key that is invalid in the server's encoding, its halves are
 * looked up, until that key is alone. It is not a member. */
static enum outcome look_up(struct store *store, size_t from, size_t to, uint8_t *answers)
{
    struct postgres *p = store->own;
    int bytes = put_keys(p, from, to);
    enum outcome outcome;
    PGresult *r;

    if (bytes <= 0)
        return bytes == 0 ? STORE_OK : store_fail(store, STORE_REFUSED, "out of memory");
    r = take_result(store,
                    PQsendQueryPrepared(p->connection, "weir", 1, (const char *const[]){p->array},
                                        (const int[]){bytes}, (const int[]){1}, 1),
                    &outcome);
    bool unreadable = outcome == STORE_OK && is_unreadable(r);
    if (outcome == STORE_OK && PQresultStatus(r) == PGRES_TUPLES_OK)
        mark(p, r, answers);
    else if (outcome == STORE_OK && !unreadable)
        outcome = fail_result(store, r);
    PQclear(r);
    store_extend(store);
    if (!unreadable || to - from == 1)
        return outcome;
    size_t middle = from + (to - from) / 2;
    outcome = look_up(store, from, middle, answers);
    return outcome == STORE_OK ? look_up(store, middle, to, answers) : outcome;
}

/* Keys without a row are not members, but only if all results arrived. */
static enum outcome answer(struct store *store, const struct weir_bytes *keys, size_t n,
                           uint8_t *answers)
{
    struct postgres *p = store->own;
    enum outcome outcome = p->tuned ? STORE_OK : tune(store);

    if (outcome != STORE_OK)
        return outcome;
    p->keys = keys;
    if (!index_reset(&p->index, n))
        return store_fail(store, STORE_REFUSED, "out of memory");
    for (size_t i = 0; i < n; i++)
        index_add(&p->index, i);
    for (size_t from = 0, to; from < n && outcome == STORE_OK; from = to) {
        size_t bytes = keys[from].size;

        for (to = from + 1; to < n && bytes < QUERY_BYTES; to++)
            bytes += keys[to].size;
        outcome = look_up(store, from, to, answers);
    }
    for (size_t i = 0; i < n && outcome == STORE_OK; i++)
        answers[i] = answers[i] == WEIR_MEMBER ? WEIR_MEMBER : WEIR_OTHER;
    return outcome;
}

/* ---- size and list ---- */

static enum outcome ask_number(struct store *store, const char *sql, double *number)
{
    enum outcome outcome;
    PGresult *r = query(store, sql, &outcome);
    char text[32] = "-1";

    if (r && PQntuples(r) == 1)
        snprintf(text, sizeof text, "%.*s", PQgetlength(r, 0, 0), PQgetvalue(r, 0, 0));
    PQclear(r);
    *number = strtod(text, NULL);
    return outcome;
}

/* Count the rows, unless the estimate of the last ANALYZE is large. */
static enum outcome size(struct store *store, uint64_t *keys)
{
    struct postgres *p = store->own;
    char sql[4 * SQL_MAX];
    char *name = PQescapeLiteral(p->connection, p->from, strlen(p->from));
    enum outcome outcome = name ? STORE_OK : fail(store, STORE_REFUSED);
    double number = -1;

    if (name) {
        snprintf(sql, sizeof sql,
                 "SELECT reltuples::bigint::text FROM pg_class WHERE oid = %s::regclass", name);
        outcome = ask_number(store, sql, &number);
    }
    PQfreemem(name);
    if (outcome == STORE_OK && number < MANY) {
        snprintf(sql, sizeof sql, "SELECT count(%s)::text FROM %s", p->key, p->from);
        outcome = ask_number(store, sql, &number);
    }
    *keys = number > 0 ? (uint64_t)number : 0;
    return outcome;
}

/* Row by row, in single-row mode. */
static enum outcome list(struct store *store, store_taker take, void *context)
{
    struct postgres *p = store->own;
    char sql[3 * SQL_MAX];
    enum outcome outcome;
    PGresult *r;

    snprintf(sql, sizeof sql, "SELECT %s FROM %s", p->key, p->from);
    if (!PQsendQueryParams(p->connection, sql, 0, NULL, NULL, NULL, NULL, 1) ||
        !PQsetSingleRowMode(p->connection))
        return fail(store, STORE_AGAIN);
    while ((outcome = pump(store)) == STORE_OK && (r = PQgetResult(p->connection))) {
        ExecStatusType status = PQresultStatus(r);

        if (status == PGRES_SINGLE_TUPLE && !PQgetisnull(r, 0, 0))
            take(context, &(struct weir_bytes){PQgetvalue(r, 0, 0), (size_t)PQgetlength(r, 0, 0)},
                 1);
        else if (status != PGRES_TUPLES_OK && status != PGRES_SINGLE_TUPLE)
            outcome = fail_result(store, r);
        PQclear(r);
        if (outcome != STORE_OK)
            return outcome;
        store_extend(store);
    }
    return outcome;
}

const char *postgres_library(void)
{
    static char text[32];
    int version = PQlibVersion();

    snprintf(text, sizeof text, "libpq %d.%d", version / 10000, version % 10000);
    return text;
}

/* Parameters of libpq that name the server and database are not secret. */
static const char *const parameters[] = {"table", "column", "host",    "hostaddr",
                                         "port",  "dbname", "service", NULL};

const struct backend backend_postgres = {.scheme = "postgres",
                                         .also = {"postgresql"},
                                         .form = "postgres://HOST/DATABASE?table=T&column=C",
                                         .network = true,
                                         .parameters = parameters,
                                         .knows = is_libpq_parameter,
                                         .open = open_url,
                                         .connect = connect,
                                         .disconnect = disconnect,
                                         .answer = answer,
                                         .size = size,
                                         .list = list,
                                         .close = close_url};
