/* redis_connection.c - see redis.h. All waiting is poll() with the deadline of the attempt. A
 * connection that fails is closed; the next attempt opens a new one. The server is not trusted: all
 * replies are limited. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "redis.h"

#define ELEMENTS_MOST (1 << 20) /* per array; a list has some thousand */

/* ---- replies ---- */

static enum outcome fail(struct store *store)
{
    const struct redis *r = store->own;
    const char *text = r->context ? r->context->errstr : "out of memory";

    if (r->context && r->context->err == REDIS_ERR_OOM)
        return store_fail(store, STORE_REFUSED,
                          "its reply is too long for a set, or out of memory");
    return store_fail(store, STORE_AGAIN, "%s", *text ? text : "the connection was lost");
}

enum outcome redis_fail_reply(struct store *store, const redisReply *reply)
{
    /* transient errors */
    static const char *const passing[] = {"LOADING",     "BUSY",       "TRYAGAIN",
                                          "CLUSTERDOWN", "MASTERDOWN", NULL};
    enum outcome outcome = STORE_REFUSED;

    if (reply->type != REDIS_REPLY_ERROR)
        return store_fail(store, STORE_REFUSED, "its reply is not that of a set");
    for (const char *const *word = passing; *word; word++)
        if (strncmp(reply->str, *word, strlen(*word)) == 0)
            outcome = STORE_AGAIN;
    return store_fail(store, outcome, "%s", reply->str);
}

enum outcome redis_send(struct store *store, int n, const char **words, const size_t *sizes)
{
    redisContext *c = ((struct redis *)store->own)->context;

    return redisAppendCommandArgv(c, n, words, sizes) == REDIS_OK ? STORE_OK : fail(store);
}

/* Wait, then send and receive; adds the number of bytes received. */
static enum outcome exchange(struct store *store, int *sent, size_t *came)
{
    redisContext *c = ((struct redis *)store->own)->context;
    size_t before = c->reader->len;
    int events;

    if (!*sent && redisBufferWrite(c, sent) != REDIS_OK)
        return fail(store);
    events = store_wait(store, c->fd, POLLIN | (*sent ? 0 : POLLOUT));
    if (!events)
        return STORE_AGAIN;
    if ((events & ~POLLOUT) && redisBufferRead(c) != REDIS_OK)
        return fail(store);
    *came += c->reader->len - before;
    return STORE_OK;
}

enum outcome redis_next(struct store *store, size_t most, redisReply **reply)
{
    redisContext *c = ((struct redis *)store->own)->context;
    enum outcome outcome = STORE_OK;
    size_t came = 0;
    int sent = 0;

    *reply = NULL;
    while (outcome == STORE_OK) {
        void *next = NULL;

        if (redisGetReplyFromReader(c, &next) != REDIS_OK)
            return fail(store);
        *reply = next;
        if (next)
            return STORE_OK;
        if (came > most)
            return store_fail(store, STORE_REFUSED, "its reply is too long for a set");
        outcome = exchange(store, &sent, &came);
    }
    return outcome;
}

enum outcome redis_command(struct store *store, int type, size_t most, int n, const char **words,
                           redisReply **reply)
{
    enum outcome outcome = redis_send(store, n, words, NULL);

    *reply = NULL;
    if (outcome == STORE_OK)
        outcome = redis_next(store, most, reply);
    if (outcome == STORE_OK && (*reply)->type != type)
        outcome = redis_fail_reply(store, *reply);
    if (outcome != STORE_OK) {
        freeReplyObject(*reply);
        *reply = NULL;
    }
    return outcome;
}

/* ---- the set ---- */

bool redis_read_count(const redisReply *reply, uint64_t *members)
{
    if (reply->type != REDIS_REPLY_INTEGER || reply->integer < 0)
        return false;
    *members = (uint64_t)reply->integer;
    return true;
}

enum outcome redis_count(struct store *store, uint64_t *members)
{
    const char *words[] = {"SCARD", store->url.path};
    redisReply *reply;
    enum outcome outcome = redis_command(store, REDIS_REPLY_INTEGER, ANSWER_MOST, 2, words, &reply);

    if (reply && !redis_read_count(reply, members))
        outcome = redis_fail_reply(store, reply);
    freeReplyObject(reply);
    return outcome;
}

/* Redis has no empty sets: if the key is missing, it was mistyped or the server lost its data. If
 * the set is smaller than at the last connection, or half as large as at the last reply, it may be
 * reloading: the call is retried. If it stays small until the call fails, the next call accepts it.
 */
enum outcome redis_check_members(struct store *store, uint64_t members, bool new_connection)
{
    struct redis *r = store->own;
    bool lost = members < (new_connection ? r->members : r->members / 2);
    uint64_t call = store->stats.calls + 1;

    if (members == 0)
        return store_fail(store, r->members ? STORE_AGAIN : STORE_REFUSED, "no set '%s'%s",
                          store->url.path, r->members ? " any more" : "");
    if (lost && (!r->doubted || r->doubted == call)) {
        r->doubted = call;
        return store_fail(store, STORE_AGAIN, "its set has %llu members, and had %llu",
                          (unsigned long long)members, (unsigned long long)r->members);
    }
    r->members = members;
    r->doubted = 0;
    return STORE_OK;
}

/* ---- the address ---- */

/* Split HOST, HOST:PORT or [ADDRESS]:PORT. The default host is localhost. False if the port is
 * invalid. */
