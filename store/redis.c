/* redis.c - redis://HOST:PORT/KEY, a set of Redis or Valkey; rediss:// with TLS, and
 * redis+unix:///SOCKET/KEY.
 *
 * A batch is sent as several SMISMEMBER in one pipeline. Servers before 6.2 get one SISMEMBER per
 * key. A SCARD follows: if the server lost the set meanwhile, every key would be a non-member, so
 * the answers are used only if the set still exists.
 *
 * All waiting is poll() with the deadline of the attempt. A connection that fails is closed; the
 * next attempt opens a new one. The server is not trusted: all replies are limited. */
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "connection.h"

#define CHUNK_KEYS 1024       /* max keys per command */
#define CHUNK_BYTES (1 << 20) /* max bytes per command, except for one longer key */
#define LISTED "1000"
#define LISTED_MOST 16 /* max listed members, divided by the members of the set */
#define ROUNDS_MOST 1000

/* Max bytes of one reply: four times that of a lookup, some hundred times that of a list; chosen.
 */
#define ANSWER_MOST (1 << 20)
#define LIST_MOST (1 << 28)

struct redis {
    struct background *looking_up; /* the host */
    struct connection connection;
    struct tls *tls;      /* NULL: without TLS */
    char *host;           /* without its port */
    char *password;       /* of the address, or of the environment */
    const char *database; /* number, or NULL */
    uint64_t members;     /* of the set at the last valid check; 0: unknown */
    uint64_t doubted;     /* the call that found the set too small; 0: none */
    bool one_by_one;      /* the server has no SMISMEMBER */
};

/* ---- replies ---- */

static enum outcome fail(struct store *store)
{
    const struct wire *w = &((struct redis *)store->own)->connection.wire;

    /* what is wrong with a certificate at the start may pass during a long run */
    return store_fail(store, w->refused && !store->opened ? STORE_REFUSED : STORE_AGAIN, "%s",
                      w->why);
}

static enum outcome fail_parser(struct store *store)
{
    const redisReader *reader = ((struct redis *)store->own)->connection.replies.reader;

    if (reader->err == REDIS_ERR_OOM)
        return store_fail(store, STORE_REFUSED,
                          "its reply is too long for a set, or out of memory");
    return store_fail(store, STORE_AGAIN, "%s", reader->errstr);
}

/* Record an unexpected reply as the failure. */
static enum outcome fail_reply(struct store *store, const redisReply *reply)
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

/* Queue a command. */
static enum outcome send_command(struct store *store, int n, const char **words,
                                 const size_t *sizes)
{
    struct wire *w = &((struct redis *)store->own)->connection.wire;
    char *text = NULL;
    long long size = redisFormatCommandArgv(&text, n, words, sizes);
    bool queued = size >= 0 && wire_put(w, text, (size_t)size);

    if (text)
        redisFreeCommand(text);
    return queued ? STORE_OK : store_fail(store, STORE_AGAIN, "out of memory");
}

/* Send, wait, and receive. */
static enum outcome exchange(struct store *store)
{
    struct connection *c = &((struct redis *)store->own)->connection;
    size_t came;
    int events;

    if (wire_unsent(&c->wire) > 0 && !wire_send(&c->wire))
        return fail(store);
    events = store_wait(store, c->wire.fd, wire_events(&c->wire));
    if (!events)
        return STORE_AGAIN;
    return (events & ~POLLOUT) && !connection_receive(c, &came) ? fail(store) : STORE_OK;
}

/* Send, and wait for the next reply of at most `most` bytes. NULL after a failure. */
static enum outcome next_reply(struct store *store, size_t most, redisReply **reply)
{
    struct reply_reader *replies = &((struct redis *)store->own)->connection.replies;
    enum outcome outcome = STORE_OK;

    while (outcome == STORE_OK) {
        enum reply_kind kind = reply_next(replies, reply);

        if (kind != REPLY_NONE)
            return kind == REPLY_OBJECT ? STORE_OK : fail_parser(store);
        if (replies->came > most)
            return store_fail(store, STORE_REFUSED, "its reply is too long for a set");
        outcome = exchange(store);
    }
    return outcome;
}

