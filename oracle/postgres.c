/* postgres.c - postgres://HOST/DATABASE?table=T&column=C, a column of a table or
 * view of PostgreSQL.
 *
 * A batch goes out as several `column = ANY($1)` in one pipeline: the server
 * works on one while the next is on its way. All waiting is poll() with the
 * deadline of the attempt; a connection that fails is closed, and the next
 * attempt makes a new one.
 *
 * What comes back are keys, found in the batch by an index, so that a comparison
 * of the server that is not bytewise (a collation that ignores case) cannot make
 * a member of what is none. Columns of text and bytea are compared as they are;
 * of any other type by its text, which only an index on that text makes fast. A
 * text of PostgreSQL holds no NUL and, in a database of UTF-8, nothing but that:
 * other keys are no members, and are not asked for. */
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index.h"
#include "store.h"

#define CHUNK_KEYS 1024       /* in one query, and of at most so many bytes */
#define CHUNK_BYTES (1 << 20) /* unless one is longer */
#define LISTED 1024
#define SQL_MAX 2048
#define MANY 10000000 /* an estimate is good enough from here on */

/* Types, as they are numbered in every PostgreSQL. */
enum { BYTEA = 17, TEXT = 25, VARCHAR = 1043, BYTEA_ARRAY = 1001, TEXT_ARRAY = 1009 };

struct postgres {
    char *address; /* without our parameters */
    PGconn *connection;
    char *schema; /* or NULL */
    char *table;
    const char *column;
    char from[SQL_MAX], key[SQL_MAX]; /* quoted */
    bool binary, utf8;
    struct key_index index;
    const struct weir_bytes *keys; /* of the batch */
    char *array;                   /* of a query */
    size_t room;
};

/* ---- waiting ---- */

/* The message without its head, which every one of libpq's has. */
static enum outcome fail(struct oracle *o, enum outcome outcome)
{
    struct postgres *p = o->own;
    const char *text = p->connection ? PQerrorMessage(p->connection) : "memory is short";

    return oracle_fail(o, outcome, "%s", *text ? text : "the connection was lost");
}

/* Classes of errors that pass: connections, resources, shutdown, the system. */
static enum outcome fail_result(struct oracle *o, const PGresult *r)
{
    const char *state = r ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;
    const char *text = r ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    bool passes = !state || strncmp(state, "08", 2) == 0 || strncmp(state, "53", 2) == 0 ||
                  strncmp(state, "57", 2) == 0 || strncmp(state, "58", 2) == 0 ||
                  strncmp(state, "40", 2) == 0 || strncmp(state, "25", 2) == 0;

    if (!text)
        return fail(o, STORE_AGAIN);
    return oracle_fail(o, passes ? STORE_AGAIN : STORE_REFUSED, "%s", text);
}

/* Until the next result is there; meanwhile send what is to be sent. */
static enum outcome pump(struct oracle *o)
{
    PGconn *c = ((struct postgres *)o->own)->connection;

    for (;;) {
        int unsent = PQflush(c);

        if (unsent < 0)
            return fail(o, STORE_AGAIN);
        if (!PQisBusy(c))
            return STORE_OK;
        int events = oracle_wait(o, PQsocket(c), POLLIN | (unsent ? POLLOUT : 0));
        if (!events)
            return STORE_AGAIN;
        if ((events & ~POLLOUT) && !PQconsumeInput(c))
            return fail(o, STORE_AGAIN);
    }
}

/* Send a statement and get its one result, which is NULL after a failure. */
static PGresult *query(struct oracle *o, const char *sql, enum outcome *outcome)
{
    PGconn *c = ((struct postgres *)o->own)->connection;
    PGresult *result = NULL, *next;

    *outcome =
        PQsendQueryParams(c, sql, 0, NULL, NULL, NULL, NULL, 1) ? pump(o) : fail(o, STORE_AGAIN);
    while (*outcome == STORE_OK && (next = PQgetResult(c))) {
        PQclear(result);
        result = next;
        *outcome = pump(o);
    }
    if (*outcome == STORE_OK && PQresultStatus(result) != PGRES_TUPLES_OK &&
        PQresultStatus(result) != PGRES_COMMAND_OK)
        *outcome = fail_result(o, result);
    if (*outcome == STORE_OK)
        return result;
    PQclear(result);
    return NULL;
}

