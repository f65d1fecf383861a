/* api.c - see store.h. Retries are in retry.c. */
#include "store.h"

#include <ctype.h>
#include <hiredis/hiredis.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"

static const struct backend *const backends[] = {&backend_sqlite, &backend_postgres, &backend_redis,
                                                 &backend_keys, &backend_exact};
#define BACKENDS (sizeof backends / sizeof *backends)
#define SCHEME_MOST 20 /* bytes of an unknown scheme that are repeated in a message */

/* ---- which store ---- */

static bool starts(const char *text, const char *scheme)
{
    size_t n = scheme ? strlen(scheme) : 0;

    return n && strncasecmp(text, scheme, n) == 0 && text[n] == ':';
}

static const struct backend *find_backend(const char *text)
{
    for (size_t i = 0; i < BACKENDS; i++)
        if (starts(text, backends[i]->scheme) || starts(text, backends[i]->also[0]) ||
            starts(text, backends[i]->also[1]))
            return backends[i];
    return NULL;
}

/* Of an invalid address, only a scheme is repeated in the message: the rest may contain a password.
 */
static void name_stores(const char *text, char *why, size_t size)
{
    size_t scheme = 0;
    int n;

    while (isalnum((unsigned char)text[scheme]) || (text[scheme] && strchr("+-.", text[scheme])))
        scheme++;
    bool clear = scheme <= SCHEME_MOST && strncmp(text + scheme, "://", 3) == 0;
    n = snprintf(why, size, "%.*s: unknown store; use one of", clear ? (int)scheme : 0, text);
    if (!clear)
        n = snprintf(why, size, "unknown store; use one of");
    for (size_t i = 0; i < BACKENDS && n < (int)size; i++)
        n += snprintf(why + n, size - (size_t)n, "%s %s", i ? "," : "", backends[i]->form);
}

/* The address of a file name. */
static char *address_of_file(const char *name)
{
    char *address = malloc(3 * strlen(name) + 8), *to = address;

    if (!address)
        return NULL;
    to += sprintf(to, "keys:");
    for (; *name; name++)
        if (*name == '%' || *name == '?')
            to += sprintf(to, "%%%02X", *name);
        else
            *to++ = *name;
    *to = '\0';
    return address;
}

static bool read_address(struct store *store, const char *text, char *why, size_t size)
{
    const struct backend *b = store->backend;
    struct url_form form = {.example = b->form, .network = b->network, .shown = b->parameters};

    return url_open(&store->url, text, form, why, size);
}

static bool find_store(struct store *store, const char *text, char *why, size_t size)
{
    char *address;
    bool ok;

    store->backend = find_backend(text);
    if (store->backend)
        return read_address(store, text, why, size);
    if (strstr(text, "://")) {
        name_stores(text, why, size);
        return false;
    }
    store->backend = &backend_keys;
    address = address_of_file(text);
    ok = address && read_address(store, address, why, size);
    free(address);
    return ok;
}

static bool is_known(const struct backend *b, const char *name)
{
    if (strcmp(name, "list") == 0)
        return true;
    for (const char *const *p = b->parameters; *p; p++)
        if (strcmp(*p, name) == 0)
            return true;
    return b->knows && b->knows(name);
}

static bool check_parameters(struct store *store)
{
    const char *listed = url_value(&store->url, "list");

    for (int i = 0; i < store->url.parameters; i++) {
        const struct parameter *p = &store->url.parameter[i];

        if (!is_known(store->backend, p->name))
            return store_refuse(store, "parameter %d is unknown; the form is %s", i + 1,
                                store->backend->form);
        if (url_value(&store->url, p->name) != p->value)
            return store_refuse(store, "%s is given twice; give it once", p->name);
    }
    store->unlisted = listed && strcmp(listed, "no") == 0;
    if (listed && !store->unlisted && strcmp(listed, "yes") != 0)
        return store_refuse(store, "invalid list=; use yes or no");
    return true;
}

/* ---- open and close ---- */

