/* answers.c - handle the replies of servers: results, redirections, errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

/* The first word of an error reply is its code. The rest is for people and is not parsed, except
 * the arguments of MOVED, ASK and WEIRGONE. */
static bool has_code(const char *text, const char *code)
{
    size_t size = strlen(code);

    return strncmp(text, code, size) == 0 && (text[size] == ' ' || text[size] == '\0');
}

/* Transient errors: the command is sent again. */
static bool passes(const char *text)
{
    static const char *const codes[] = {"LOADING",    "BUSY",    "TRYAGAIN", "CLUSTERDOWN",
                                        "MASTERDOWN", "MISCONF", "OOM",      "NOREPLICAS"};

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (has_code(text, codes[i]))
            return true;
    return false;
}

/* "MOVED 3999 127.0.0.1:6381": the node, or NULL. No host, or "?": the node that replied. */
static struct node *redirected(struct remote *r, const struct node *from, const char *text,
                               unsigned *slot)
{
    char host[256];
    const char *at = strchr(text, ' '), *to = at ? strchr(at + 1, ' ') : NULL;
    const char *colon = to ? strrchr(to, ':') : NULL;
    unsigned long port = colon ? strtoul(colon + 1, NULL, 10) : 0;

    *slot = at ? (unsigned)strtoul(at + 1, NULL, 10) : SLOTS;
    if (!colon || *slot >= SLOTS || port == 0 || port > 65535 || (size_t)(colon - to) > sizeof host)
        return NULL;
    snprintf(host, sizeof host, "%.*s", (int)(colon - to) - 1, to + 1);
    if (!*host || strcmp(host, "?") == 0)
        return node_at(r, from->port ? from->host : "localhost", (int)port);
    return node_at(r, host, (int)port);
}

static void follow(struct remote *r, const struct node *n, struct remote_command *c,
                   const char *text)
{
    bool moved = has_code(text, "MOVED");
    unsigned slot;
    struct node *to = redirected(r, n, text, &slot);

    if (!to) {
        remote_give_up(r, "%s: invalid redirection: %s", n->name, text);
        return;
    }
    r->figures.redirections++;
    snprintf(r->problem, sizeof r->problem, "%s: %.200s", n->name, text);
    if (moved) {
        r->owner[slot] = to;
        c->lane->asked = NULL;
        slots_soon(r);
    } else {
        c->lane->asked = to;
    }
    lane_again(r, c, to == n); /* a redirection to itself may resolve soon */
}

static void take_refusal(struct remote *r, const struct node *n, struct remote_command *c,
                         const char *text)
{
    char why[480];

    snprintf(why, sizeof why, "%s, key %.200s: %s", n->name, c->lane->key, text);
    c->restart = has_code(text, "WEIRRESTART") || (c->sends > 0 && has_code(text, "WEIREXISTS"));
    if (!c->refusable) {
        remote_give_up(r, "%s", why);
        return;
    }
    memcpy(r->refusal, why, sizeof why);
    command_done(r, c);
}

/* "WEIRGONE 1700000000000000": a server that has evicted producers requires numbers above all of
 * theirs, and the clock of one of them was ahead of ours. If the reply to an earlier attempt was
 * lost, that attempt may have been carried out, and the command is not sent again. */
static bool wants_higher_number(struct remote_command *c, const char *text)
{
    static const char code[] = "WEIRGONE";
    const char *digits = has_code(text, code) ? text + strlen(code) : "";
    char *end;
    unsigned long long number = strtoull(digits, &end, 10);

    if (end == digits || c->sends > 0 || !c->number_at || number >= REMOTE_NUMBER_MOST)
        return false;
    if (c->lane->number < number)
        c->lane->number = number;
    return true;
}

static void take_error(struct remote *r, struct node *n, struct remote_command *c, const char *text)
{
    c->sends--;
    if (has_code(text, "MOVED") || has_code(text, "ASK")) {
        follow(r, n, c, text);
    } else if (has_code(text, "READONLY")) {
        lane_again(r, c, true);
        node_drop(r, n, "%s", text);
    } else if (passes(text)) {
        snprintf(r->problem, sizeof r->problem, "%s: %.200s", n->name, text);
        lane_again(r, c, true);
        slots_soon(r);
    } else if (wants_higher_number(c, text)) {
        lane_again(r, c, false);
    } else if (has_code(text, "WEIRNOKEY") && c->verdicts && *r->spec) {
        r->figures.lost++;
        c->lane->lost = true;
        lane_again(r, c, true);
    } else {
        take_refusal(r, n, c, text);
    }
}

