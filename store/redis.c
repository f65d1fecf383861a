/* redis.c - redis://HOST:PORT/KEY, a set of Redis or Valkey; rediss:// with TLS, and
 * redis+unix:///SOCKET/KEY.
 *
 * A batch is sent as several SMISMEMBER in one pipeline. Servers before 6.2 get one SISMEMBER per
 * key. A SCARD follows: if the server lost the set meanwhile, every key would be a non-member, so
 * the answers are used only if the set still exists. redis_connection.c contains the connection. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis.h"

#define CHUNK_KEYS 1024       /* max keys per command */
#define CHUNK_BYTES (1 << 20) /* max bytes per command, except for one longer key */
#define LISTED "1000"
#define LISTED_MOST 16 /* max listed members, divided by the members of the set */
#define ROUNDS_MOST 1000

/* ---- opening ---- */

static bool open_url(struct store *store)
{
    store->own = calloc(1, sizeof(struct redis));
    if (!store->own)
        return store_refuse(store, "out of memory");
    ((struct redis *)store->own)->wire.fd = -1;
    return redis_address(store);
}

static void close_url(struct store *store)
{
    struct redis *r = store->own;

    background_abandon(&r->looking_up);
    wire_close(&r->wire);
    tls_close(r->tls);
    free(r->host);
    free(r->password);
    free(r);
}

/* ---- answering ---- */

/* The number of keys for the next command. */
static size_t chunk_of(const struct redis *r, const struct weir_bytes *keys, size_t n)
{
    size_t bytes = 0, count = 0;

    while (count < n && count < (r->one_by_one ? 1 : CHUNK_KEYS) &&
           (count == 0 || bytes < CHUNK_BYTES))
        bytes += keys[count++].size;
    return count;
}

static enum outcome send_chunk(struct store *store, const struct weir_bytes *keys, size_t n)
{
    const struct redis *r = store->own;
    const char *words[CHUNK_KEYS + 2] = {r->one_by_one ? "SISMEMBER" : "SMISMEMBER",
                                         store->url.path};
    size_t sizes[CHUNK_KEYS + 2] = {strlen(words[0]), strlen(words[1])};

    for (size_t i = 0; i < n; i++) {
        words[i + 2] = keys[i].size ? keys[i].data : "";
        sizes[i + 2] = keys[i].size;
    }
    return redis_send(store, (int)n + 2, words, sizes);
}

static bool read_answer(const redisReply *reply, uint8_t *answer)
{
    if (reply->type != REDIS_REPLY_INTEGER || reply->integer < 0 || reply->integer > 1)
        return false;
    *answer = reply->integer ? WEIR_MEMBER : WEIR_OTHER;
    return true;
}

static bool read_chunk(const redisReply *reply, size_t n, uint8_t *answers)
{
    if (reply->type == REDIS_REPLY_INTEGER && n == 1)
        return read_answer(reply, answers);
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!read_answer(reply->element[i], &answers[i]))
            return false;
    return true;
}

static enum outcome take_chunk(struct store *store, size_t n, uint8_t *answers)
{
    redisReply *reply;
    enum outcome outcome = redis_next(store, ANSWER_MOST, &reply);

    if (outcome == STORE_OK && !read_chunk(reply, n, answers))
        outcome = redis_fail_reply(store, reply);
    freeReplyObject(reply);
    return outcome;
}

static enum outcome send_count(struct store *store)
{
    const char *words[] = {"SCARD", store->url.path};

    return redis_send(store, 2, words, NULL);
}

/* Check that the set still exists. */
static enum outcome take_count(struct store *store)
{
    redisReply *reply;
    uint64_t members;
    enum outcome outcome = redis_next(store, ANSWER_MOST, &reply);

    if (outcome == STORE_OK)
        outcome = redis_read_count(reply, &members) ? redis_check_members(store, members, false)
                                                    : redis_fail_reply(store, reply);
    freeReplyObject(reply);
    return outcome;
}

static enum outcome answer(struct store *store, const struct weir_bytes *keys, size_t n,
                           uint8_t *answers)
{
    const struct redis *r = store->own;
    enum outcome outcome = STORE_OK;

    for (size_t i = 0, now; i < n && outcome == STORE_OK; i += now) {
        now = chunk_of(r, keys + i, n - i);
        outcome = send_chunk(store, keys + i, now);
    }
    if (outcome == STORE_OK)
        outcome = send_count(store);
    for (size_t i = 0, now; i < n && outcome == STORE_OK; i += now) {
        now = chunk_of(r, keys + i, n - i);
        outcome = take_chunk(store, now, answers + i);
    }
    if (outcome == STORE_OK)
        outcome = take_count(store);
    if (outcome != STORE_OK)
        memset(answers, WEIR_UNANSWERED, n);
    return outcome;
}

/* ---- list ---- */

static bool take_members(const redisReply *members, store_taker take, void *context)
{
    for (size_t i = 0; i < members->elements; i++) {
        const redisReply *m = members->element[i];

        if (m->type != REDIS_REPLY_STRING)
            return false;
        take(context, &(struct weir_bytes){m->str, (size_t)m->len}, 1);
    }
    return true;
}

static bool is_page(const redisReply *reply)
{
    return reply->elements == 2 && reply->element[0]->type == REDIS_REPLY_STRING &&
           reply->element[1]->type == REDIS_REPLY_ARRAY;
}

/* One SSCAN. Sets the next cursor and the number of members. */
static enum outcome list_page(struct store *store, char cursor[24], store_taker take, void *context,
                              uint64_t *members)
{
    const char *words[] = {"SSCAN", store->url.path, cursor, "COUNT", LISTED};
    redisReply *reply;
    enum outcome outcome = redis_command(store, REDIS_REPLY_ARRAY, LIST_MOST, 5, words, &reply);

    if (outcome != STORE_OK)
        return outcome;
    if (is_page(reply) && take_members(reply->element[1], take, context)) {
        snprintf(cursor, 24, "%s", reply->element[0]->str);
        *members = reply->element[1]->elements;
    } else {
        outcome = redis_fail_reply(store, reply);
    }
    freeReplyObject(reply);
    return outcome;
}

/* Members may repeat and pages may be empty, but the total is limited. Only members extend the
 * deadline. */
static enum outcome list(struct store *store, store_taker take, void *context)
{
    const struct redis *r = store->own;
    uint64_t left = ROUNDS_MOST + LISTED_MOST * r->members, members = 0;
    char cursor[24] = "0";
    enum outcome outcome;

    do {
        outcome = list_page(store, cursor, take, context, &members);
        if (outcome == STORE_OK && members + 1 > left)
            outcome =
                store_fail(store, STORE_REFUSED, "it lists far more members than SCARD reports");
        left -= members + 1;
        if (members)
            store_extend(store);
    } while (outcome == STORE_OK && strcmp(cursor, "0") != 0);
    if (outcome == STORE_OK)
        outcome = send_count(store);
    return outcome == STORE_OK ? take_count(store) : outcome;
}

static const char *const parameters[] = {"db", NULL};

const struct backend backend_redis = {.scheme = "redis",
                                      .also = {"rediss", "redis+unix"},
                                      .form = "redis://HOST:PORT/KEY",
                                      .network = true,
                                      .parameters = parameters,
                                      .knows = tls_is_parameter,
                                      .open = open_url,
                                      .connect = redis_connect,
                                      .disconnect = redis_disconnect,
                                      .answer = answer,
                                      .size = redis_count,
                                      .list = list,
                                      .close = close_url};
