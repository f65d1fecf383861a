/* api.c - open and close: the address, the initial nodes, the thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "client.h"

#define NAME_MOST 400

static bool refuse(char *why, size_t size, const char *spec)
{
    snprintf(why, size, "%s", spec);
    return false;
}

/* ---- the address ---- */

/* Add the node HOST, HOST:PORT or [ADDRESS]:PORT. */
static bool add_host(struct remote *r, const char *from, const char *end)
{
    char *host;
    int port;
    bool added = wire_split(from, end, &host, &port) && node_at(r, host, port) &&
                 (!r->tls || tls_accept_host(r->tls, host));

    free(host);
    return added;
}

static bool add_hosts(struct remote *r, char *why, size_t size)
{
    const char *at = r->url.host;

    if (r->url.socket)
        return node_at(r, at, 0) || refuse(why, size, "out of memory");
    for (;;) {
        const char *end = at + strcspn(at, ",");

        if (!add_host(r, at, end))
            return refuse(why, size, "invalid server address; expected " REMOTE_FORM);
        if (!*end)
            return true;
        at = end + 1;
    }
}

static bool check_name(struct remote *r, char *why, size_t size)
{
    const char *name = r->url.path;

    for (int i = 0; i < r->url.parameters; i++)
        if (!tls_is_parameter(r->url.parameter[i].name) ||
            url_value(&r->url, r->url.parameter[i].name) != r->url.parameter[i].value)
            return refuse(why, size, "invalid address; expected " REMOTE_FORM);
    if (!*name || r->url.odd)
        return refuse(why, size, "invalid address; expected " REMOTE_FORM);
    if (strlen(name) > NAME_MOST || strpbrk(name, "{}"))
        return refuse(why, size,
                      "a filter name has at most 400 bytes and no { or }, which mark its shards");
    return true;
}

static bool read_address(struct remote *r, const char *text, char *why, size_t size)
{
    static const char *const shown[] = {NULL};
    struct url_form form = {.example = REMOTE_FORM, .network = true, .shown = shown};
    const char *secret = getenv("REDISCLI_AUTH");

    if (strncasecmp(text, "redis:", 6) != 0 && strncasecmp(text, "rediss:", 7) != 0 &&
        strncasecmp(text, "redis+unix:", 11) != 0)
        return refuse(why, size, "--at takes the address of a server: " REMOTE_FORM);
    if (!url_open(&r->url, text, form, why, size) || !check_name(r, why, size) ||
        !redis_tls(&r->url, &r->tls, why, size) || !add_hosts(r, why, size))
        return false;
    if (r->url.password || (secret && *secret))
        r->password = strdup(r->url.password ? r->url.password : secret);
    return secrets_add(&r->url.secrets, r->password, A_PASSWORD) ||
           refuse(why, size, "out of memory");
}

/* ---- lanes ---- */

/* Lane 0 is for the register, lane 1 + i for shard i. */
static bool open_lanes(struct remote *r)
{
    char key[NAME_MOST + 16];

    r->lane = calloc(REMOTE_SHARDS_MOST + 1, sizeof *r->lane);
    for (uint32_t i = 0; r->lane && i <= REMOTE_SHARDS_MOST; i++) {
        struct lane *l = &r->lane[i];

        if (i == 0)
            snprintf(key, sizeof key, "%s", r->url.path);
        else
            snprintf(key, sizeof key, "%s:{%u}", r->url.path, i - 1);
        l->key = strdup(key);
        l->end = &l->first;
        l->slot = l->key ? slot_of(key, strlen(key)) : 0;
        if (!l->key)
            return false;
    }
    r->lanes = 1;
    return r->lane != NULL;
}

/* A name that is unique among runs of all machines. */
static bool name_producer(struct remote *r)
{
    uint8_t random[12];
    int n = snprintf(r->producer, sizeof r->producer, "weir-");

    if (getentropy(random, sizeof random) != 0)
        return false;
    for (size_t i = 0; i < sizeof random; i++)
        n += snprintf(r->producer + n, sizeof r->producer - (size_t)n, "%02x", random[i]);
    return true;
}

/* ---- open and close ---- */

static bool start(struct remote *r, char *why, size_t size)
{
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (r->wake < 0 || !open_lanes(r) || !name_producer(r) ||
        pthread_create(&r->thread, NULL, remote_loop, r) != 0)
        return refuse(why, size, "not enough memory or file descriptors");
    r->started = true;
    return true;
}

struct remote *remote_open(const char *url, const struct remote_options *options, char *why,
                           size_t size)
{
    struct remote *r = calloc(1, sizeof *r);

    if (!r) {
        refuse(why, size, "out of memory");
        return NULL;
    }
    r->wake = -1;
    r->options = *options;
    if (read_address(r, url, why, size) && start(r, why, size))
        return r;
    remote_close(r);
    return NULL;
}

void remote_stop(struct remote *r)
{
    if (!r->started)
        return;
    pthread_mutex_lock(&r->lock);
    r->closing = true;
    pthread_mutex_unlock(&r->lock);
    (void)eventfd_write(r->wake, 1);
    pthread_join(r->thread, NULL);
    r->started = false;
}

void remote_close(struct remote *r)
{
    if (!r)
        return;
    remote_stop(r);
    for (uint32_t i = 0; i < r->nodes; i++)
        node_free(r->node[i]);
    for (uint32_t i = 0; r->lane && i <= REMOTE_SHARDS_MOST; i++)
        free(r->lane[i].key);
    if (r->wake >= 0)
        close(r->wake);
    if (r->password)
        explicit_bzero(r->password, strlen(r->password));
    free(r->password);
    free(r->node);
    free(r->lane);
    tls_close(r->tls);
    url_close(&r->url);
    free(r);
}

const char *remote_name(const struct remote *r)
{
    return r->url.name;
}

const char *remote_key(const struct remote *r)
{
    return r->url.path;
}

const char *remote_failure(const struct remote *r)
{
    return r->failure;
}

bool remote_is_cluster(const struct remote *r)
{
    return !r->alone;
}

struct remote_figures remote_figures(struct remote *r)
{
    pthread_mutex_lock(&r->lock);
    struct remote_figures figures = r->figures;
    pthread_mutex_unlock(&r->lock);
    return figures;
}