static void take_answer(struct remote *r, struct node *n, struct remote_command *c)
{
    if (!r->options.replicas || !c->writes) {
        command_done(r, c);
        return;
    }
    c->state = COMMAND_ANSWERED;
    c->next_answered = n->answered;
    n->answered = c;
}

/* ---- replicas ---- */

static void finish_waited(struct remote *r, struct node *n, uint64_t wait)
{
    struct remote_command **at = &n->answered;

    while (*at) {
        struct remote_command *c = *at;

        if (c->wait > wait) { /* a later WAIT covers it */
            at = &c->next_answered;
            continue;
        }
        *at = c->next_answered;
        command_done(r, c);
    }
}

static bool take_wait(struct remote *r, struct node *n, const redisReply *reply, uint64_t wait)
{
    if (reply->type != REDIS_REPLY_INTEGER)
        return false;
    if (reply->integer >= (long long)r->options.replicas) {
        finish_waited(r, n, wait);
        return true;
    }
    snprintf(r->problem, sizeof r->problem,
             "%s: %lld of %u replicas acknowledged; --wait needs as many running replicas", n->name,
             reply->integer, r->options.replicas);
    n->unwaited = true; /* ask again */
    return true;
}

/* ---- the module's protocol ---- */

/* The field `protocol` of a flat map; 0 if there is none. */
static long long protocol_of(const redisReply *reply)
{
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2) {
        const redisReply *name = reply->element[i], *value = reply->element[i + 1];

        if ((name->type == REDIS_REPLY_STATUS || name->type == REDIS_REPLY_STRING) &&
            strcmp(name->str, "protocol") == 0 && value->type == REDIS_REPLY_INTEGER)
            return value->integer;
    }
    return 0;
}

static void refuse_older(struct remote *r, const struct node *n)
{
    remote_give_up(r, "server %s: uses an older protocol; upgrade weir.so on the server", n->name);
}

/* The reply to WEIR.INFO without a key. Without the module, and with that of 0.2.0, it is an error
 * with the code ERR. COMMAND GETKEYS distinguishes the two. */
static bool take_protocol(struct remote *r, struct node *n, const redisReply *reply)
{
    bool error = reply->type == REDIS_REPLY_ERROR;
    long long protocol = protocol_of(reply);

    if (!error && reply->type != REDIS_REPLY_ARRAY)
        return false;
    if (error && has_code(reply->str, "ERR")) {
        if (!node_ask(n, (struct expected_reply){.kind = TO_GETKEYS},
                      "COMMAND GETKEYS WEIR.INFO key"))
            node_drop(r, n, "out of memory");
    } else if (error && passes(reply->str)) {
        node_drop(r, n, "%.200s", reply->str);
    } else if (error) {
        remote_give_up(r, "%s: %s", n->name, reply->str);
    } else if (protocol < REMOTE_PROTOCOL) {
        refuse_older(r, n);
    } else if (protocol > REMOTE_PROTOCOL) {
        remote_give_up(r,
                       "server %s: uses protocol %lld, this weir supports %d; upgrade weir on this "
                       "machine",
                       n->name, protocol, REMOTE_PROTOCOL);
    } else {
        n->understood = true;
    }
    return true;
}

/* The reply to COMMAND GETKEYS WEIR.INFO: an array if the command exists. */
static void take_keys(struct remote *r, const struct node *n, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ARRAY)
        refuse_older(r, n);
    else
        remote_give_up(r,
                       "server %s: weir.so is not loaded%s; add 'loadmodule "
                       "/usr/local/lib/weir/weir.so' to its configuration",
                       n->name,
                       reply->type == REDIS_REPLY_ERROR && has_code(reply->str, "ERR")
                           ? ""
                           : ", or uses an older protocol");
}

