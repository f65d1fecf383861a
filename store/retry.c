/* retry.c - trying until a store answers, the same for every kind of store.
 *
 * One attempt has a deadline. One that fails for a reason that may pass is followed
 * by a pause, twice as long each time, and another on a new connection. A store that
 * has been given up gets one attempt per call, so that a stream that goes on without
 * it is not held up by pauses, until it answers. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "backend.h"

#define FIRST_PAUSE 0.1 /* seconds */
#define LONGEST_PAUSE 2.0
#define GLANCE 0.1 /* how often a wait looks whether it is to end */

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

/* False if it was cut short. */
static bool pause_for(const struct store *store, double seconds)
{
    double until = store_now() + seconds, left;

    while (!interrupted(store) && (left = until - store_now()) > 0)
        (void)poll(NULL, 0, 1 + (int)(1000 * (left < GLANCE ? left : GLANCE)));
    return !interrupted(store);
}

/* ---- attempts ---- */

bool store_try(struct store *store, attempt act, void *work)
{
    unsigned attempts = store->gave_up ? 1 : store->options.attempts;
    double pause = FIRST_PAUSE;
    enum outcome outcome = STORE_AGAIN;

    for (unsigned i = 1; outcome == STORE_AGAIN; i++) {
        store_extend(store);
        outcome = store->backend->connect(store);
        if (outcome == STORE_OK)
            outcome = act(store, work);
        if (outcome == STORE_OK)
            break;
        store->backend->disconnect(store);
        if (outcome == STORE_REFUSED || i >= attempts || !pause_for(store, pause)) {
            store_count_tries(store, i);
            break;
        }
        store->stats.retries++;
        pause = pause * 2 < LONGEST_PAUSE ? pause * 2 : LONGEST_PAUSE;
    }
    store->gave_up = outcome != STORE_OK;
    return !store->gave_up;
}
