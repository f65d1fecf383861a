/* loop.c - the thread that sends and receives. It waits only in poll(), without the lock. */
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

#define LOOK_EVERY 20 /* milliseconds between two checks while commands are waiting */
#define IDLE 500      /* milliseconds otherwise */
#define STEP_MOST                                                                                  \
    0.25                 /* seconds that patience loses between two looks: a process that was      \
                          * stopped, as on a laptop that slept, has not waited */
#define AFTER_SIGNAL 1.0 /* seconds of patience left when the run is to end */
#define NO_HANDSHAKE "no answer to the TLS handshake; use redis:// if this port does not use TLS"
#define FIRST_REPLY_MOST 5.0 /* seconds for the first reply of a run: its address may be wrong */

/* ---- giving up ---- */

char *remote_tidy(const struct remote *r, const char *text)
{
    char *hidden = secrets_hide(&r->url.secrets, text);
    char *shown = hidden ? malloc(3 * strlen(hidden) + 1) : NULL;

    for (char *c = hidden; c && *c; c++)
        if (*c == '\n' || *c == '\r' || *c == '\t')
            *c = ' ';
    if (shown)
        percent_tidy(shown, hidden);
    free(hidden);
    return shown;
}

static void give_up(struct remote *r, const char *format, va_list args)
{
    char text[1024], *shown;

    if (r->failed)
        return;
    vsnprintf(text, sizeof text, format, args);
    shown = remote_tidy(r, text);
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

/* ---- sending and receiving ---- */

/* After the commands of this round, send one WAIT for all of them. */
static void ask_replicas(struct remote *r, struct node *n)
{
    char text[96], replicas[16], most[16];
    int size;

    if (!r->options.replicas || !n->unwaited || !node_is_ready(n))
        return;
    snprintf(replicas, sizeof replicas, "%u", r->options.replicas);
    snprintf(most, sizeof most, "%d", 1 + (int)(r->options.timeout * 1000 / 8));
    size = snprintf(text, sizeof text, "*3\r\n$4\r\nWAIT\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
                    strlen(replicas), replicas, strlen(most), most);
    n->unwaited = false;
    n->waits++;
    if (!node_put(n, text, (size_t)size,
                  (struct expected_reply){.kind = TO_WAIT, .wait = n->waits}))
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