/* One command and its reply, which has this type; NULL after a failure. */
static enum outcome run_command(struct store *store, int type, size_t most, int n,
                                const char **words, redisReply **reply)
{
    enum outcome outcome = send_command(store, n, words, NULL);

    *reply = NULL;
    if (outcome == STORE_OK)
        outcome = next_reply(store, most, reply);
    if (outcome == STORE_OK && (*reply)->type != type)
        outcome = fail_reply(store, *reply);
    if (outcome != STORE_OK) {
        freeReplyObject(*reply);
        *reply = NULL;
    }
    return outcome;
}

/* ---- the set ---- */

static bool read_count(const redisReply *reply, uint64_t *members)
{
    if (reply->type != REDIS_REPLY_INTEGER || reply->integer < 0)
        return false;
    *members = (uint64_t)reply->integer;
    return true;
}

static enum outcome count_members(struct store *store, uint64_t *members)
{
    const char *words[] = {"SCARD", store->url.path};
    redisReply *reply;
    enum outcome outcome = run_command(store, REDIS_REPLY_INTEGER, ANSWER_MOST, 2, words, &reply);

    if (reply && !read_count(reply, members))
        outcome = fail_reply(store, reply);
    freeReplyObject(reply);
    return outcome;
}

/* Redis has no empty sets: if the key is missing, it was mistyped or the server lost its data. If
 * the set is smaller than at the last connection, or half as large as at the last reply, it may be
 * reloading: the call is retried. If it stays small until the call fails, the next call accepts it.
 */
static enum outcome check_members(struct store *store, uint64_t members, bool new_connection)
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

static bool read_address(struct store *store)
{
    struct redis *r = store->own;
    const char *secret = getenv("REDISCLI_AUTH");
    char why[200];
    int port = 0;
    const char *host = store->url.host;
    bool right = *store->url.path &&
                 (store->url.socket ||
                  (!strchr(host, ',') && wire_split(host, host + strlen(host), &r->host, &port)));

    if (!right)
        return store_refuse(store, "invalid address of a set; expected %s", store->backend->form);
    if (!redis_tls(&store->url, &r->tls, why, sizeof why))
        return store_refuse(store, "%s", why);
    if (store->url.password || (secret && *secret))
        r->password = strdup(store->url.password ? store->url.password : secret);
    if (!secrets_add(&store->url.secrets, r->password, A_PASSWORD))
        return store_refuse(store, "out of memory");
    r->database = url_value(&store->url, "db");
    return true;
}

static bool open_url(struct store *store)
{
    struct redis *r = store->own = calloc(1, sizeof *r);

    if (!r)
        return store_refuse(store, "out of memory");
    r->connection.wire.fd = -1;
    return read_address(store);
}

static void close_url(struct store *store)
{
    struct redis *r = store->own;

    background_abandon(&r->looking_up);
    wire_close(&r->connection.wire);
    tls_close(r->tls);
    free(r->host);
    free(r->password);
    free(r);
}

/* ---- connecting ---- */

struct looked_up {
    struct addrinfo *list; /* NULL: see why */
    const char *why;
};

static void *look_up(const char *place)
{
    struct looked_up *found = calloc(1, sizeof *found);
    char *host;
    int port;

    if (found && wire_split(place, place + strlen(place), &host, &port)) {
        found->list = wire_look_up(host, port, &found->why);
        free(host);
    }
    return found;
}

static void discard(void *result)
{
    struct looked_up *found = result;

    if (found->list)
        freeaddrinfo(found->list);
    free(found);
}

/* Wait until the connection is open. */
static enum outcome settle(struct store *store, bool begun)
{
    struct wire *w = &((struct redis *)store->own)->connection.wire;

    while (begun && w->stage != WIRE_OPEN) {
        if (!store_wait(store, w->fd, wire_events(w)))
            return w->stage == WIRE_CONNECTING || store_now() < store->deadline
                       ? STORE_AGAIN
                       : store_fail(store, STORE_AGAIN,
                                    "no answer to the TLS handshake within %g s; use redis:// if "
                                    "this port does not use TLS",
                                    store->options.timeout);
        begun = wire_settle(w);
    }
    if (begun)
        return STORE_OK;
    if (w->stage == WIRE_SHAKING)
        return fail(store);
    return store_fail(store, STORE_AGAIN, "cannot connect: %s", w->why);
}