/* ---- one reply ---- */

/* A reply to a command outside the lanes. False if it cannot be one. */
static bool take_other(struct remote *r, struct node *n, struct expected_reply e,
                       const redisReply *reply)
{
    bool error = reply->type == REDIS_REPLY_ERROR;

    switch (e.kind) {
    case TO_LOGIN:
        if (error)
            remote_give_up(r, "%s: %s", n->name, reply->str);
        return reply->type == REDIS_REPLY_STATUS || error;
    case TO_PROTOCOL:
        return take_protocol(r, n, reply);
    case TO_GETKEYS:
        take_keys(r, n, reply);
        return true;
    case TO_CREATE:
        if (error && !has_code(reply->str, "MOVED") && !has_code(reply->str, "ASK") &&
            !passes(reply->str))
            remote_give_up(r, "%s: cannot create a lost shard again: %s", n->name, reply->str);
        return true;
    case TO_WAIT:
        return !error && take_wait(r, n, reply, e.wait);
    case TO_SLOTS:
        r->asking_slots = false;
        if (error && (passes(reply->str) || has_code(reply->str, "NOAUTH"))) {
            snprintf(r->problem, sizeof r->problem, "%s: %.200s", n->name, reply->str);
            if (!passes(reply->str))
                remote_give_up(r, "%s: %s", n->name, reply->str);
            slots_soon(r);
            return true;
        }
        return slots_take(r, n, reply);
    default:
        return true;
    }
}

/* A reply to a command of a lane, as an object. False if weir.so cannot have sent it. */
static bool take_object(struct remote *r, struct node *n, struct remote_command *c,
                        redisReply *reply)
{
    c->lane->under_way--;
    if (reply->type == REDIS_REPLY_ERROR)
        take_error(r, n, c, reply->str);
    else if (c->verdicts)
        return false;
    else {
        c->reply = reply;
        take_answer(r, n, c);
    }
    return true;
}

static bool take_one(struct remote *r, struct node *n, struct expected_reply e,
                     enum reply_kind kind, redisReply *reply)
{
    if (e.kind != TO_COMMAND) {
        bool good = take_other(r, n, e, reply);

        freeReplyObject(reply);
        return good;
    }
    if (kind == REPLY_VERDICTS) {
        e.command->lane->under_way--;
        take_answer(r, n, e.command);
        return true;
    }
    bool good = take_object(r, n, e.command, reply);
    if (!good)
        lane_again(r, e.command, false);
    if (!good || reply->type == REDIS_REPLY_ERROR)
        freeReplyObject(reply);
    return good;
}

/* An unexpected reply. Before the first valid one, the address is probably wrong. */
static bool refuse(struct remote *r, struct node *n)
{
    if (!n->good)
        remote_give_up(r, "%s: unexpected reply; expected Redis or Valkey with weir.so", n->name);
    else
        node_drop(r, n, "unexpected reply");
    return false;
}

bool answers_take(struct remote *r, struct node *n)
{
    struct reply_reader *replies = &n->connection.replies;

    while (!r->failed && n->connection.wire.fd >= 0) {
        struct expected_reply e = {.kind = TO_ASKING};
        redisReply *reply;

        if (n->count > 0)
            e = n->expected[n->first];
        if (!replies->begun) {
            bool verdicts = n->count > 0 && e.kind == TO_COMMAND && e.command->verdicts;

            replies->wish =
                verdicts ? (struct reply_wish){e.command->verdicts, e.command->n, false, false}
                         : (struct reply_wish){0};
            replies->begun = true;
        }
        enum reply_kind kind = reply_next(replies, &reply);
        replies->begun = kind == REPLY_NONE && replies->came > 0;
        if (kind == REPLY_NONE)
            return true;
        if (kind == REPLY_GARBAGE || n->count == 0) {
            if (reply)
                freeReplyObject(reply);
            return refuse(r, n);
        }
        n->first = (n->first + 1) % n->room;
        n->count--;
        if (!take_one(r, n, e, kind, reply))
            return refuse(r, n);
        n->good = r->answered = true;
        n->pause = 0;
    }
    return !r->failed;
}
