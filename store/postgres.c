/* postgres.c - postgres://HOST/DATABASE?table=T&column=C, a column of a table or view.
 *
 * A batch is sent as several `column = ANY($1)` in one pipeline: the server processes one while the
 * next one is transferred. postgres_connection.c contains the connection.
 *
 * The server returns keys, which are looked up in an index of the batch, so that a comparison that
 * is not by bytes (a collation that ignores case) adds no member. Columns of text and bytea are
 * compared directly, any other type by its text, which is fast only with an index on that text.
 * Text contains no NUL and, in a UTF-8 database, only UTF-8: other keys are not members, and are
 * not sent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "postgres.h"

#define CHUNK_KEYS 1024       /* max keys per query */
#define CHUNK_BYTES (1 << 20) /* max bytes per query, except for one longer key */
#define MANY 10000000         /* above this an estimate is sufficient */

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
        return store_refuse(store, "out of memory");
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

/* Send one query with keys from `first` on, as an array in binary format: dimensions, has nulls,
 * type, length, lower bound, then length and bytes of each. Returns the index after the last key;
 * sends nothing if no key is possible. */
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

/* Is a key invalid in the server's encoding? */
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
    case PGRES_SINGLE_TUPLE: /* the first query after a list is still in single-row mode */
        mark(p, r, answers);
        return STORE_OK;
    case PGRES_PIPELINE_SYNC:
    case PGRES_PIPELINE_ABORTED: /* because of an earlier query, which was handled */
        return STORE_OK;
    default:
        p->unreadable |= is_unreadable(r);
        return is_unreadable(r) ? STORE_OK : pg_fail_result(store, r);
    }
}

/* Collect all results up to this number of pipeline syncs. */
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

/* Look up all keys of the batch, `most` per query. With one key per query, a failure of one query
 * does not affect the others. */
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

/* Keys without a row are not members, but only if all results arrived. A key that is invalid in the
 * encoding fails its query, so the batch is repeated with one key per query; that key is not a
 * member. */
static enum outcome answer(struct store *store, const struct weir_bytes *keys, size_t n,
                           uint8_t *answers)
{
    struct postgres *p = store->own;
    enum outcome outcome;

    if (!p->tuned && (outcome = pg_tune(store)) != STORE_OK)
        return outcome;
    p->keys = keys;
    if (!index_reset(&p->index, n))
        return store_fail(store, STORE_REFUSED, "out of memory");
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

/* Count the rows, unless the estimate of the last ANALYZE is large. */
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
                                         .knows = pg_knows,
                                         .open = open_url,
                                         .connect = pg_connect,
                                         .disconnect = pg_disconnect,
                                         .answer = answer,
                                         .size = size,
                                         .list = list,
                                         .close = close_url};
