/* redis_reply.c - for any Redis reply, a lookup gives answers or one message.
 *
 * The bytes are in the socket before the lookup starts, and then the server disconnects, so that
 * nothing waits. A message must not contain the password, which the server may send.
 *
 * Input: a byte that selects the lookup, then the server's bytes. */
#include "fuzz.h"
#include "store/redis.c"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEYS 3
#define PASSWORD "SECRET"

static void take_keys(void *context, const struct weir_bytes *keys, size_t n)
{
    uint64_t *sum = context;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < keys[i].size; j++)
            *sum += ((const unsigned char *)keys[i].data)[j];
}

static void require_spec(const struct store *store)
{
    const char *text = store_failure(store);
    size_t n = strlen(text), step;

    require(n > 0 && !strcasestr(text, PASSWORD));
    for (size_t i = 0; i < n; i += step) {
        step = utf8_length((const unsigned char *)text + i, n - i);
        require((step > 0 || n - i < 4) && (unsigned char)text[i] >= ' ' && text[i] != 0x7f);
        step = step ? step : n - i; /* the text may be cut within a character */
    }
}

static enum outcome ask_keys(struct store *store)
{
    const struct weir_bytes keys[KEYS] = {{"a", 1}, {"", 0}, {"ccc", 3}};
    uint8_t answers[KEYS] = {WEIR_UNANSWERED, WEIR_UNANSWERED, WEIR_UNANSWERED};
    enum outcome outcome = store->backend->answer(store, keys, KEYS, answers);

    for (int i = 0; i < KEYS && outcome == STORE_OK; i++)
        require(answers[i] <= WEIR_MEMBER);
    return outcome;
}

static enum outcome fuzz_ask(struct store *store, unsigned question)
{
    struct redis *r = store->own;
    uint64_t sum = 0;

    r->one_by_one = question & 1;
    r->members = question & 8 ? 100 : 3;
    switch (question >> 1 & 3) {
    case 0:
        return store->backend->size(store, &sum);
    case 1:
        return store->backend->list(store, take_keys, &sum);
    default:
        return ask_keys(store);
    }
}

/* A connection that contains these bytes and then ends. */
static int connect_to(const uint8_t *data, size_t size, int *server)
{
    int pair[2];

    require(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    require(write(pair[1], data, size) == (ssize_t)size);
    require(shutdown(pair[1], SHUT_WR) == 0);
    *server = pair[1];
    return pair[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct redis redis = {.members = 3};
    struct store store = {.backend = &backend_redis, .own = &redis, .options.timeout = 10};
    const char *const shown[] = {NULL};
    struct url_form form = {.example = "", .network = true, .shown = shown};
    char why[256];
    int server;

    if (size == 0 || size > 65536)
        return 0;
    require(url_open(&store.url, "redis://u:" PASSWORD "@h/k", form, why, sizeof why));
    wire_adopt(&redis.connection.wire, connect_to(data + 1, size - 1, &server));
    require(reply_open(&redis.connection.replies));
    store_extend(&store);
    if (fuzz_ask(&store, data[0]) != STORE_OK)
        require_spec(&store);
    disconnect(&store);
    close(server);
    url_close(&store.url);
    return 0;
}
