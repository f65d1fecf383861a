/* nodes.c - the nodes of a cluster: their connections, and the owners of slots. A server without
 * cluster mode is one node with all slots. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

#define SLOTS_EVERY 15.0 /* seconds between two CLUSTER SLOTS */
#define SLOTS_SOON 0.1   /* seconds after an error */
#define SILENT 1.0       /* seconds without a reply after which a node may hang; chosen */
#define EXPECTED_FIRST 64

/* ---- one node ---- */

struct node *node_at(struct remote *r, const char *host, int port)
{
    struct node *n, **more;

    for (uint32_t i = 0; i < r->nodes; i++)
        if (r->node[i]->port == port && strcmp(r->node[i]->host, host) == 0)
            return r->node[i];
    if (r->nodes == NODES_MOST)
        return NULL;
    n = calloc(1, sizeof *n);
    more = realloc(r->node, (r->nodes + 1) * sizeof(struct node *));
    if (more)
        r->node = more;
    if (!n || !more || !(n->host = strdup(host))) {
        free(n);
        return NULL;
    }
    n->port = port;
    n->connection.wire.fd = -1;
    if (port == 0)
        snprintf(n->name, sizeof n->name, "%.90s", host);
    else
        snprintf(n->name, sizeof n->name, strchr(host, ':') ? "[%.80s]:%d" : "%.80s:%d", host,
                 port);
    r->node[r->nodes++] = n;
    return n;
}

void node_free(struct node *n)
{
    connection_close(&n->connection);
    free(n->expected);
    free(n->host);
    free(n);
}

bool node_is_ready(const struct node *n)
{
    return n->connection.wire.fd >= 0 && n->connection.wire.stage == WIRE_OPEN;
}

bool node_ask(struct node *n, struct expected_reply e, const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    int size = redisvFormatCommand(&text, format, args);
    va_end(args);
    if (size < 0)
        return false;
    bool put = node_put(n, text, (size_t)size, e);
    explicit_bzero(text, (size_t)size); /* may contain a password */
    redisFreeCommand(text);
    return put;
}

static bool log_in(const struct remote *r, struct node *n)
{
    const struct expected_reply e = {.kind = TO_LOGIN};
    const char *user = r->url.user;

    if (!r->password)
        return true;
    return user && *user ? node_ask(n, e, "AUTH %s %s", user, r->password)
                         : node_ask(n, e, "AUTH %s", r->password);
}

/* The first command of every connection, see take_protocol(). */
static bool ask_protocol(struct node *n)
{
    n->understood = false;
    return node_ask(n, (struct expected_reply){.kind = TO_PROTOCOL}, "WEIR.INFO");
}

void node_connect(struct remote *r, struct node *n)
{
    const struct place place = {n->host, n->port, r->tls};
    bool begun;

    if (n->connection.wire.fd >= 0 || r->clock < n->not_before)
        return;
    begun = connection_begin(&n->connection, &place, n->attempts++);
    remote_has_waited(r); /* for the resolver */
    n->alive = r->clock;
    if (!begun)
        node_lose(r, n, "cannot connect: ");
    else if (!log_in(r, n) || !ask_protocol(n))
        node_drop(r, n, "out of memory");
}

bool node_put(struct node *n, const char *bytes, size_t size, struct expected_reply e)
{
    if (n->count == n->room) {
        size_t room = n->room ? 2 * n->room : EXPECTED_FIRST;
        struct expected_reply *more = malloc(room * sizeof *more);

        if (!more)
            return false;
        for (size_t i = 0; i < n->count; i++)
            more[i] = n->expected[(n->first + i) % n->room];
        free(n->expected);
        n->expected = more;
        n->first = 0;
        n->room = room;
    }
    if (!wire_put(&n->connection.wire, bytes, size))
        return false;
    n->expected[(n->first + n->count++) % n->room] = e;
    return true;
}

/* ---- lost connections ---- */

static void send_all_again(struct remote *r, struct node *n)
{
    for (; n->count > 0; n->count--, n->first = (n->first + 1) % n->room) {
        const struct expected_reply *e = &n->expected[n->first];

        if (e->kind == TO_COMMAND) {
            e->command->lane->under_way--;
            lane_again(r, e->command, false);
        } else if (e->kind == TO_SLOTS) {
            r->asking_slots = false;
        }
    }
    while (n->answered) {
        struct remote_command *c = n->answered;

        n->answered = c->next_answered;
        lane_again(r, c, false);
    }
    n->unwaited = false;
}

void node_drop(struct remote *r, struct node *n, const char *format, ...)
{
    char why[256];
    va_list args;

    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    snprintf(r->problem, sizeof r->problem, "%s: %s", n->name, why);
    connection_close(&n->connection);
    send_all_again(r, n);
    for (uint32_t i = 0; i < r->lanes; i++)
        if (r->lane[i].asked == n)
            r->lane[i].asked = NULL;
    n->pause = n->pause == 0 ? FIRST_PAUSE : n->pause * 2;
    n->pause = n->pause > LONGEST_PAUSE ? LONGEST_PAUSE : n->pause;
    n->not_before = r->clock + n->pause;
    r->figures.reconnects++;
    slots_soon(r);
}

void node_lose(struct remote *r, struct node *n, const char *what)
{
    const struct wire *w = &n->connection.wire;

    if (w->refused && !r->answered)
        remote_give_up(r, "%s: %s%s", n->name, what, w->why);
    node_drop(r, n, "%s%s", what, w->why);
}