static enum outcome command(struct oracle *o, const char *sql)
{
    enum outcome outcome;

    PQclear(query(o, sql, &outcome));
    return outcome;
}

/* ---- the address ---- */

static bool is_libpq(const char *name)
{
    PQconninfoOption *all = PQconndefaults();
    bool found = false;

    for (PQconninfoOption *at = all; at && at->keyword && !found; at++)
        found = strcmp(at->keyword, name) == 0 || strcmp(name, "ssl") == 0;
    PQconninfoFree(all);
    return found;
}

/* The URL less what is not libpq's. */
static bool make_address(struct oracle *o, struct postgres *p)
{
    const struct url *u = &o->url;
    size_t room = strlen(u->place) + 32;
    PQconninfoOption *parsed;
    int n;

    for (int i = 0; i < u->parameters; i++)
        room += strlen(u->parameter[i].name) + strlen(u->parameter[i].raw) + 2;
    p->address = malloc(room);
    if (!p->address)
        return oracle_fail(o, STORE_REFUSED, "memory is short") == STORE_OK;
    n = snprintf(p->address, room, "postgres:%s", u->place);
    for (int i = 0, used = 0; i < u->parameters; i++)
        if (is_libpq(u->parameter[i].name))
            n += snprintf(p->address + n, room - (size_t)n, "%c%s=%s", used++ ? '&' : '?',
                          u->parameter[i].name, u->parameter[i].raw);
    parsed = PQconninfoParse(p->address, NULL); /* what it says may hold the password */
    PQconninfoFree(parsed);
    return parsed ||
           oracle_fail(o, STORE_REFUSED, "this is no address of PostgreSQL; its form is %s",
                       o->store->form) == STORE_OK;
}

/* "schema.table"; a dot that belongs to a name is written %2E. */
static bool split_table(struct oracle *o, struct postgres *p)
{
    const char *raw = url_raw(&o->url, "table");
    const char *dot = raw ? strchr(raw, '.') : NULL;

    p->column = url_value(&o->url, "column");
    if (!raw || !*raw || !p->column || !*p->column)
        return oracle_fail(o, STORE_REFUSED, "table and column are needed; its form is %s",
                           o->store->form) == STORE_OK;
    if (dot)
        p->schema = url_decode(raw, (size_t)(dot - raw));
    p->table = url_decode(dot ? dot + 1 : raw, strlen(dot ? dot + 1 : raw));
    return (p->table && (!dot || p->schema)) ||
           oracle_fail(o, STORE_REFUSED, "memory is short") == STORE_OK;
}

static struct weir_bytes key_of(const void *context, uint64_t i)
{
    const struct postgres *p = context;

    return p->keys[i];
}

static bool open_url(struct oracle *o)
{
    struct postgres *p = o->own = calloc(1, sizeof *p);

    if (!p || !index_open(&p->index, 0, key_of, p))
        return oracle_fail(o, STORE_REFUSED, "memory is short") == STORE_OK;
    return make_address(o, p) && split_table(o, p);
}

static void close_url(struct oracle *o)
{
    struct postgres *p = o->own;

    index_close(&p->index);
    free(p->array);
    free(p->address);
    free(p->schema);
    free(p->table);
    free(p);
}

/* ---- connecting ---- */

/* "a"."b", with whatever the names hold made harmless. */
static bool quote(PGconn *c, const char *first, const char *second, char out[SQL_MAX])
{
    char *a = first ? PQescapeIdentifier(c, first, strlen(first)) : NULL;
    char *b = PQescapeIdentifier(c, second, strlen(second));
    int n = b && (a || !first) ? snprintf(out, SQL_MAX, "%s%s%s", a ? a : "", a ? "." : "", b) : -1;

    PQfreemem(a);
    PQfreemem(b);
    return n >= 0 && n < SQL_MAX;
}

