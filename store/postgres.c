/* postgres.c - postgres://HOST/DATABASE?table=T&column=C, a column of a table or
 * view of PostgreSQL.
 *
 * A batch goes out as several `column = ANY($1)` in one pipeline: the server
 * works on one while the next is on its way. postgres_connection.c has the connection.
 *
 * What comes back are keys, found in the batch by an index, so that a comparison
 * of the server that is not bytewise (a collation that ignores case) cannot make
 * a member of what is none. Columns of text and bytea are compared as they are;
 * of any other type by its text, which only an index on that text makes fast. A
 * text of PostgreSQL holds no NUL and, in a database of UTF-8, nothing but that:
 * other keys are no members, and are not asked for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "percent.h"
#include "postgres.h"

#define CHUNK_KEYS 1024       /* in one query, and of at most so many bytes */
#define CHUNK_BYTES (1 << 20) /* unless one is longer */
#define MANY 10000000         /* an estimate is good enough from here on */

/* ---- opening ---- */

static struct weir_bytes key_of(const void *context, uint64_t i)
{
    const struct postgres *p = context;

    return p->keys[i];
}

static bool open_url(struct store *store)
{
    struct postgres *p = store->own = calloc(1, sizeof *p);

    if (!p || !index_open(&p->index, 0, key_of, p))
        return store_refuse(store, "memory is short");
    return pg_address(store);
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

/* ---- answering ---- */

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
static size_t send_chunk(struct store *store, size_t first, size_t n, uint32_t most, bool *sent)
{
    struct postgres *p = store->own;
    size_t bytes = 20, to = first;
    uint32_t count = 0;
    char *at;

    for (; to < n && count < most && (count == 0 || bytes < CHUNK_BYTES); to++)
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

/* Does the server say that a key is no text in its encoding? */
static bool is_unreadable(const PGresult *r)
{
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);

    return state && strcmp(state, "22021") == 0;
}

static enum outcome take_result(struct store *store, const PGresult *r, uint8_t *answers)
{
    struct postgres *p = store->own;

    switch (PQresultStatus(r)) {
    case PGRES_TUPLES_OK:
    case PGRES_SINGLE_TUPLE: /* the first query after a list is still answered row by row */
        mark(p, r, answers);
        return STORE_OK;
    case PGRES_PIPELINE_SYNC:
    case PGRES_PIPELINE_ABORTED: /* by one before, which has been looked at */
        return STORE_OK;
    default:
        p->unreadable |= is_unreadable(r);
        return is_unreadable(r) ? STORE_OK : pg_fail_result(store, r);
    }
}

/* All results up to the last of so many ends of a pipeline. */
static enum outcome collect(struct store *store, size_t ends, uint8_t *answers)
{
    struct postgres *p = store->own;
    enum outcome outcome = STORE_OK;

    while (ends > 0 && outcome == STORE_OK) {
        PGresult *r;

        outcome = pg_pump(store);
        r = outcome == STORE_OK ? PQgetResult(p->connection) : NULL;
        if (r)
            outcome = take_result(store, r, answers);
        if (r && PQresultStatus(r) == PGRES_PIPELINE_SYNC) {
            ends--;
            store_extend(store);
        }
        PQclear(r);
    }
    return outcome;
}

/* All keys of the batch, so many of them in each query. If that is one, each stands by
 * itself: a query that fails leaves the others alone. */
static enum outcome ask_all(struct store *store, size_t n, uint32_t most, uint8_t *answers)
{
    struct postgres *p = store->own;
    size_t ends = 0;
    bool sent = true;
    enum outcome outcome;

    p->unreadable = false;
    if (!PQenterPipelineMode(p->connection))
        return pg_fail(store, STORE_AGAIN);
    for (size_t i = 0; i < n && sent;) {
        i = send_chunk(store, i, n, most, &sent);
        if (sent && (most == 1 || i == n)) {
            sent = PQpipelineSync(p->connection);
            ends++;
        }
    }
    outcome = sent ? collect(store, ends, answers) : pg_fail(store, STORE_AGAIN);
    if (outcome == STORE_OK && !PQexitPipelineMode(p->connection))
        outcome = pg_fail(store, STORE_AGAIN);
    return outcome;
}

/* Members are known one by one, others only when all is in. One key that the server
 * cannot read fails the query it is in; it is no member, and alone it harms nobody. */
static enum outcome answer(struct store *store, const struct weir_bytes *keys, size_t n,
                           uint8_t *answers)
{
    struct postgres *p = store->own;
    enum outcome outcome;

    if (!p->tuned && (outcome = pg_tune(store)) != STORE_OK)
        return outcome;
    p->keys = keys;
    if (!index_reset(&p->index, n))
        return store_fail(store, STORE_REFUSED, "memory is short");
    for (size_t i = 0; i < n; i++)
        index_add(&p->index, i);
    outcome = ask_all(store, n, CHUNK_KEYS, answers);
    if (outcome == STORE_OK && p->unreadable)
        outcome = ask_all(store, n, 1, answers);
    for (size_t i = 0; i < n && outcome == STORE_OK; i++)
        answers[i] = answers[i] == WEIR_MEMBER ? WEIR_MEMBER : WEIR_OTHER;
    return outcome;
}

/* ---- size and list ---- */

static enum outcome ask_number(struct store *store, const char *sql, double *number)
{
    enum outcome outcome;
    PGresult *r = pg_query(store, sql, &outcome);
    char text[32] = "-1";

    if (r && PQntuples(r) == 1)
        snprintf(text, sizeof text, "%.*s", PQgetlength(r, 0, 0), PQgetvalue(r, 0, 0));
    PQclear(r);
    *number = strtod(text, NULL);
    return outcome;
}

/* What the last ANALYZE found tells whether counting would take long. */
static enum outcome size(struct store *store, uint64_t *keys)
{
    struct postgres *p = store->own;
    char sql[4 * SQL_MAX];
    char *name = PQescapeLiteral(p->connection, p->from, strlen(p->from));
    enum outcome outcome = name ? STORE_OK : pg_fail(store, STORE_REFUSED);
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

/* Row by row, as they come. */
static enum outcome list(struct store *store, store_taker take, void *context)
{
    struct postgres *p = store->own;
    char sql[3 * SQL_MAX];
    enum outcome outcome;
    PGresult *r;

    snprintf(sql, sizeof sql, "SELECT %s FROM %s", p->key, p->from);
    if (!PQsendQueryParams(p->connection, sql, 0, NULL, NULL, NULL, NULL, 1) ||
        !PQsetSingleRowMode(p->connection))
        return pg_fail(store, STORE_AGAIN);
    while ((outcome = pg_pump(store)) == STORE_OK && (r = PQgetResult(p->connection))) {
        ExecStatusType status = PQresultStatus(r);

        if (status == PGRES_SINGLE_TUPLE && !PQgetisnull(r, 0, 0))
            take(context, &(struct weir_bytes){PQgetvalue(r, 0, 0), (size_t)PQgetlength(r, 0, 0)},
                 1);
        else if (status != PGRES_TUPLES_OK && status != PGRES_SINGLE_TUPLE)
            outcome = pg_fail_result(store, r);
        PQclear(r);
        if (outcome != STORE_OK)
            return outcome;
        store_extend(store);
    }
    return outcome;
}

/* Those of libpq that say which server and database are shown, too. */
static const char *const parameters[] = {"table", "column", "host",    "hostaddr",
                                         "port",  "dbname", "service", NULL};

const struct backend backend_postgres = {.scheme = "postgres",
                                         .also = "postgresql",
                                         .form = "postgres://HOST/DATABASE?table=T&column=C",
                                         .network = true,
                                         .parameters = parameters,
                                         .knows = pg_knows,
                                         .open = open_url,
                                         .connect = pg_connect,
                                         .disconnect = pg_disconnect,
                                         .answer = answer,
                                         .size = size,
                                         .list = list,
                                         .close = close_url};
