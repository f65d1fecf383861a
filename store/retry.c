/* retry.c - attempts, deadlines and failure messages, for all types of stores.
 *
 * Each attempt has a deadline. After a transient failure a pause follows, doubled each time, then
 * another attempt on a new connection. A store that failed gets one attempt per call until it
 * answers, so that a stream that continues without it is not delayed by pauses. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend.h"

#define FIRST_PAUSE 0.1 /* seconds */
#define LONGEST_PAUSE 2.0
#define GLANCE 0.1 /* seconds between two checks for interruption */

#define TRIES_ROOM 32 /* bytes for " (tried 1000 times)" */

/* ---- failures. Messages contain text of servers and libraries; secrets are hidden before any text
 * is truncated. ---- */

/* Until the store was reached, its name may be a mistyped address that contains a secret. */
static const char *head(const struct store *store)
{
    return store->url.odd && !store->opened ? "the store" : store->url.name;
}

static void note(struct store *store, const char *format, va_list args)
{
    char *text = NULL, *shown = NULL;

    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    if (text)
        shown = secrets_tidy(&store->url.secrets, text);
    snprintf(store->failure, sizeof store->failure - TRIES_ROOM, "%.300s: %s", head(store),
             shown ? shown : "out of memory");
    free(text);
    free(shown);
}

enum outcome store_fail(struct store *store, enum outcome outcome, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    note(store, format, args);
    va_end(args);
    return outcome;
}

static void count_tries(struct store *store, unsigned tries)
{
    size_t n = strlen(store->failure);

    if (tries > 1)
        snprintf(store->failure + n, sizeof store->failure - n, " (tried %u times)", tries);
}

const char *store_failure(const struct store *store)
{
    return store->failure;
}

/* ---- time ---- */

double store_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool interrupted(const struct store *store)
{
    return store->options.interrupted && store->options.interrupted();
}

void store_extend(struct store *store)
{
    store->deadline = store_now() + store->options.timeout;
}

bool store_late(struct store *store)
{
    if (interrupted(store))
        store_fail(store, STORE_REFUSED, "interrupted");
    else if (store_now() >= store->deadline)
        store_fail(store, STORE_AGAIN, "no answer within %g s", store->options.timeout);
    else
        return false;
    return true;
}

int store_wait(struct store *store, int fd, int events)
{
    while (!store_late(store)) {
        struct pollfd p = {.fd = fd, .events = (short)events};
        double left = store->deadline - store_now();
        int n = poll(&p, 1, 1 + (int)(1000 * (left < GLANCE ? left : GLANCE)));

        if (n > 0)
            return p.revents;
        if (n < 0 && errno != EINTR) {
            store_fail(store, STORE_AGAIN, "%s", strerror(errno));
            return 0;
        }
    }
    return 0;
}

/* False if it was interrupted. */
static bool pause_for(const struct store *store, double seconds)
{
    double until = store_now() + seconds, left;

    while (!interrupted(store) && (left = until - store_now()) > 0)
        (void)poll(NULL, 0, 1 + (int)(1000 * (left < GLANCE ? left : GLANCE)));
    return !interrupted(store);
}

/* ---- attempts ---- */

void store_disconnect(struct store *store)
{
    if (store->backend->disconnect)
        store->backend->disconnect(store);
}

bool store_try(struct store *store, attempt act, void *work)
{
    unsigned attempts = store->gave_up ? 1 : store->options.attempts;
    double pause = FIRST_PAUSE;
    enum outcome outcome = STORE_AGAIN;

    for (unsigned i = 1; outcome == STORE_AGAIN; i++) {
        store_extend(store);
        outcome = store->backend->connect ? store->backend->connect(store) : STORE_OK;
        if (outcome == STORE_OK)
            outcome = act(store, work);
        if (outcome == STORE_OK)
            break;
        store_disconnect(store);
        if (outcome == STORE_REFUSED || i >= attempts || !pause_for(store, pause)) {
            count_tries(store, i);
            break;
        }
        store->stats.retries++;
        pause = pause * 2 < LONGEST_PAUSE ? pause * 2 : LONGEST_PAUSE;
    }
    store->gave_up = outcome != STORE_OK;
    return !store->gave_up;
}