static enum outcome reach(struct oracle *o)
{
    struct postgres *p = o->own;
    const char *names[] = {"fallback_application_name", "dbname", NULL};
    const char *values[] = {"weir", p->address, NULL};
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;

    p->connection = PQconnectStartParams(names, values, 1);
    if (!p->connection || PQstatus(p->connection) == CONNECTION_BAD)
        return fail(o, STORE_AGAIN);
    while (status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED) {
        if (!oracle_wait(o, PQsocket(p->connection),
                         status == PGRES_POLLING_READING ? POLLIN : POLLOUT))
            return STORE_AGAIN;
        status = PQconnectPoll(p->connection);
    }
    if (status == PGRES_POLLING_OK)
        return STORE_OK;
    /* There is no code for it before PostgreSQL 17, only its words: those that
     * come from a server that is there and says no. */
    const char *text = PQerrorMessage(p->connection);
    bool refused = strstr(text, "FATAL:") && !strstr(text, "starting up") &&
                   !strstr(text, "shutting down") && !strstr(text, "recovery") &&
                   !strstr(text, "too many");
    return fail(o, refused || strstr(text, "no password supplied") ? STORE_REFUSED : STORE_AGAIN);
}

/* What type the column has decides how it is compared. */
static enum outcome learn_type(struct oracle *o)
{
    struct postgres *p = o->own;
    char sql[3 * SQL_MAX], plain[SQL_MAX];
    enum outcome outcome;
    PGresult *result;
    unsigned type;

    if (!quote(p->connection, p->schema, p->table, p->from) ||
        !quote(p->connection, NULL, p->column, plain))
        return oracle_fail(o, STORE_REFUSED, "table or column is no name that PostgreSQL can have");
    snprintf(sql, sizeof sql, "SELECT %s FROM %s LIMIT 0", plain, p->from);
    result = query(o, sql, &outcome);
    if (!result)
        return outcome;
    type = PQftype(result, 0);
    PQclear(result);
    p->binary = type == BYTEA;
    snprintf(p->key, sizeof p->key, "%.2000s%s", plain,
             type == BYTEA || type == TEXT || type == VARCHAR ? "" : "::text");
    return STORE_OK;
}

/* Answers and lists depend on nothing but the rows; the server's own words and
 * encoding as they are. */
static enum outcome settle(struct oracle *o)
{
    struct postgres *p = o->own;
    const char *encoding = PQparameterStatus(p->connection, "server_encoding");
    char sql[3 * SQL_MAX];
    enum outcome outcome;

    p->utf8 = encoding && strcmp(encoding, "UTF8") == 0;
    if (encoding &&
        strspn(encoding, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
            strlen(encoding)) {
        snprintf(sql, sizeof sql, "SET client_encoding TO '%s'", encoding);
        if ((outcome = command(o, sql)) != STORE_OK)
            return outcome;
    }
    outcome = command(o, "SET default_transaction_read_only TO on");
    return outcome == STORE_OK ? learn_type(o) : outcome;
}

static enum outcome prepare(struct oracle *o)
{
    struct postgres *p = o->own;
    char sql[4 * SQL_MAX];
    Oid type = p->binary ? BYTEA_ARRAY : TEXT_ARRAY;
    enum outcome outcome;
    PGresult *result;

    snprintf(sql, sizeof sql, "SELECT DISTINCT %s FROM %s WHERE %s = ANY($1)", p->key, p->from,
             p->key);
    if (!PQsendPrepare(p->connection, "weir", sql, 1, &type))
        return fail(o, STORE_AGAIN);
    outcome = pump(o);
    if (outcome != STORE_OK)
        return outcome;
    result = PQgetResult(p->connection);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        outcome = fail_result(o, result);
    PQclear(result);
    while (outcome == STORE_OK && (outcome = pump(o)) == STORE_OK &&
           (result = PQgetResult(p->connection)))
        PQclear(result);
    return outcome;
}

static enum outcome connect(struct oracle *o)
{
    struct postgres *p = o->own;
    enum outcome outcome;