/* The addresses of a host in turn, until one accepts. */
static enum outcome reach_one_of(struct store *store, const struct looked_up *found)
{
    struct redis *r = store->own;
    enum outcome outcome = STORE_AGAIN;

    if (!found->list)
        return store_fail(store, STORE_AGAIN, "cannot connect: %s",
                          found->why ? found->why : "out of memory");
    for (const struct addrinfo *a = found->list; a; a = a->ai_next) {
        outcome = settle(store, wire_connect(&r->connection.wire, a, r->tls, r->host));
        if (outcome == STORE_OK || r->connection.wire.stage != WIRE_CONNECTING)
            break;
        wire_close(&r->connection.wire);
    }
    return outcome;
}

static enum outcome reach(struct store *store)
{
    struct redis *r = store->own;
    void *found;
    enum outcome outcome;

    if (store->url.socket)
        return settle(store, wire_connect_path(&r->connection.wire, store->url.host));
    if (!r->looking_up)
        r->looking_up = background_start(look_up, discard, store->url.host);
    if (!r->looking_up)
        return store_fail(store, STORE_AGAIN, "out of memory");
    if (!background_wait(store, &r->looking_up, &found))
        return STORE_AGAIN;
    if (!found)
        return store_fail(store, STORE_AGAIN, "out of memory");
    outcome = reach_one_of(store, found);
    discard(found);
    return outcome;
}

/* A command with the reply OK. */
static enum outcome say(struct store *store, int n, const char **words)
{
    redisReply *reply;
    enum outcome outcome = run_command(store, REDIS_REPLY_STATUS, ANSWER_MOST, n, words, &reply);

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
    enum outcome outcome = send_command(store, 3, words, NULL);

    if (outcome == STORE_OK)
        outcome = next_reply(store, ANSWER_MOST, &reply);
    if (outcome == STORE_OK)
        r->one_by_one = reply->type == REDIS_REPLY_ERROR;
    freeReplyObject(reply);
    return outcome;
}

/* Connect, log in, check that the set exists. */
static enum outcome connect_to_set(struct store *store)
{
    struct redis *r = store->own;
    uint64_t members = 0;
    enum outcome outcome;

    if (r->connection.replies.reader)
        return STORE_OK;
    outcome = reach(store);
    if (outcome == STORE_OK && !reply_open(&r->connection.replies))
        outcome = store_fail(store, STORE_AGAIN, "out of memory");
    if (outcome == STORE_OK)
        outcome = log_in(store);
    if (outcome == STORE_OK)
        outcome = count_members(store, &members);
    if (outcome == STORE_OK)
        outcome = check_members(store, members, true);
    return outcome == STORE_OK ? try_many(store) : outcome;
}

static void disconnect(struct store *store)
{
    struct redis *r = store->own;

    connection_close(&r->connection);
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
    return send_command(store, (int)n + 2, words, sizes);
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
    enum outcome outcome = next_reply(store, ANSWER_MOST, &reply);

    if (outcome == STORE_OK && !read_chunk(reply, n, answers))
        outcome = fail_reply(store, reply);
    freeReplyObject(reply);
    return outcome;
}

static enum outcome send_count(struct store *store)
{
    const char *words[] = {"SCARD", store->url.path};

    return send_command(store, 2, words, NULL);
}

/* Check that the set still exists. */
static enum outcome take_count(struct store *store)
{
    redisReply *reply;
    uint64_t members;
    enum outcome outcome = next_reply(store, ANSWER_MOST, &reply);

    if (outcome == STORE_OK)
        outcome = read_count(reply, &members) ? check_members(store, members, false)
                                              : fail_reply(store, reply);
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
    return outcome == STORE_OK ? take_count(store) : outcome;
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
    enum outcome outcome = run_command(store, REDIS_REPLY_ARRAY, LIST_MOST, 5, words, &reply);

    if (outcome != STORE_OK)
        return outcome;
    if (is_page(reply) && take_members(reply->element[1], take, context)) {
        snprintf(cursor, 24, "%s", reply->element[0]->str);
        *members = reply->element[1]->elements;
    } else {
        outcome = fail_reply(store, reply);
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
                                      .connect = connect_to_set,
                                      .disconnect = disconnect,
                                      .answer = answer,
                                      .size = count_members,
                                      .list = list,
                                      .close = close_url};