/* ---- slots ---- */

void slots_soon(struct remote *r)
{
    if (r->slots_at > r->clock + SLOTS_SOON)
        r->slots_at = r->clock + SLOTS_SOON;
}

/* It owes a reply for long, or was lost and has sent nothing since. */
static bool is_silent(const struct remote *r, const struct node *n)
{
    return n->pause > 0 || (n->count > 0 && r->clock - n->alive > SILENT);
}

/* Round robin, silent nodes last. NULL if none is ready. */
static struct node *whom_to_ask(struct remote *r)
{
    struct node *found = NULL;

    for (uint32_t i = 0; i < r->nodes; i++) {
        struct node *n = r->node[(r->turn + i) % r->nodes];

        if (node_is_ready(n) && (!found || (is_silent(r, found) && !is_silent(r, n))))
            found = n;
    }
    r->turn = (r->turn + 1) % r->nodes;
    return found;
}

void slots_doubt(struct remote *r)
{
    for (uint32_t i = 0; i < r->nodes; i++)
        if (r->node[i]->count > 0 && is_silent(r, r->node[i]) && r->slots_at > r->asked_at + SILENT)
            r->slots_at = r->asked_at + SILENT;
}

void slots_ask(struct remote *r)
{
    struct node *n;

    if (r->asking_slots || r->clock < r->slots_at || (r->alone && r->known))
        return;
    n = whom_to_ask(r);
    if (n) {
        if (n->count == 0)
            n->alive = r->clock;
        r->asking_slots = node_ask(n, (struct expected_reply){.kind = TO_SLOTS}, "CLUSTER SLOTS");
        r->asked_at = r->clock;
        r->slots_at = r->clock + SLOTS_EVERY;
    }
    for (uint32_t i = 0; i < r->nodes && !n; i++)
        node_connect(r, r->node[i]);
}

static void own_all(struct remote *r, struct node *n)
{
    for (uint32_t i = 0; i < SLOTS; i++)
        r->owner[i] = n;
    r->known = true;
}

static bool is_number(const redisReply *reply, long long most)
{
    return reply->type == REDIS_REPLY_INTEGER && reply->integer >= 0 && reply->integer <= most;
}

/* [first, last, [host, port, id, ...], replicas ...]. No host: the node that replied. */
static bool take_range(struct remote *r, const struct node *from, const redisReply *range)
{
    const redisReply *master;
    const char *host;
    struct node *n;

    if (range->type != REDIS_REPLY_ARRAY || range->elements < 3 ||
        !is_number(range->element[0], SLOTS - 1) || !is_number(range->element[1], SLOTS - 1))
        return false;
    master = range->element[2];
    if (master->type != REDIS_REPLY_ARRAY || master->elements < 2 ||
        !is_number(master->element[1], 65535))
        return false;
    host = master->element[0]->type == REDIS_REPLY_STRING ? master->element[0]->str : "";
    if (!*host || strcmp(host, "?") == 0)
        host = from->port ? from->host : "localhost";
    if (master->element[1]->integer == 0) {
        remote_give_up(r,
                       "%s: the cluster reports no port; on servers with TLS only, set "
                       "'tls-cluster yes'",
                       from->name);
        return true;
    }
    n = node_at(r, host, (int)master->element[1]->integer);
    for (long long i = range->element[0]->integer; n && i <= range->element[1]->integer; i++)
        r->owner[i] = n;
    return n != NULL;
}

static bool has_slots(const struct remote *r, const struct node *n)
{
    for (uint32_t i = 0; i < SLOTS; i++)
        if (r->owner[i] == n)
            return true;
    return false;
}

/* Commands sent to a hanging node go to the nodes that own its slots now. */
static void leave_hanging(struct remote *r, const struct node *from)
{
    for (uint32_t i = 0; i < r->nodes; i++) {
        struct node *n = r->node[i];

        if (n != from && n->count > 0 && is_silent(r, n) && !has_slots(r, n))
            node_drop(r, n, "no answer, and other nodes own its slots");
    }
}

bool slots_take(struct remote *r, const struct node *from, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR) {
        if (!r->known) {
            r->alone = true;
            own_all(r, node_at(r, from->host, from->port));
        }
        return true;
    }
    if (reply->type != REDIS_REPLY_ARRAY)
        return false;
    memset(r->owner, 0, sizeof r->owner);
    for (size_t i = 0; i < reply->elements; i++)
        if (!take_range(r, from, reply->element[i]))
            return false;
    for (uint32_t i = 0; i < r->lanes; i++)
        if (r->lane[i].asked == r->owner[r->lane[i].slot])
            r->lane[i].asked = NULL; /* the migration has ended */
    r->known = true;
    r->alone = false;
    leave_hanging(r, from);
    return true;
}

/* ---- slot of a key ---- */

/* CRC-16/XMODEM, as Redis and Valkey use it. Bit by bit: it runs once per key of a run. */
static uint32_t crc16(const char *bytes, size_t size)
{
    uint32_t crc = 0;

    for (size_t i = 0; i < size; i++) {
        crc ^= (uint32_t)(unsigned char)bytes[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1;
    }
    return crc & 0xffff;
}

uint32_t slot_of(const char *key, size_t size)
{
    const char *open = memchr(key, '{', size);
    const char *close = open ? memchr(open, '}', size - (size_t)(open - key)) : NULL;

    if (close && close > open + 1)
        return crc16(open + 1, (size_t)(close - open) - 1) % SLOTS;
    return crc16(key, size) % SLOTS;
}