    if (p->connection)
        return STORE_OK;
    outcome = reach(o);
    if (outcome == STORE_OK && PQsetnonblocking(p->connection, 1) != 0)
        outcome = fail(o, STORE_AGAIN);
    if (outcome == STORE_OK)
        outcome = settle(o);
    return outcome == STORE_OK ? prepare(o) : outcome;
}

static void disconnect(struct oracle *o)
{
    struct postgres *p = o->own;

    PQfinish(p->connection);
    p->connection = NULL;
}

/* ---- answering ---- */

static size_t utf8_length(const unsigned char *s, size_t left)
{
    size_t n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;

    if (n == 0 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (*s == 0xe0 && s[1] < 0xa0) || (*s == 0xf0 && s[1] < 0x90);
    bool beyond = (*s == 0xed && s[1] > 0x9f) || (*s == 0xf4 && s[1] > 0x8f);
    return overlong || beyond ? 0 : n;
}

/* Could a column hold it? */
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

/* From the first-th key on, as many as one query takes, as an array in the binary
 * form: dimensions, has nulls, type, length, lower bound, then length and bytes of
 * each. Returns the key after the last; sends nothing if none is possible. */
static size_t send_chunk(struct oracle *o, size_t first, size_t n, bool *sent)
{
    struct postgres *p = o->own;
    size_t bytes = 20, to = first;
    uint32_t count = 0;
    char *at;

    for (; to < n && count < CHUNK_KEYS && (count == 0 || bytes < CHUNK_BYTES); to++)
        if (possible(p, p->keys[to])) {
            bytes += 4 + p->keys[to].size;
            count++;
        }
    if (bytes > p->room) {
        free(p->array);
        p->array = malloc(bytes);
        p->room = p->array ? bytes : 0;
    }
    *sent = p->array && bytes < INT32_MAX;
    if (!*sent || count == 0)
        return to;
    at = put32(put32(put32(put32(put32(p->array, 1), 0), p->binary ? BYTEA : TEXT), count), 1);
    for (size_t i = first; i < to; i++)
        if (possible(p, p->keys[i])) {
            at = put32(at, (uint32_t)p->keys[i].size);
            if (p->keys[i].size)
                memcpy(at, p->keys[i].data, p->keys[i].size);
            at += p->keys[i].size;
        }
    *sent = PQsendQueryPrepared(p->connection, "weir", 1, (const char *const[]){p->array},
                                (const int[]){(int)bytes}, (const int[]){1}, 1);
    return to;
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

/* All results up to the end of the pipeline. */
static enum outcome collect(struct oracle *o, uint8_t *answers)
{
    struct postgres *p = o->own;

    for (;;) {
        enum outcome outcome = pump(o);
        PGresult *r = outcome == STORE_OK ? PQgetResult(p->connection) : NULL;
        ExecStatusType status = r ? PQresultStatus(r) : PGRES_EMPTY_QUERY;

        if (outcome == STORE_OK && status == PGRES_TUPLES_OK)
            mark(p, r, answers);
        else if (r && status != PGRES_PIPELINE_SYNC)
            outcome = fail_result(o, r);
        PQclear(r);
        if (outcome != STORE_OK || status == PGRES_PIPELINE_SYNC)
            return outcome;
    }
}

/* Members are known one by one, others only when all is in. */
static enum outcome answer(struct oracle *o, const struct weir_bytes *keys, size_t n,
                           uint8_t *answers)
{
    struct postgres *p = o->own;
    enum outcome outcome;
    bool sent = true;

    p->keys = keys;
    if (!index_reset(&p->index, n))
        return oracle_fail(o, STORE_REFUSED, "memory is short");
    for (size_t i = 0; i < n; i++)
        index_add(&p->index, i);
    if (!PQenterPipelineMode(p->connection))
        return fail(o, STORE_AGAIN);
    for (size_t i = 0; i < n && sent;)
        i = send_chunk(o, i, n, &sent);
    if (!sent || !PQpipelineSync(p->connection))
        return fail(o, STORE_AGAIN);
    outcome = collect(o, answers);
    if (outcome != STORE_OK)
        return outcome;
    for (size_t i = 0; i < n; i++)
        answers[i] = answers[i] == WEIR_MEMBER ? WEIR_MEMBER : WEIR_OTHER;
    return PQexitPipelineMode(p->connection) ? STORE_OK : fail(o, STORE_AGAIN);
}

/* ---- size and list ---- */

static enum outcome ask_number(struct oracle *o, const char *sql, double *number)
{
    enum outcome outcome;
    PGresult *r = query(o, sql, &outcome);
    char text[32] = "-1";

    if (r && PQntuples(r) == 1)
        snprintf(text, sizeof text, "%.*s", PQgetlength(r, 0, 0), PQgetvalue(r, 0, 0));
    PQclear(r);
    *number = strtod(text, NULL);
    return outcome;
}

/* What the last ANALYZE found tells whether counting would take long. */
static enum outcome size(struct oracle *o, uint64_t *keys)
{
    struct postgres *p = o->own;
    char sql[4 * SQL_MAX];
    char *name = PQescapeLiteral(p->connection, p->from, strlen(p->from));
    enum outcome outcome = name ? STORE_OK : fail(o, STORE_REFUSED);
    double number = -1;

    if (name) {
        snprintf(sql, sizeof sql,
                 "SELECT reltuples::bigint::text FROM pg_class WHERE oid = %s::regclass", name);
        outcome = ask_number(o, sql, &number);
    }
    PQfreemem(name);
    if (outcome == STORE_OK && number < MANY) {
        snprintf(sql, sizeof sql, "SELECT count(%s)::text FROM %s", p->key, p->from);
        outcome = ask_number(o, sql, &number);
    }
    *keys = number > 0 ? (uint64_t)number : 0;
    return outcome;
}

/* Row by row, as they come. */
static enum outcome list(struct oracle *o, oracle_taker take, void *context)
{
    struct postgres *p = o->own;
    char sql[3 * SQL_MAX];
    enum outcome outcome;
    PGresult *r;

    snprintf(sql, sizeof sql, "SELECT %s FROM %s", p->key, p->from);
    if (!PQsendQueryParams(p->connection, sql, 0, NULL, NULL, NULL, NULL, 1) ||
        !PQsetSingleRowMode(p->connection))
        return fail(o, STORE_AGAIN);
    while ((outcome = pump(o)) == STORE_OK && (r = PQgetResult(p->connection))) {
        ExecStatusType status = PQresultStatus(r);

        if (status == PGRES_SINGLE_TUPLE && !PQgetisnull(r, 0, 0))
            take(context, &(struct weir_bytes){PQgetvalue(r, 0, 0), (size_t)PQgetlength(r, 0, 0)},
                 1);
        else if (status != PGRES_TUPLES_OK && status != PGRES_SINGLE_TUPLE)
            outcome = fail_result(o, r);
        PQclear(r);
        if (outcome != STORE_OK)
            return outcome;
        oracle_extend(o);
    }
    return outcome;
}

static const char *const parameters[] = {"table", "column", NULL};

const struct store store_postgres = {.scheme = "postgres",
                                     .also = "postgresql",
                                     .form = "postgres://HOST/DATABASE?table=T&column=C",
                                     .parameters = parameters,
                                     .knows = is_libpq,
                                     .open = open_url,
                                     .connect = connect,
                                     .disconnect = disconnect,
                                     .answer = answer,
                                     .size = size,
                                     .list = list,
                                     .close = close_url};
