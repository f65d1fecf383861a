/* redis.c - redis://HOST:PORT/KEY, a set of Redis or Valkey.
 *
 * A batch goes out as several SMISMEMBER at once; a server older than 6.2, which
 * does not know it, gets one SISMEMBER per key, all at once too. Reading and writing wait with
 * poll() for as long as the attempt has time.
 *
 * A set without members does not exist in Redis. A key that is not there when the
 * store is opened is taken for a slip, one that goes away later for an empty set. */
#include <errno.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "backend.h"

#define CHUNK_KEYS 1024       /* in one command, and of at most so many bytes */
#define CHUNK_BYTES (1 << 20) /* unless one is longer */
#define LISTED "1000"

struct redis {
    redisContext *context;
    char *host, *key, *user, *password;
    int port;
    const char *database; /* number, or NULL */
    bool known;           /* the key was there */
    bool one_by_one;      /* the server does not know SMISMEMBER */
};

/* ---- waiting ---- */

static enum outcome fail(struct store *o)
{
    const struct redis *r = o->own;
    const char *text = r->context ? r->context->errstr : "memory is short";

    return store_fail(o, STORE_AGAIN, "%s", *text ? text : "the connection was lost");
}

/* What a server says that will be otherwise in a moment. */
static enum outcome fail_reply(struct store *o, const redisReply *reply)
{
    static const char *const passing[] = {"LOADING",     "BUSY",       "TRYAGAIN",
                                          "CLUSTERDOWN", "MASTERDOWN", NULL};
    enum outcome outcome = STORE_REFUSED;

    if (reply->type != REDIS_REPLY_ERROR)
        return store_fail(o, STORE_REFUSED, "its answer is not one of a set");
    for (const char *const *word = passing; *word; word++)
        if (strncmp(reply->str, *word, strlen(*word)) == 0)
            outcome = STORE_AGAIN;
    return store_fail(o, outcome, "%s", reply->str);
}

/* The next reply; meanwhile send what is to be sent. */
static enum outcome next_reply(struct store *o, redisReply **reply)
{
    redisContext *c = ((struct redis *)o->own)->context;
    int done = 0;

    *reply = NULL;
    for (;;) {
        if (redisGetReplyFromReader(c, (void **)reply) != REDIS_OK)
            return fail(o);
        if (*reply)
            return STORE_OK;
        if (!done && redisBufferWrite(c, &done) != REDIS_OK)
            return fail(o);
        int events = store_wait(o, c->fd, POLLIN | (done ? 0 : POLLOUT));
        if (!events)
            return STORE_AGAIN;
        if ((events & ~POLLOUT) && redisBufferRead(c) != REDIS_OK)
            return fail(o);
    }
}

/* One command and its reply, of the type that it should have. */
static enum outcome command(struct store *o, int type, int n, const char **words,
                            redisReply **reply)
{
    redisContext *c = ((struct redis *)o->own)->context;
    enum outcome outcome;

    *reply = NULL;
    if (redisAppendCommandArgv(c, n, words, NULL) != REDIS_OK)
        return fail(o);
    outcome = next_reply(o, reply);
    if (outcome == STORE_OK && (*reply)->type != type)
        outcome = fail_reply(o, *reply);
    if (outcome != STORE_OK) {
        freeReplyObject(*reply);
        *reply = NULL;
    }
    return outcome;
}

/* ---- the address ---- */

static char *decode(const char *from, const char *to)
{
    return url_decode(from, (size_t)(to - from));
}

/* user:password@ */
static bool split_user(struct redis *r, const char *from, const char *at)
{
    const char *colon = memchr(from, ':', (size_t)(at - from));

    r->password = colon ? decode(colon + 1, at) : NULL;
    r->user = decode(from, colon ? colon : at);
    return r->user && (!colon || r->password);
}

/* host, host:port, [::1]:port; an empty host is this one */
static bool split_host(struct redis *r, const char *from, const char *to)
{
    bool bracket = from < to && *from == '[';
    const char *end = bracket ? memchr(from, ']', (size_t)(to - from)) : from + strcspn(from, ":/");
    const char *colon = end ? end + bracket : to;
    char *rest = NULL;

    if (!end || end > to)
        return false;
    r->host = end == from ? strdup("localhost") : decode(from + bracket, end);
    r->port = 6379;
    if (colon < to && *colon == ':')
        r->port = (int)strtoul(colon + 1, &rest, 10);
    return r->host && (rest ? rest == to && colon + 1 < to : colon == to) && r->port > 0 &&
           r->port < 65536;
}

