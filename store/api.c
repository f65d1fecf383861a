/* api.c - see api.h. What all stores share: finding the one that a URL
 * names, and trying until it answers.
 *
 * One attempt has a deadline. One that fails for a reason that may pass is
 * followed by a pause, twice as long each time, and another on a new connection;
 * only keys that are still unanswered are asked for again. A store that has been
 * given up gets one attempt per call, so that a stream that goes on without it
 * is not held up by pauses, until it answers. */
#include "store.h"

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
#define GLANCE 0.1 /* how often a wait looks whether it is to end */

static const struct backend *const stores[] = {&backend_sqlite, &backend_postgres, &backend_redis,
                                               &backend_keys};
#define STORES (sizeof stores / sizeof *stores)

/* ---- time ---- */

double store_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool interrupted(const struct store *o)
{
    return o->options.interrupted && o->options.interrupted();
}

void store_extend(struct store *o)
{
    o->deadline = store_now() + o->options.timeout;
}

bool store_late(struct store *o)
{
    if (interrupted(o))
        store_fail(o, STORE_REFUSED, "interrupted");
    else if (store_now() >= o->deadline)
        store_fail(o, STORE_AGAIN, "no answer within %g s", o->options.timeout);
    else
        return false;
    return true;
}

int store_wait(struct store *o, int fd, int events)
{
    while (!store_late(o)) {
        struct pollfd p = {.fd = fd, .events = (short)events};
        double left = o->deadline - store_now();
        int n = poll(&p, 1, 1 + (int)(1000 * (left < GLANCE ? left : GLANCE)));

        if (n > 0)
            return p.revents;
        if (n < 0 && errno != EINTR) {
            store_fail(o, STORE_AGAIN, "%s", strerror(errno));
            return 0;
        }
    }
    return 0;
}

/* False if it was cut short. */
static bool pause_for(const struct store *o, double seconds)
{
    double until = store_now() + seconds, left;

    while (!interrupted(o) && (left = until - store_now()) > 0)
        (void)poll(NULL, 0, 1 + (int)(1000 * (left < GLANCE ? left : GLANCE)));
    return !interrupted(o);
}

/* ---- failure ---- */

enum outcome store_fail(struct store *o, enum outcome outcome, const char *format, ...)
{
    int head = snprintf(o->failure, sizeof o->failure, "%.300s: ", store_name(o));
    char *text = o->failure + head;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof o->failure - (size_t)head, format, args);
    va_end(args);
    url_hide(&o->url, text, sizeof o->failure - (size_t)head);
    for (size_t n = strlen(text); n > 0 && (text[n - 1] == '\n' || text[n - 1] == '.');)
        text[--n] = '\0';
    for (; *text; text++)
        if (*text == '\n' || *text == '\t')
            *text = ' ';
    return outcome;
}

const char *store_failure(const struct store *o)
{
    return o->failure;
}

/* ---- trying ---- */

static void count_tries(struct store *o, unsigned tries)
{
    size_t n = strlen(o->failure);

    if (tries > 1)
        snprintf(o->failure + n, sizeof o->failure - n, " (tried %u times)", tries);
}

typedef enum outcome (*attempt)(struct store *o, void *work);

static bool keep_trying(struct store *o, attempt act, void *work)
{
    unsigned attempts = o->gave_up ? 1 : o->options.attempts;
    double pause = FIRST_PAUSE;
    enum outcome outcome = STORE_AGAIN;

    for (unsigned i = 1; outcome == STORE_AGAIN; i++) {
        store_extend(o);
        outcome = o->backend->connect(o);
        if (outcome == STORE_OK)
            outcome = act(o, work);
        if (outcome == STORE_OK)
            break;
        o->backend->disconnect(o);
        if (outcome == STORE_REFUSED || i >= attempts || !pause_for(o, pause)) {
            count_tries(o, i);
            break;
        }
        o->stats.retries++;
        pause = pause * 2 < LONGEST_PAUSE ? pause * 2 : LONGEST_PAUSE;
    }
    o->gave_up = outcome != STORE_OK;
    return !o->gave_up;
}

/* ---- answering ---- */

struct question {
    const struct weir_bytes *keys;
    size_t n;
    uint8_t *answers;
};

static bool make_room(struct store *o, size_t n)
{
    if (n <= o->room)
        return true;
    free(o->pending);
    free(o->answer);
    free(o->origin);
    o->pending = malloc(n * sizeof *o->pending);
    o->answer = malloc(n);
    o->origin = malloc(n * sizeof *o->origin);
    o->room = o->pending && o->answer && o->origin ? n : 0;
    return o->room > 0;
}

/* Ask for what is still open. */
static enum outcome ask(struct store *o, void *work)
{
    const struct question *q = work;
    enum outcome outcome;
    size_t open = 0;