static bool split_host(const char *host, char **name, int *port)
{
    const char *close = *host == '[' ? strchr(host, ']') : NULL;
    const char *from = close ? host + 1 : host, *end = close ? close : host + strcspn(host, ":");
    const char *colon = strchr(end, ':');
    unsigned long number = colon ? strtoul(colon + 1, NULL, 10) : 6379;

    *port = (int)number;
    *name = end == from ? strdup("localhost") : percent_decode(from, (size_t)(end - from));
    return *name && number > 0 && number < 65536 && !strchr(host, ',');
}

bool redis_address(struct store *store)
{
    struct redis *r = store->own;
    const char *secret = getenv("REDISCLI_AUTH");
    char *name;
    int port;
    bool right = split_host(store->url.host, &name, &port) && *store->url.path;

    free(name);
    if (!right)
        return store_refuse(store, "invalid address of a set; expected %s", store->backend->form);
    if (store->url.password || (secret && *secret))
        r->password = strdup(store->url.password ? store->url.password : secret);
    if (!secrets_add(&store->url.secrets, r->password, A_PASSWORD))
        return store_refuse(store, "out of memory");
    r->database = url_value(&store->url, "db");
    return true;
}

/* ---- connecting ---- */

/* Start connecting; host names are resolved here. */
static void *begin(const char *host)
{
    redisContext *c = NULL;
    char *name;
    int port;

    if (split_host(host, &name, &port))
        c = redisConnectNonBlock(name, port);
    free(name);
    return c;
}

static void discard(void *context)
{
    redisFree(context);
}

#if HIREDIS_MAJOR < 1
static redisReplyObjectFunctions functions; /* those of hiredis, except: */
static void *(*create_array)(const redisReadTask *, int);

static void *create_small_array(const redisReadTask *task, int elements)
{
    return elements > ELEMENTS_MOST ? NULL : create_array(task, elements);
}

static void bound_arrays(redisReader *reader)
{
    if (!create_array) {
        functions = *reader->fn;
        create_array = functions.createArray;
        functions.createArray = create_small_array;
    }
    reader->fn = &functions;
}
#else
static void bound_arrays(redisReader *reader)
{
    reader->maxelements = ELEMENTS_MOST;
}
#endif

void redis_adopt(struct store *store, redisContext *context)
{
    struct redis *r = store->own;

    r->context = context;
    if (context && context->reader)
        bound_arrays(context->reader);
}

static enum outcome begin_in_time(struct store *store)
{
    struct redis *r = store->own;
    void *context;

    if (!r->beginning)
        r->beginning = background_start(begin, discard, store->url.host);
    if (!r->beginning)
        return fail(store);
    if (!background_wait(store, &r->beginning, &context))
        return STORE_AGAIN;
    redis_adopt(store, context);
    return !context || r->context->err ? fail(store) : STORE_OK;
}

static enum outcome reach(struct store *store)
{
    const struct redis *r = store->own;
    int error = 0;
    socklen_t size = sizeof error;
    enum outcome outcome = begin_in_time(store);

    if (outcome != STORE_OK)
        return outcome;
    if (!store_wait(store, r->context->fd, POLLOUT))
        return STORE_AGAIN;
    if (getsockopt(r->context->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    return error ? store_fail(store, STORE_AGAIN, "cannot connect: %s", strerror(error)) : STORE_OK;
}

/* A command with the reply OK. */
static enum outcome say(struct store *store, int n, const char **words)
{
    redisReply *reply;
    enum outcome outcome = redis_command(store, REDIS_REPLY_STATUS, ANSWER_MOST, n, words, &reply);

    freeReplyObject(reply);
    return outcome;
}

static enum outcome log_in(struct store *store)
{
    const struct redis *r = store->own;
    const char *user = store->url.user;
    const char *both[] = {"AUTH", user, r->password}, *one[] = {"AUTH", r->password};
    const char *select[] = {"SELECT", r->database};
    enum outcome outcome = STORE_OK;

    if (r->password)
        outcome = user && *user ? say(store, 3, both) : say(store, 2, one);
    if (outcome == STORE_OK && r->database)
        outcome = say(store, 2, select);
    return outcome;
}

/* Does the server have SMISMEMBER? Versions differ between Redis and its forks, so try it. */
static enum outcome try_many(struct store *store)
{
    struct redis *r = store->own;
    const char *words[] = {"SMISMEMBER", store->url.path, ""};
    redisReply *reply = NULL;
    enum outcome outcome = redis_send(store, 3, words, NULL);

    if (outcome == STORE_OK)
        outcome = redis_next(store, ANSWER_MOST, &reply);
    if (outcome == STORE_OK)
        r->one_by_one = reply->type == REDIS_REPLY_ERROR;
    freeReplyObject(reply);
    return outcome;
}

enum outcome redis_connect(struct store *store)
{
    struct redis *r = store->own;
    uint64_t members = 0;
    enum outcome outcome;

    if (r->context)
        return STORE_OK;
    outcome = reach(store);
    if (outcome == STORE_OK)
        outcome = log_in(store);
    if (outcome == STORE_OK)
        outcome = redis_count(store, &members);
    if (outcome == STORE_OK)
        outcome = redis_check_members(store, members, true);
    return outcome == STORE_OK ? try_many(store) : outcome;
}

void redis_disconnect(struct store *store)
{
    struct redis *r = store->own;

    if (r->context)
        redisFree(r->context);
    r->context = NULL;
}
