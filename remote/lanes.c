/* lanes.c - queues of commands, one per key; the calls that other threads make on them; and the
 * thread that sends and receives, which waits only in poll(), without the lock. */
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

#define UNSENT_MOST (1 << 20) /* bytes per connection; further commands wait in their lane */
#define LOOK_EVERY 20         /* milliseconds between two checks while commands are waiting */
#define IDLE 500              /* milliseconds otherwise */
#define STEP_MOST                                                                                  \
    0.25                 /* seconds that patience loses between two looks: a process that was      \
                          * stopped, as on a laptop that slept, has not waited */
#define AFTER_SIGNAL 1.0 /* seconds of patience left when the run is to end */
#define NO_HANDSHAKE "no answer to the TLS handshake; use redis:// if this port does not use TLS"
#define FIRST_REPLY_MOST 5.0 /* seconds for the first reply of a run: its address may be wrong */

/* ---- giving up ---- */

static void give_up(struct remote *r, const char *format, va_list args)
{
    char text[1024], *shown;

    if (r->failed)
        return;
    vsnprintf(text, sizeof text, format, args);
    shown = secrets_tidy(&r->url.secrets, text);
    snprintf(r->failure, sizeof r->failure, "%s", shown ? shown : "out of memory");
    free(shown);
    r->failed = true;
    pthread_cond_broadcast(&r->changed);
}

void remote_give_up(struct remote *r, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    give_up(r, format, args);
    va_end(args);
}

bool remote_fail(struct remote *r, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    pthread_mutex_lock(&r->lock);
    give_up(r, format, args);
    pthread_mutex_unlock(&r->lock);
    va_end(args);
    return false;
}

/* ---- time ---- */

static double system_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void go_on_clock(struct remote *r)
{
    double now = system_clock(), step = r->last > 0 ? now - r->last : 0;

    r->clock += step > STEP_MOST ? STEP_MOST : step;
    r->last = now;
}

void remote_has_waited(struct remote *r)
{
    double now = system_clock();

    r->clock += now - r->last;
    r->last = now;
}

static double patience(const struct remote *r)
{
    double most = r->options.timeout;

    if (!r->answered && most > FIRST_REPLY_MOST)
        most = FIRST_REPLY_MOST;
    if (r->options.interrupted && r->options.interrupted() && most > AFTER_SIGNAL)
        most = AFTER_SIGNAL;
    return most;
}

/* No error occurred, only a timeout. */
static void describe_silence(struct remote *r, const struct lane *l)
{
    const struct node *n = l->asked ? l->asked : r->owner[l->slot];

    for (uint32_t i = 0; i < r->nodes; i++) {
        const struct wire *w = &r->node[i]->connection.wire;

        if (w->fd >= 0 && w->stage == WIRE_SHAKING) {
            snprintf(r->problem, sizeof r->problem, "%s: " NO_HANDSHAKE, r->node[i]->name);
            return;
        }
    }
    if (n || !r->known)
        snprintf(r->problem, sizeof r->problem, "%s: incomplete reply", n ? n->name : r->url.name);
    else
        snprintf(r->problem, sizeof r->problem, "no node owns the slot of the filter");
}

static void look_at_lanes(struct remote *r)
{
    double most = patience(r);

    for (uint32_t i = 0; i < r->lanes; i++) {
        const struct remote_command *c = r->lane[i].first;

        if (c && c->since > 0 && r->clock - c->since > most) {
            if (!*r->problem)
                describe_silence(r, &r->lane[i]);
            remote_give_up(r, "%s (waited %.3g s)", r->problem, most);
            return;
        }
    }
}

/* Drop nodes that owe a reply for too long. */
static void look_at_nodes(struct remote *r)
{
    double most = r->options.timeout / 3;

    for (uint32_t i = 0; i < r->nodes; i++) {
        struct node *n = r->node[i];
        const struct wire *w = &n->connection.wire;
        bool waiting = w->fd >= 0 && (w->stage != WIRE_OPEN || n->count > 0);

        if (!waiting || r->clock - n->alive <= most)
            continue;
        if (w->stage == WIRE_SHAKING)
            node_drop(r, n, NO_HANDSHAKE);
        else
            node_drop(r, n,
                      w->stage == WIRE_OPEN ? "no answer within %.3g s"
                                            : "cannot connect within %.3g s",
                      most);
    }
}

/* ---- lanes ---- */

/* Microseconds since 1970: 16 digits until the year 2286. */
static uint64_t now_in_microseconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void command_number(struct remote_command *c)
{
    struct lane *l = c->lane;
    uint64_t now = now_in_microseconds();
    char digits[24];

    l->number = now > l->number ? now : l->number + 1;
    snprintf(digits, sizeof digits, "%016llu", (unsigned long long)l->number);
    memcpy((char *)(uintptr_t)c->text + c->number_at, digits, REMOTE_DIGITS);
}