    for (size_t i = 0; i < q->n; i++)
        if (q->answers[i] == WEIR_UNANSWERED) {
            o->pending[open] = q->keys[i];
            o->origin[open++] = (uint32_t)i;
        }
    memset(o->answer, WEIR_UNANSWERED, open);
    outcome = o->backend->answer(o, o->pending, open, o->answer);
    for (size_t j = 0; j < open; j++)
        q->answers[o->origin[j]] = o->answer[j];
    return outcome;
}

void store_answer(void *store, const struct weir_bytes *keys, size_t n, uint8_t *answers)
{
    struct store *o = store;
    double began = store_now();

    memset(answers, WEIR_UNANSWERED, n);
    o->stats.calls++;
    o->stats.keys += n;
    if (make_room(o, n))
        keep_trying(o, ask, &(struct question){keys, n, answers});
    else
        store_fail(o, STORE_AGAIN, "memory is short");
    o->stats.seconds += store_now() - began;
}

/* ---- size and list ---- */

static enum outcome measure(struct store *o, void *work)
{
    return o->backend->size(o, work);
}

bool store_size(struct store *o, uint64_t *keys)
{
    return !o->unlisted && keep_trying(o, measure, keys);
}

struct listing {
    store_taker take;
    void *context;
};

static enum outcome list(struct store *o, void *work)
{
    const struct listing *l = work;

    return o->backend->list(o, l->take, l->context);
}

bool store_list(struct store *o, store_taker take, void *context)
{
    if (o->unlisted)
        return store_fail(o, STORE_REFUSED, "its address says list=no") == STORE_OK;
    return keep_trying(o, list, &(struct listing){take, context});
}

/* ---- opening ---- */

static bool starts(const char *text, const char *scheme)
{
    size_t n = scheme ? strlen(scheme) : 0;

    return n && strncasecmp(text, scheme, n) == 0 && text[n] == ':';
}

/* A file name as it is -> the URL of it. */
static char *url_of_file(const char *name)
{
    char *url = malloc(3 * strlen(name) + 8), *to = url;

    if (!url)
        return NULL;
    to += sprintf(to, "keys:");
    for (; *name; name++)
        if (*name == '%' || *name == '?')
            to += sprintf(to, "%%%02X", *name);
        else
            *to++ = *name;
    *to = '\0';
    return url;
}

static bool find_store(struct store *o, const char *text, char *why, size_t size)
{
    const char *colon = strstr(text, "://");

    for (size_t i = 0; i < STORES; i++)
        if (starts(text, stores[i]->scheme) || starts(text, stores[i]->also)) {
            o->backend = stores[i];
            return url_open(&o->url, text, why, size);
        }
    if (colon) {
        int n =
            snprintf(why, size, "there is no store '%.*s'; there are", (int)(colon - text), text);

        for (size_t i = 0; i < STORES && n < (int)size; i++)
            n += snprintf(why + n, size - (size_t)n, "%s %s", i ? "," : "", stores[i]->form);
        return false;
    }
    char *url = url_of_file(text);
    bool ok = url && url_open(&o->url, url, why, size);

    o->backend = &backend_keys;
    if (!url)
        snprintf(why, size, "memory is short");
    free(url);
    return ok;
}

static bool is_known(const struct backend *s, const char *name)
{
    if (strcmp(name, "list") == 0)
        return true;
    for (const char *const *p = s->parameters; *p; p++)
        if (strcmp(*p, name) == 0)
            return true;
    return s->knows && s->knows(name);
}

static bool check_parameters(struct store *o)
{
    const char *listed = url_value(&o->url, "list");

    for (int i = 0; i < o->url.parameters; i++)
        if (!is_known(o->backend, o->url.parameter[i].name))
            return store_fail(o, STORE_REFUSED, "it has no parameter '%.60s'; its form is %s",
                              o->url.parameter[i].name, o->backend->form) == STORE_OK;
    o->unlisted = listed && strcmp(listed, "no") == 0;
    return !listed || o->unlisted || strcmp(listed, "yes") == 0 ||
           store_fail(o, STORE_REFUSED, "list takes yes or no") == STORE_OK;
}

static enum outcome look(struct store *o, void *work)
{
    (void)o, (void)work;
    return STORE_OK; /* that it could be reached is enough */
}

struct store *store_open(const char *url, const struct store_options *options, char *why,
                         size_t size)
{
    struct store *o = calloc(1, sizeof *o);

    snprintf(why, size, "memory is short");
    if (!o)
        return NULL;
    o->options = *options;
    if (find_store(o, url, why, size)) {
        if (check_parameters(o) && o->backend->open(o) && keep_trying(o, look, NULL)) {
            o->stats = (struct store_stats){0};
            return o;
        }
        snprintf(why, size, "%s", o->failure);
    }
    store_close(o);
    return NULL;
}

void store_close(struct store *o)
{
    if (!o)
        return;
    if (o->own) {
        o->backend->disconnect(o);
        o->backend->close(o);
    }
    free(o->pending);
    free(o->answer);
    free(o->origin);
    url_close(&o->url);
    free(o);
}

const char *store_name(const struct store *o)
{
    return o->url.name;
}

struct store_stats store_stats(const struct store *o)
{
    return o->stats;
}