static enum outcome look(struct store *store, void *work)
{
    (void)store, (void)work;
    return STORE_OK; /* connecting is enough */
}

static bool reach(struct store *store)
{
    store->opened =
        check_parameters(store) && store->backend->open(store) && store_try(store, look, NULL);
    store->stats = (struct store_stats){0};
    return store->opened;
}

struct store *store_open(const char *url, const struct store_options *options, char *why,
                         size_t size)
{
    struct store *store = calloc(1, sizeof *store);

    snprintf(why, size, "out of memory");
    if (!store)
        return NULL;
    store->options = *options;
    if (find_store(store, url, why, size)) {
        if (reach(store))
            return store;
        snprintf(why, size, "%s", store->failure);
    }
    store_close(store);
    return NULL;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    if (store->own) {
        store_disconnect(store);
        store->backend->close(store);
    }
    url_close(&store->url);
    free(store);
}

const char *store_name(const struct store *store)
{
    return store->url.name;
}

const void *store_note(const struct store *store, size_t *size)
{
    *size = 0;
    return store->backend->note ? store->backend->note(store, size) : NULL;
}

struct store_stats store_stats(const struct store *store)
{
    return store->stats;
}

bool store_parse_keys(const char *address, struct keys_address *parts, char *why, size_t size)
{
    struct store store = {.backend = &backend_keys};
    bool ok = read_address(&store, address, why, size);

    *parts = (struct keys_address){NULL};
    if (ok && !(check_parameters(&store) && backend_keys.open(&store))) {
        snprintf(why, size, "%s", store.failure);
        ok = false;
    }
    if (ok) {
        const char *field = url_value(&store.url, "field");

        parts->path = strdup(store.url.path);
        parts->field = field ? strdup(field) : NULL;
        parts->delimiter = keyfile_delimiter(&store);
        ok = parts->path && (!field || parts->field);
        if (!ok)
            snprintf(why, size, "out of memory");
    }
    if (store.own)
        backend_keys.close(&store);
    url_close(&store.url);
    return ok;
}

/* ---- answer ---- */

struct store_question {
    const struct weir_bytes *keys;
    size_t n;
    uint8_t *answers;
};

/* All keys are answered, or none. */
static enum outcome ask(struct store *store, void *work)
{
    const struct store_question *q = work;
    enum outcome outcome = store->backend->answer(store, q->keys, q->n, q->answers);

    if (outcome != STORE_OK)
        memset(q->answers, WEIR_UNANSWERED, q->n);
    return outcome;
}

void store_answer(void *asked, const struct weir_bytes *keys, size_t n, uint8_t *answers)
{
    struct store *store = asked;
    double began = store_now();

    memset(answers, WEIR_UNANSWERED, n);
    store->stats.calls++;
    store->stats.keys += n;
    store_try(store, ask, &(struct store_question){keys, n, answers});
    store->stats.seconds += store_now() - began;
}

/* ---- size and list ---- */

static enum outcome measure(struct store *store, void *work)
{
    return store->backend->size(store, work);
}

bool store_size(struct store *store, uint64_t *keys)
{
    return !store->unlisted && store_try(store, measure, keys);
}

bool store_is_hashed(const struct store *store)
{
    return store->backend->hashed;
}

struct listing {
    store_taker take;
    void *context;
};

static enum outcome list(struct store *store, void *work)
{
    const struct listing *l = work;

    return store->backend->list(store, l->take, l->context);
}

bool store_list(struct store *store, store_taker take, void *context)
{
    if (store->unlisted)
        return store_refuse(store, store->backend->hashed
                                       ? "cannot list keys: an index contains only their hashes"
                                       : "cannot list keys with list=no; remove it from the URL");
    return store_try(store, list, &(struct listing){take, context});
}

/* The version of hiredis is known only at compile time. */
void store_libraries(char *text, size_t size)
{
    snprintf(text, size, "SQLite %s, %s, hiredis %d.%d.%d", sqlite3_libversion(),
             postgres_library(), HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
}