static void lane_add(struct lane *l, struct remote_command *c)
{
    c->lane = l;
    c->next = NULL;
    c->state = COMMAND_QUEUED;
    *l->end = c;
    l->end = &c->next;
}

static void lane_remove(struct lane *l, struct remote_command *c)
{
    struct remote_command **at = &l->first;

    while (*at && *at != c)
        at = &(*at)->next;
    if (*at)
        *at = c->next;
    if (l->end == &c->next)
        l->end = at;
}

void command_done(struct remote *r, struct remote_command *c)
{
    struct lane *l = c->lane;

    c->state = COMMAND_DONE;
    lane_remove(l, c);
    l->unfinished--;
    l->pause = 0;
    l->answered |= !l->again;
    if (--*c->outstanding == 0)
        pthread_cond_broadcast(&r->changed);
}

void lane_again(struct remote *r, struct remote_command *c, bool pause)
{
    struct lane *l = c->lane;

    c->state = COMMAND_QUEUED;
    l->unfinished--;
    l->again = true;
    l->answered = false;
    r->figures.retries++;
    if (!pause || r->clock < l->not_before)
        return;
    l->pause = l->pause == 0 ? FIRST_PAUSE : l->pause * 2;
    l->pause = l->pause > LONGEST_PAUSE ? LONGEST_PAUSE : l->pause;
    l->not_before = r->clock + l->pause;
}

/* A node that takes over the slot accepts a command only after ASKING. */
static bool send_asking(const struct lane *l, struct node *n)
{
    return !l->asked || node_ask(n, (struct expected_reply){.kind = TO_ASKING}, "ASKING");
}

static bool send_create(const struct remote *r, const struct lane *l, struct node *n)
{
    return node_ask(n, (struct expected_reply){.kind = TO_CREATE}, "WEIR.CREATE %s %s NX", l->key,
                    r->spec) &&
           send_asking(l, n);
}

static bool send_one(const struct remote *r, struct lane *l, struct remote_command *c,
                     struct node *n)
{
    if (!send_asking(l, n) || (l->lost && !send_create(r, l, n)))
        return false;
    l->lost = false;
    if (n->count == 0)
        n->alive = r->clock;
    if (c->number_at && c->sends == 0)
        command_number(c);
    if (!node_put(n, c->text, c->size, (struct expected_reply){.kind = TO_COMMAND, .command = c}))
        return false;
    c->state = COMMAND_SENT;
    c->sends++;
    c->wait = n->waits + 1;
    n->unwaited |= c->writes;
    l->under_way++;
    l->unfinished++;
    return true;
}

/* The timeout of a command starts when it becomes the first of its lane. */
static void begin_patience(const struct remote *r, const struct lane *l)
{
    if (l->first && l->first->since == 0)
        l->first->since = r->clock;
}

/* The first command, and one that is sent again, goes alone: if the server refuses it, no later
 * command was carried out before it. */
static void lane_send(struct remote *r, struct lane *l)
{
    uint32_t max = l->answered ? IN_FLIGHT : 1;
    struct node *n = l->asked ? l->asked : r->owner[l->slot];

    begin_patience(r, l);
    if (!l->first || r->clock < l->not_before || (l->again && l->under_way > 0))
        return;
    if (!n) {
        slots_soon(r);
        return;
    }
    node_connect(r, n);
    if (!node_is_ready(n) || !n->understood)
        return;
    l->again = false;
    for (struct remote_command *c = l->first; c && l->unfinished < max; c = c->next) {
        if (c->state != COMMAND_QUEUED)
            continue;
        if (wire_unsent(&n->connection.wire) > UNSENT_MOST)
            return;
        if (!send_one(r, l, c, n)) {
            node_drop(r, n, "out of memory");
            return;
        }
    }
}

/* ---- from other threads ---- */

void remote_put(struct remote *r, struct remote_command *list, size_t count)
{
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < count && !r->failed; i++) {
        lane_add(list[i].lane, &list[i]);
        r->figures.commands += list[i].verdicts != NULL;
    }
    pthread_mutex_unlock(&r->lock);
    (void)eventfd_write(r->wake, 1);
}

bool remote_wait(struct remote *r, const uint32_t *outstanding)
{
    pthread_mutex_lock(&r->lock);
    while (*outstanding > 0 && !r->failed)
        pthread_cond_wait(&r->changed, &r->lock);
    bool good = *outstanding == 0;
    pthread_mutex_unlock(&r->lock);
    return good;
}