static bool open_url(struct store *o)
{
    struct redis *r = o->own = calloc(1, sizeof *r);
    const char *place = o->url.place;
    const char *from = strncmp(place, "//", 2) == 0 ? place + 2 : NULL;
    const char *slash = from ? strchr(from, '/') : NULL;
    const char *at = slash ? memchr(from, '@', (size_t)(slash - from)) : NULL;
    const char *secret = getenv("REDISCLI_AUTH");

    if (r && slash && slash[1] && (!at || split_user(r, from, at)) &&
        split_host(r, at ? at + 1 : from, slash))
        r->key = decode(slash + 1, slash + strlen(slash));
    if (!r || !r->key)
        return store_fail(o, STORE_REFUSED, "this is no address of a set; its form is %s",
                          o->backend->form) == STORE_OK;
    if (!r->password && secret && *secret)
        r->password = strdup(secret);
    r->database = url_value(&o->url, "db");
    return true;
}

static void close_url(struct store *o)
{
    struct redis *r = o->own;

    free(r->host);
    free(r->key);
    free(r->user);
    free(r->password);
    free(r);
}

/* ---- connecting ---- */

static enum outcome reach(struct store *o)
{
    struct redis *r = o->own;
    int error = 0;
    socklen_t size = sizeof error;

    r->context = redisConnectNonBlock(r->host, r->port);
    if (!r->context || r->context->err)
        return fail(o);
    if (!store_wait(o, r->context->fd, POLLOUT))
        return STORE_AGAIN;
    if (getsockopt(r->context->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error)
        return store_fail(o, STORE_AGAIN, "cannot connect: %s", strerror(error ? error : errno));
    return STORE_OK;
}

static enum outcome log_in(struct store *o)
{
    struct redis *r = o->own;
    redisReply *reply;
    bool named = r->user && *r->user;
    const char *both[] = {"AUTH", r->user, r->password}, *one[] = {"AUTH", r->password};
    const char *select[] = {"SELECT", r->database};
    enum outcome outcome = STORE_OK;

    if (r->password) {
        outcome = named ? command(o, REDIS_REPLY_STATUS, 3, both, &reply)
                        : command(o, REDIS_REPLY_STATUS, 2, one, &reply);
        freeReplyObject(reply);
    }
    if (outcome == STORE_OK && r->database) {
        outcome = command(o, REDIS_REPLY_STATUS, 2, select, &reply);
        freeReplyObject(reply);
    }
    return outcome;
}

static enum outcome count(struct store *o, uint64_t *keys)
{
    const char *words[] = {"SCARD", ((struct redis *)o->own)->key};
    redisReply *reply;
    enum outcome outcome = command(o, REDIS_REPLY_INTEGER, 2, words, &reply);

    if (reply)
        *keys = (uint64_t)reply->integer;
    freeReplyObject(reply);
    return outcome;
}

/* Does it know SMISMEMBER? Versions are not asked for: others have their own. */
static enum outcome try_many(struct store *o)
{
    struct redis *r = o->own;
    const char *words[] = {"SMISMEMBER", r->key, ""};
    redisReply *reply;
    enum outcome outcome;

    if (redisAppendCommandArgv(r->context, 3, words, NULL) != REDIS_OK)
        return fail(o);
    outcome = next_reply(o, &reply);
    if (outcome == STORE_OK)
        r->one_by_one = reply->type == REDIS_REPLY_ERROR;
    freeReplyObject(reply);
    return outcome;
}

static enum outcome connect_to(struct store *o)
{
    struct redis *r = o->own;
    uint64_t keys = 0;
    enum outcome outcome;

