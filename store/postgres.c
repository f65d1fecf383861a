/* postgres.c - postgres://HOST/DATABASE?table=T&column=C, a column of a table or
 * view of PostgreSQL.
 *
 * A batch goes out as several `column = ANY($1)` in one pipeline: the server
 * works on one while the next is on its way. pgconnect.c has the connection.
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

static bool open_url(struct store *o)
{
    struct postgres *p = o->own = calloc(1, sizeof *p);

    if (!p || !index_open(&p->index, 0, key_of, p))
        return store_fail(o, STORE_REFUSED, "memory is short") == STORE_OK;
    return pg_address(o);
}

static void close_url(struct store *o)
{
    struct postgres *p = o->own;

    index_close(&p->index);
    free(p->array);
    free(p->address);
    free(p->schema);
    free(p->table);
    free(p);
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
static size_t send_chunk(struct store *o, size_t first, size_t n, bool *sent)
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
static enum outcome collect(struct store *o, uint8_t *answers)
{
    struct postgres *p = o->own;

    for (;;) {
        enum outcome outcome = pg_pump(o);
        PGresult *r = outcome == STORE_OK ? PQgetResult(p->connection) : NULL;
        ExecStatusType status = r ? PQresultStatus(r) : PGRES_EMPTY_QUERY;

        /* the first query after a list is still answered row by row */
        if (r && (status == PGRES_TUPLES_OK || status == PGRES_SINGLE_TUPLE))
            mark(p, r, answers);
        else if (r && status != PGRES_PIPELINE_SYNC)
            outcome = pg_fail_result(o, r);
        PQclear(r);
        if (outcome != STORE_OK || status == PGRES_PIPELINE_SYNC)
            return outcome;
    }
}

/* Members are known one by one, others only when all is in. */
static enum outcome answer(struct store *o, const struct weir_bytes *keys, size_t n,
                           uint8_t *answers)
{
    struct postgres *p = o->own;
    enum outcome outcome;
    bool sent = true;

    if (!p->tuned && (outcome = pg_tune(o)) != STORE_OK)
        return outcome;
    p->keys = keys;
    if (!index_reset(&p->index, n))
        return store_fail(o, STORE_REFUSED, "memory is short");
    for (size_t i = 0; i < n; i++)
        index_add(&p->index, i);
    if (!PQenterPipelineMode(p->connection))
        return pg_fail(o, STORE_AGAIN);
    for (size_t i = 0; i < n && sent;)
        i = send_chunk(o, i, n, &sent);
    if (!sent || !PQpipelineSync(p->connection))
        return pg_fail(o, STORE_AGAIN);
    outcome = collect(o, answers);
    if (outcome != STORE_OK)
        return outcome;
    for (size_t i = 0; i < n; i++)
        answers[i] = answers[i] == WEIR_MEMBER ? WEIR_MEMBER : WEIR_OTHER;
    return PQexitPipelineMode(p->connection) ? STORE_OK : pg_fail(o, STORE_AGAIN);
}

/* ---- size and list ---- */

static enum outcome ask_number(struct store *o, const char *sql, double *number)
{
    enum outcome outcome;
    PGresult *r = pg_query(o, sql, &outcome);
    char text[32] = "-1";

    if (r && PQntuples(r) == 1)
        snprintf(text, sizeof text, "%.*s", PQgetlength(r, 0, 0), PQgetvalue(r, 0, 0));
    PQclear(r);
    *number = strtod(text, NULL);
    return outcome;
}

/* What the last ANALYZE found tells whether counting would take long. */
static enum outcome size(struct store *o, uint64_t *keys)
{
    struct postgres *p = o->own;
    char sql[4 * SQL_MAX];
    char *name = PQescapeLiteral(p->connection, p->from, strlen(p->from));
    enum outcome outcome = name ? STORE_OK : pg_fail(o, STORE_REFUSED);
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
static enum outcome list(struct store *o, store_taker take, void *context)
{
    struct postgres *p = o->own;
    char sql[3 * SQL_MAX];
    enum outcome outcome;
    PGresult *r;

    snprintf(sql, sizeof sql, "SELECT %s FROM %s", p->key, p->from);
    if (!PQsendQueryParams(p->connection, sql, 0, NULL, NULL, NULL, NULL, 1) ||
        !PQsetSingleRowMode(p->connection))
        return pg_fail(o, STORE_AGAIN);
    while ((outcome = pg_pump(o)) == STORE_OK && (r = PQgetResult(p->connection))) {
        ExecStatusType status = PQresultStatus(r);

        if (status == PGRES_SINGLE_TUPLE && !PQgetisnull(r, 0, 0))
            take(context, &(struct weir_bytes){PQgetvalue(r, 0, 0), (size_t)PQgetlength(r, 0, 0)},
                 1);
        else if (status != PGRES_TUPLES_OK && status != PGRES_SINGLE_TUPLE)
            outcome = pg_fail_result(o, r);
        PQclear(r);
        if (outcome != STORE_OK)
            return outcome;
        store_extend(o);
    }
    return outcome;
}

static const char *const parameters[] = {"table", "column", NULL};

const struct backend backend_postgres = {.scheme = "postgres",
                                         .also = "postgresql",
                                         .form = "postgres://HOST/DATABASE?table=T&column=C",
                                         .parameters = parameters,
                                         .knows = pg_knows,
                                         .open = open_url,
                                         .connect = pg_connect,
                                         .disconnect = pg_disconnect,
                                         .answer = answer,
                                         .size = size,
                                         .list = list,
                                         .close = close_url};