bool call_begin(struct remote *r, struct call *c, uint32_t lane, int n, const char *const *words,
                const size_t *sizes, bool refusable)
{
    long long size;

    *c = (struct call){.outstanding = 1};
    size = redisFormatCommandArgv(&c->text, n, (const char **)(uintptr_t)words, sizes);
    if (size < 0)
        return false;
    c->command = (struct remote_command){.lane = &r->lane[lane],
                                         .text = c->text,
                                         .size = (size_t)size,
                                         .outstanding = &c->outstanding,
                                         .refusable = refusable};
    remote_put(r, &c->command, 1);
    return true;
}

redisReply *call_finish(struct remote *r, struct call *c)
{
    return c->text && remote_wait(r, &c->outstanding) ? c->command.reply : NULL;
}

void call_free(struct call *c)
{
    freeReplyObject(c->command.reply);
    redisFreeCommand(c->text);
    *c = (struct call){0};
}

/* ---- sending and receiving ---- */

/* After the commands of this round, send one WAIT for all of them. */
static void ask_replicas(struct remote *r, struct node *n)
{
    if (!r->options.replicas || !n->unwaited || !node_is_ready(n))
        return;
    n->unwaited = false;
    n->waits++;
    if (!node_ask(n, (struct expected_reply){.kind = TO_WAIT, .wait = n->waits}, "WAIT %u %d",
                  r->options.replicas, 1 + (int)(r->options.timeout * 1000 / 8)))
        node_drop(r, n, "out of memory");
}

static void send_all(struct remote *r)
{
    for (uint32_t i = 0; i < r->lanes; i++)
        if (r->lane[i].first)
            lane_send(r, &r->lane[i]);
    for (uint32_t i = 0; i < r->nodes; i++) {
        struct node *n = r->node[i];

        ask_replicas(r, n);
        if (node_is_ready(n) && wire_unsent(&n->connection.wire) > 0 &&
            !wire_send(&n->connection.wire))
            node_lose(r, n, "");
    }
}

static void handle(struct remote *r, struct node *n, short events)
{
    struct wire *w = &n->connection.wire;
    bool connecting = w->stage == WIRE_CONNECTING;
    size_t came = 0;

    if (w->fd < 0 || !events)
        return;
    if (w->stage != WIRE_OPEN) {
        if (!wire_settle(w))
            node_lose(r, n, w->stage == WIRE_CONNECTING ? "cannot connect: " : "");
        else if (connecting || w->stage == WIRE_OPEN)
            n->alive = r->clock;
        return;
    }
    if (!(events & ~POLLOUT))
        return;
    if (!connection_receive(&n->connection, &came)) {
        node_lose(r, n, "");
        return;
    }
    if (came > 0) {
        n->alive = r->clock;
        answers_take(r, n);
    }
}

static bool is_waiting(const struct remote *r)
{
    for (uint32_t i = 0; i < r->lanes; i++)
        if (r->lane[i].first)
            return true;
    return false;
}

/* Wait for events, without the lock. */
static bool wait_for_events(struct remote *r, struct pollfd *list, uint32_t *n)
{
    int time = is_waiting(r) ? LOOK_EVERY : IDLE, came;

    *n = r->nodes;
    list[0] = (struct pollfd){.fd = r->wake, .events = POLLIN};
    for (uint32_t i = 0; i < *n; i++) {
        const struct wire *w = &r->node[i]->connection.wire;

        list[i + 1] = (struct pollfd){.fd = w->fd, .events = wire_events(w)};
    }
    pthread_mutex_unlock(&r->lock);
    came = poll(list, *n + 1, time);
    if (list[0].revents) {
        eventfd_t count;

        (void)eventfd_read(r->wake, &count);
    }
    pthread_mutex_lock(&r->lock);
    return came > 0;
}

void *remote_loop(void *remote)
{
    struct remote *r = remote;
    struct pollfd *list = calloc(NODES_MOST + 1, sizeof *list);
    sigset_t pipe;
    uint32_t n;

    sigemptyset(&pipe); /* OpenSSL sends without MSG_NOSIGNAL */
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    pthread_mutex_lock(&r->lock);
    if (!list)
        remote_give_up(r, "out of memory");
    while (!r->closing && !r->failed) {
        go_on_clock(r);
        slots_ask(r);
        send_all(r);
        if (wait_for_events(r, list, &n))
            for (uint32_t i = 0; i < n && !r->failed; i++)
                handle(r, r->node[i], list[i + 1].revents);
        go_on_clock(r);
        look_at_nodes(r);
        slots_doubt(r);
        look_at_lanes(r);
    }
    pthread_mutex_unlock(&r->lock);
    free(list);
    return NULL;
}