    if (r->context)
        return STORE_OK;
    outcome = reach(o);
    if (outcome == STORE_OK)
        outcome = log_in(o);
    if (outcome == STORE_OK)
        outcome = count(o, &keys);
    if (outcome == STORE_OK && !r->known && keys == 0)
        return store_fail(o, STORE_REFUSED, "there is no set '%s'", r->key);
    r->known |= outcome == STORE_OK;
    return outcome == STORE_OK ? try_many(o) : outcome;
}

static void disconnect(struct store *o)
{
    struct redis *r = o->own;

    if (r->context)
        redisFree(r->context);
    r->context = NULL;
}

/* ---- answering ---- */

/* How many keys from here on go into one command. */
static size_t chunk_of(const struct redis *r, const struct weir_bytes *keys, size_t n)
{
    size_t bytes = 0, count = 0;

    while (count < n && count < (r->one_by_one ? 1 : CHUNK_KEYS) &&
           (count == 0 || bytes < CHUNK_BYTES))
        bytes += keys[count++].size;
    return count;
}

static enum outcome send_chunk(struct store *o, const struct weir_bytes *keys, size_t n)
{
    struct redis *r = o->own;
    const char *words[CHUNK_KEYS + 2] = {r->one_by_one ? "SISMEMBER" : "SMISMEMBER", r->key};
    size_t sizes[CHUNK_KEYS + 2] = {strlen(words[0]), strlen(r->key)};

    for (size_t i = 0; i < n; i++) {
        words[i + 2] = keys[i].size ? keys[i].data : "";
        sizes[i + 2] = keys[i].size;
    }
    return redisAppendCommandArgv(r->context, (int)n + 2, words, sizes) == REDIS_OK ? STORE_OK
                                                                                    : fail(o);
}

static bool read_integer(const redisReply *reply, uint8_t *answer)
{
    if (reply->type != REDIS_REPLY_INTEGER)
        return false;
    *answer = reply->integer ? WEIR_MEMBER : WEIR_OTHER;
    return true;
}

static bool read_chunk(const redisReply *reply, size_t n, uint8_t *answers)
{
    if (reply->type == REDIS_REPLY_INTEGER && n == 1)
        return read_integer(reply, answers);
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!read_integer(reply->element[i], &answers[i]))
            return false;
    return true;
}

static enum outcome take_chunk(struct store *o, size_t n, uint8_t *answers)
{
    redisReply *reply;
    enum outcome outcome = next_reply(o, &reply);

    if (outcome == STORE_OK && !read_chunk(reply, n, answers))
        outcome = fail_reply(o, reply);
    freeReplyObject(reply);
    return outcome;
}

static enum outcome answer(struct store *o, const struct weir_bytes *keys, size_t n,
                           uint8_t *answers)
{
    const struct redis *r = o->own;
    enum outcome outcome = STORE_OK;

    for (size_t i = 0, now; i < n && outcome == STORE_OK; i += now) {
        now = chunk_of(r, keys + i, n - i);
        outcome = send_chunk(o, keys + i, now);
    }
    for (size_t i = 0, now; i < n && outcome == STORE_OK; i += now) {
        now = chunk_of(r, keys + i, n - i);
        outcome = take_chunk(o, now, answers + i);
    }
    return outcome;
}

/* ---- list ---- */

static bool take_members(const redisReply *members, store_taker take, void *context)
{
    for (size_t i = 0; i < members->elements; i++) {
        const redisReply *m = members->element[i];

        if (m->type != REDIS_REPLY_STRING)
            return false;
        take(context, &(struct weir_bytes){m->str, m->len}, 1);
    }
    return true;
}

static enum outcome list(struct store *o, store_taker take, void *context)
{
    char cursor[24] = "0";
    enum outcome outcome;

    do {
        const char *words[] = {"SSCAN", ((struct redis *)o->own)->key, cursor, "COUNT", LISTED};
        redisReply *reply;

        outcome = command(o, REDIS_REPLY_ARRAY, 5, words, &reply);
        if (outcome != STORE_OK)
            return outcome;
        bool right = reply->elements == 2 && reply->element[0]->type == REDIS_REPLY_STRING &&
                     reply->element[1]->type == REDIS_REPLY_ARRAY &&
                     take_members(reply->element[1], take, context);
        if (right)
            snprintf(cursor, sizeof cursor, "%s", reply->element[0]->str);
        else
            outcome = fail_reply(o, reply);
        freeReplyObject(reply);
        store_extend(o);
    } while (outcome == STORE_OK && strcmp(cursor, "0") != 0);
    return outcome;
}

static const char *const parameters[] = {"db", NULL};

const struct backend backend_redis = {.scheme = "redis",
                                      .form = "redis://HOST:PORT/KEY",
                                      .parameters = parameters,
                                      .open = open_url,
                                      .connect = connect_to,
                                      .disconnect = disconnect,
                                      .answer = answer,
                                      .size = count,
                                      .list = list,
                                      .close = close_url};
